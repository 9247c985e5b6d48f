import CSQLite
import DeviceStore

#if canImport(Glibc)
    import Glibc
#endif

/// Owns one connection to a database file. It is opened without SQLite's own mutexes, so one thread or actor uses it.
@safe final class SQLiteConnection {
    private let database: OpaquePointer

    /// What a connection is for.
    enum Purpose {
        /// Reads and writes; the writer's and the one that opens the database.
        case writing
        /// Only reads: a defect of a reader cannot change anything.
        case reading
        /// Only reads, and maps nothing: a page that the disk cannot read is an error and not the end of the process. Where
        /// nobody else has the database open it is read as a file that does not change (`immutable`), without locks and
        /// without a file beside it.
        case looking(isUnchanging: Bool)
    }

    /// The most that SQLite maps of a file (`SQLITE_MAX_MMAP_SIZE`, 2 GiB less 64 KiB). What lies beyond is read.
    private static let mappedBytes = 0x7fff_0000

    /// Turns off SQLite's counting of its own memory, which nobody reads: it takes a mutex of the whole process twice for
    /// every block, on every loop. SQLite wants to be told before its first use, and afterwards does not listen.
    private static let countsNoMemory: Bool = gryt_sqlite_count_no_memory() == SQLITE_OK

    /// Opens a file that exists.
    init(path: String, for purpose: Purpose, busyTimeout: Duration) throws(StoreError) {
        _ = Self.countsNoMemory
        var name = path
        let access: Int32
        switch purpose {
        case .writing: access = SQLITE_OPEN_READWRITE
        case .reading: access = SQLITE_OPEN_READONLY
        case .looking(let isUnchanging):
            access = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
            name = Self.address(of: path) + (isUnchanging ? "?immutable=1" : "")
        }
        var opened: OpaquePointer?
        let code = unsafe sqlite3_open_v2(
            name, &opened, access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_PRIVATECACHE, nil)
        guard let database = unsafe opened, code == SQLITE_OK else {
            let systemError = errno
            unsafe sqlite3_close_v2(opened)
            throw StoreError(sqliteCode: code, systemError: systemError)
        }
        unsafe self.database = database
        setBusyTimeout(busyTimeout)
        // A file that may not be written to is opened for reading instead, and each write would fail.
        if case .writing = purpose, unsafe sqlite3_db_readonly(database, "main") == 1 { throw .readOnly }
        // Nothing that the schema names may run code with side effects (sqlite.org/security.html).
        try execute("PRAGMA trusted_schema=OFF")
        if case .looking = purpose {
            try execute("PRAGMA mmap_size=0")
        } else {
            try execute("PRAGMA mmap_size=\(Self.mappedBytes)")
        }
        // Sorting and statement journals stay off the disk.
        try execute("PRAGMA temp_store=MEMORY")
        switch purpose {
        case .writing:
            try execute("PRAGMA synchronous=FULL")
            try execute("PRAGMA secure_delete=ON")
            // Room for the pages that one transaction changes. Without it they go to the log before the commit, some of
            // them twice.
            try execute("PRAGMA cache_size=-24576")
        case .reading, .looking:
            // For pages that stand in the log still; those in the database are mapped.
            try execute("PRAGMA cache_size=-1024")
        }
    }

