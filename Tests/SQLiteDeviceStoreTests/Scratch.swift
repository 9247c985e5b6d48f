import Cryptography
import DeviceStore
import Dispatch
import Glibc
import PushModel
import SQLiteDeviceStore

/// A serial executor over a queue, in the place of an event loop.
final class QueueExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "store")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor { unsafe UnownedSerialExecutor(ordinary: self) }
}

/// A data directory of its own, gone with its owner.
final class Scratch: Sendable {
    let path: String
    var database: String { path + "/push.db" }

    init() {
        var template = Array("/tmp/gryt-store-XXXXXX".utf8CString)
        precondition(unsafe mkdtemp(&template) != nil, "no scratch directory")
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { shell("rm -rf '\(path)'") }

    /// Opens the database; its clock stands at noon of day 20,000.
    func open(
        secret: RelaySecretSource = .file, options: SQLiteOptions = SQLiteOptions(),
        progress: (TakeoverProgress) -> Void = { _ in }
    ) throws -> SQLiteDatabase {
        let clock = Clocks(wall: { noon }, monotonic: Clocks.system.monotonic)
        return try SQLiteDatabase.open(
            directory: path, secret: secret, clock: clock, options: options, progress: progress)
    }

    /// Opens the database and one store of it, lends both, and closes them.
    func withStore(
        options: SQLiteOptions = SQLiteOptions(), _ body: (SQLiteDeviceStore, SQLiteDatabase) async throws -> Void
    ) async throws {
        let database = try open(options: options)
        let store = try database.makeStore(on: QueueExecutor())
        do {
            try await body(store, database)
        } catch {
            await store.close()
            await database.close()
            throw error
        }
        await store.close()
        await database.close()
    }

    /// Runs SQL in the `sqlite3` program and returns what it prints. In a process of its own: opening the file in this
    /// one beside SQLite would drop SQLite's locks.
    @discardableResult
    func sqlite(_ sql: String) -> String {
        write(sql, to: "script.sql")
        precondition(
            shell("sqlite3 -bail '\(database)' < '\(path)/script.sql' > '\(path)/output' 2> '\(path)/errors'") == 0,
            "sqlite3 refused a script")
        return String(decoding: bytes("output"), as: UTF8.self)
    }

    func write(_ text: String, to name: String) {
        let file = unsafe Glibc.open(path + "/" + name, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        defer { close(file) }
        let bytes = Array(text.utf8)
        var done = 0
        while done < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(file, buffer.baseAddress?.advanced(by: done), bytes.count - done)
            }
            precondition(count > 0, "a file cannot be written")
            done += count
        }
    }

    /// All bytes of a file; none when there is no such file. Not for a database that is open in this process.
    func bytes(_ name: String) -> [UInt8] {
        let file = unsafe Glibc.open(path + "/" + name, O_RDONLY)
        guard file >= 0 else { return [] }
        defer { close(file) }
        var status = stat()
        unsafe fstat(file, &status)
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        let count = unsafe read(file, &bytes, bytes.count)
        precondition(count >= 0, "a file cannot be read")
        // It may be emptied between the two.
        return Array(bytes[..<count])
    }

    /// What a thief would carry away while the relay runs.
    func copy() -> Scratch {
        let other = Scratch()
        shell("cp -p '\(path)'/push.db* '\(other.path)/'")
        return other
    }

    func copySecret(to other: Scratch) { shell("cp -p '\(path)/secret.key' '\(other.path)/'") }

    func mode(_ name: String) -> mode_t {
        var status = stat()
        return unsafe stat(path + "/" + name, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    func exists(_ name: String) -> Bool { unsafe access(path + "/" + name, F_OK) == 0 }
}

@discardableResult
func shell(_ command: String) -> Int32 { unsafe system(command) }

let noon = WallInstant(milliseconds: 20_000 * 86_400_000 + 43_200_000)
let today = UTCDay(number: 20_000)

func newCapability() -> Capability { Capability(randomBytes: SecureRandom.bytes32()) }

/// A token that no other test has, in the form its push service would give it.
func newToken(_ platform: Platform) -> DeviceToken {
    let text =
        switch platform {
        case .ios: SHA256Digest(bytes: SecureRandom.bytes32()).hex
        case .android: "c" + Base64URL.encode(SecureRandom.bytes(100)) + ":APA91b"
        }
    guard let token = DeviceToken(text, for: platform) else { preconditionFailure("a token of the wrong form") }
    return token
}

func registration(
    _ platform: Platform = .ios, token: DeviceToken? = nil, capability: Capability = newCapability(),
    at instant: WallInstant = noon
) -> Registration {
    Registration(
        capability: capability, token: token ?? newToken(platform), environment: .production, opensPreviews: false,
        registeredAt: instant)
}
