import CSQLite
import Cryptography
import DeviceStore

/// Owns one compiled statement. It is bound, stepped and reset by whoever uses its connection, and keeps that alive.
///
/// Parameters count from 1, columns from 0, as in SQLite.
@safe final class SQLiteStatement {
    private let statement: OpaquePointer
    private let connection: SQLiteConnection

    @unsafe init(owning statement: OpaquePointer, of connection: SQLiteConnection) {
        unsafe self.statement = statement
        self.connection = connection
    }

    deinit { unsafe sqlite3_finalize(statement) }

    // MARK: Parameters

    func bind(_ index: Int32, _ value: Int64) {
        check(unsafe sqlite3_bind_int64(statement, index, value))
    }

    func bind(_ index: Int32, _ value: Int) { bind(index, Int64(value)) }

    func bind(_ index: Int32, _ text: String) {
        var text = text
        text.withUTF8 { buffer in
            unsafe buffer.withMemoryRebound(to: CChar.self) { buffer in
                check(unsafe gryt_sqlite_bind_text(statement, index, buffer.baseAddress, Int32(buffer.count)))
            }
        }
    }

    func bind(_ index: Int32, _ bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { buffer in
            check(unsafe gryt_sqlite_bind_blob(statement, index, buffer.baseAddress, Int32(buffer.count)))
        }
    }

    func bind(_ index: Int32, _ digest: SHA256Digest) { bind(index, digest.bytes.span) }

    /// Binding fails for a wrong index or when memory runs out; neither can be answered.
    private func check(_ code: Int32) {
        precondition(code == SQLITE_OK, "a parameter could not be bound")
    }

    // MARK: Running

    /// Goes to the next row; false when there is none. A statement that threw or ended is reset already.
    func step() throws(StoreError) -> Bool {
        switch unsafe sqlite3_step(statement) {
        case SQLITE_ROW: return true
        case SQLITE_DONE:
            reset()
            return false
        case let code:
            let error = connection.error(code)
            reset()
            throw error
        }
    }

    /// Runs a statement that gives no rows and tells how many it changed.
    @discardableResult
    func run() throws(StoreError) -> Int {
        while try step() {}
        return connection.changedRows
    }

    /// Ends the statement's part in the read transaction. The parameters stay bound.
    func reset() { unsafe _ = sqlite3_reset(statement) }

    // MARK: Columns of the row it stands on

    func integer(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(statement, column) }

    func isNull(_ column: Int32) -> Bool { unsafe sqlite3_column_type(statement, column) == SQLITE_NULL }

    /// The text, converted by SQLite where it is none; nil for NULL.
    func text(_ column: Int32) -> String? {
        guard let start = unsafe sqlite3_column_text(statement, column) else { return nil }
        let count = Int(unsafe sqlite3_column_bytes(statement, column))
        return unsafe String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    /// Lends the bytes for the time of the call; none for NULL.
    func withBytes<Result, Failure: Error>(
        _ column: Int32, _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let start = unsafe sqlite3_column_blob(statement, column)
        let count = Int(unsafe sqlite3_column_bytes(statement, column))
        guard let start = unsafe start else { return try body(Span()) }
        return try unsafe body(Span(_unsafeStart: start.assumingMemoryBound(to: UInt8.self), count: count))
    }

    /// The 32 bytes of a digest; nil for anything else.
    func digest(_ column: Int32) -> SHA256Digest? {
        withBytes(column) { bytes in SHA256Digest(bytes) }
    }

    /// Whether the bytes are those of the digest.
    func holds(_ digest: SHA256Digest, _ column: Int32) -> Bool {
        withBytes(column) { bytes in digest.matches(bytes) }
    }
}