    /// A path as a `file:` address, in which `?`, `#` and `%` mean something else, and so do two slashes at the beginning: a
    /// path that has them comes behind an empty authority (sqlite.org/uri.html).
    private static func address(of path: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var address = Array((path.hasPrefix("/") ? "file://" : "file:").utf8)
        for byte in path.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"),
                UInt8(ascii: "_"):
                address.append(byte)
            default: address += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: address, as: UTF8.self)
    }

    deinit {
        // Every statement is finalized before its connection goes, for each holds a reference to it.
        unsafe sqlite3_close_v2(database)
    }

    /// What a result code of the call that has just ended means. Of a commit that fails, sqlite3_system_errno knows
    /// nothing; but the failed call of the system was the last one of this thread to set `errno`.
    func error(_ code: Int32) -> StoreError { StoreError(sqliteCode: code, systemError: errno) }

    /// Leaves the log to whoever opens the database next, should this connection be the last one: a start that is refused
    /// changes nothing, and what a crash left in the log stays there.
    func leaveLogAtEnd() { unsafe _ = gryt_sqlite_leave_log_at_close(database) }

    /// How long a call waits for a lock that another connection holds.
    func setBusyTimeout(_ timeout: Duration) {
        let milliseconds = timeout.components.seconds * 1000 + timeout.components.attoseconds / 1_000_000_000_000_000
        unsafe _ = sqlite3_busy_timeout(database, Int32(clamping: milliseconds))
    }

    /// Runs statements that give no rows, or whose rows nobody wants.
    func execute(_ sql: String) throws(StoreError) {
        let code = unsafe sqlite3_exec(database, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw error(code) }
    }

    /// Compiles one statement, to be run many times.
    func prepare(_ sql: String) throws(StoreError) -> SQLiteStatement {
        var prepared: OpaquePointer?
        let code = unsafe sqlite3_prepare_v3(
            database, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        guard code == SQLITE_OK, let statement = unsafe prepared else { throw error(code) }
        return unsafe SQLiteStatement(owning: statement, of: self)
    }

    /// The integer in the first column of the first row; nil without a row.
    func integer(_ sql: String) throws(StoreError) -> Int64? {
        let statement = try prepare(sql)
        return try statement.step() ? statement.integer(0) : nil
    }

    /// Reads every page, and tells whether they make sense together. Seconds for a million registrations.
    func isWhole() throws(StoreError) -> Bool {
        let check = try prepare("PRAGMA quick_check(1)")
        defer { check.reset() }
        return try check.step() && check.text(0) == "ok"
    }

    /// Whether `BEGIN` is in force. Some failures end a transaction without being asked to (sqlite.org/lang_transaction).
    var isInTransaction: Bool { unsafe sqlite3_get_autocommit(database) == 0 }

    /// Rows that the last statement inserted, changed or deleted, those of triggers left out.
    var changedRows: Int { Int(unsafe sqlite3_changes64(database)) }

    /// Moves all of the write-ahead log into the database and cuts the log to nothing. False when a reader or another
    /// writer was in the way for longer than the busy time-out.
    func truncateLog() throws(StoreError) -> Bool {
        let code = unsafe sqlite3_wal_checkpoint_v2(database, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
        switch code & 0xFF {
        case SQLITE_OK: return true
        case SQLITE_BUSY, SQLITE_LOCKED: return false
        default: throw error(code)
        }
    }

    /// The database's name, with links resolved: that beside which its log stands.
    var resolvedPath: String {
        guard let name = unsafe sqlite3_db_filename(database, "main") else { return "" }
        return unsafe String(cString: name)
    }

    /// Gives back the memory of pages that are not being changed.
    func releaseMemory() { unsafe _ = sqlite3_db_release_memory(database) }

    /// Runs the body in a transaction that takes the write lock first, and undoes all of it when the body throws.
    func transaction<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        try execute("BEGIN IMMEDIATE")
        do throws(StoreError) {
            let result = try body()
            try execute("COMMIT")
            return result
        } catch {
            rollBack()
            throw error
        }
    }

    /// Undoes the transaction, where there still is one.
    func rollBack() {
        guard isInTransaction else { return }
        // It fails only where SQLite has rolled back already.
        unsafe _ = sqlite3_exec(database, "ROLLBACK", nil, nil, nil)
    }
}

extension StoreError {
    /// What a result code of SQLite (sqlite.org/rescode.html) means to whoever runs the relay.
    ///
    /// - Parameter systemError: what the system said of the call that failed; 0 when nobody knows.
    init(sqliteCode code: Int32, systemError: Int32 = 0) {
        switch code & 0xFF {
        case SQLITE_FULL: self = .full
        // SQLITE_IOERR_SHMOPEN and SQLITE_IOERR_SHMSIZE, which C names by expressions that Swift does not read: the file
        // of the log's index could not be given its length, which takes nothing but room.
        case SQLITE_IOERR where code >> 8 == 18 || code >> 8 == 19: self = .full
        // SQLITE_FULL is for ENOSPC alone. Of reads the system's word may be an older one.
        case SQLITE_IOERR where code >> 8 > 2 && Self.meansFull(systemError): self = .full
        case SQLITE_CANTOPEN where Self.meansFull(systemError): self = .full
        // Too many open files: nothing is wrong with this one.
        case SQLITE_CANTOPEN where systemError == EMFILE || systemError == ENFILE: self = .failed(code: code)
        // SQLITE_READONLY_DBMOVED, another such expression: SQLite itself has found the file gone.
        case SQLITE_READONLY where code >> 8 == 4: self = .replaced
        case SQLITE_READONLY, SQLITE_PERM, SQLITE_CANTOPEN: self = .readOnly
        case SQLITE_BUSY, SQLITE_LOCKED: self = .busy
        case SQLITE_CORRUPT, SQLITE_NOTADB: self = .corrupt
        default: self = .failed(code: code)
        }
    }

    /// No room on the disk, none in the quota, or a file as large as this process may make one (setrlimit(2)).
    private static func meansFull(_ systemError: Int32) -> Bool {
        systemError == ENOSPC || systemError == EDQUOT || systemError == EFBIG
    }
}
