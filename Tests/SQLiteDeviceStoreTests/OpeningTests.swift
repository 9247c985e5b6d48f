import DeviceStore
import Glibc
import PushModel
import SQLiteDeviceStore
import Testing

@Suite(.timeLimit(.minutes(1)))
struct OpeningTests {
    private let scratch = Scratch()

    @Test func `directory, database and secret are for their owner alone`() async throws {
        let nested = scratch.path + "/a/b"
        let database = try SQLiteDatabase.open(directory: nested, secret: .file)
        #expect(database.report.madeSecret)
        let store = try database.makeStore(on: QueueExecutor())
        try await store.register(registration())
        #expect(scratch.mode("a/b") == 0o700)
        for name in ["push.db", "push.db-wal", "push.db-shm", "secret.key"] {
            #expect(scratch.mode("a/b/" + name) == 0o600, "\(name)")
        }
        await store.close()
        await database.close()
    }

    @Test func `a database that others could read is closed to them`() async throws {
        try await scratch.withStore { _, _ in }
        shell("chmod 644 '\(scratch.database)'")
        try await scratch.withStore { _, _ in
            #expect(scratch.mode("push.db") == 0o600)
        }
    }

    @Test(arguments: [
        String(repeating: "this is no database. ", count: 500), "short", "SQLite format 3\0 but nothing of the kind",
    ])
    func `a file that is no database is refused and left as it is`(text: String) throws {
        scratch.write(text, to: "push.db")
        #expect(throws: StoreOpenError.notADatabase) { try scratch.open() }
        #expect(scratch.bytes("push.db") == Array(text.utf8))
        #expect(!scratch.exists("secret.key") && !scratch.exists("push.db-wal"))
    }

    @Test func `a database of another program is refused and left as it is`() throws {
        scratch.sqlite("CREATE TABLE notes (text); INSERT INTO notes VALUES ('dear diary');")
        let before = scratch.bytes("push.db")
        #expect(throws: StoreOpenError.otherProgram) { try scratch.open() }
        scratch.sqlite("DROP TABLE notes; PRAGMA application_id=1234;")
        #expect(throws: StoreOpenError.otherProgram) { try scratch.open() }
        #expect(before != scratch.bytes("push.db"))
        #expect(!scratch.exists("secret.key"))
    }

    @Test func `a database of a newer relay is refused and left as it is`() async throws {
        try await scratch.withStore { store, _ in try await store.register(registration()) }
        scratch.sqlite("PRAGMA user_version=2")
        let before = scratch.bytes("push.db")
        #expect(throws: StoreOpenError.newer(found: 2, known: 1)) { try scratch.open() }
        #expect(scratch.bytes("push.db") == before)
    }

    @Test func `a lost secret is not made anew while there are devices`() async throws {
        try await scratch.withStore { store, _ in try await store.register(registration()) }
        shell("rm '\(scratch.path)/secret.key'")
        #expect(throws: StoreOpenError.secret(.lost)) { try scratch.open() }
        #expect(!scratch.exists("secret.key"))
        #expect(throws: StoreOpenError.otherSecret) { try scratch.open(secret: .given(.generate())) }
    }

    @Test func `without devices a new secret takes the place of a lost one`() async throws {
        let one = registration()
        try await scratch.withStore { store, _ in
            try await store.register(one)
            _ = try await store.remove(CapabilityHash(of: one.capability))
        }
        shell("rm '\(scratch.path)/secret.key'")
        try await scratch.withStore { store, database in
            #expect(database.report.madeSecret)
            try await store.register(one)
        }
        try await scratch.withStore { store, _ in
            let forgotten = try await store.forget(one.token, in: .production, registeredBefore: nil)
            #expect(forgotten == 1)
        }
    }

    @Test func `devices of which nothing says any more under which secret they are go with the one that is there`()
        async throws
    {
        let one = registration()
        try await scratch.withStore { store, database in
            try await store.register(one)
            #expect(!database.report.secretIsUnproven)
        }
        scratch.sqlite("DELETE FROM relay")
        #expect(
            DatabaseInspection(directory: scratch.path, secret: .file).secret
                == .success(DatabaseInspection.Secret(state: .unproven)))
        try await scratch.withStore { store, database in
            #expect(database.report.secretIsUnproven)
            let found = try await store.device(for: one.capability)
            #expect(found?.device.token == one.token)
        }
        // From now on it is theirs, and no other is taken.
        try await scratch.withStore { store, database in
            #expect(!database.report.secretIsUnproven)
            let forgotten = try await store.forget(one.token, in: .production, registeredBefore: nil)
            #expect(forgotten == 1)
            try await store.register(one)
        }
        #expect(throws: StoreOpenError.otherSecret) { try scratch.open(secret: .given(.generate())) }
    }

    @Test func `a secret that is given is used, and no file is made`() async throws {
        let secret = RelaySecret.generate()
        let one = registration()
        let database = try scratch.open(secret: .given(secret))
        let store = try database.makeStore(on: QueueExecutor())
        try await store.register(one)
        await store.close()
        await database.close()
        #expect(!scratch.exists("secret.key"))
        #expect(throws: StoreOpenError.secret(.lost)) { try scratch.open() }
        let again = try scratch.open(secret: .given(secret))
        await again.close()
    }

    @Test func `a secret file that others could read is reported`() async throws {
        try await scratch.withStore { _, _ in }
        shell("chmod 640 '\(scratch.path)/secret.key'")
        try await scratch.withStore { _, database in
            #expect(database.report.secretWasReadableByOthers)
        }
        scratch.write("nonsense", to: "secret.key")
        #expect(throws: StoreOpenError.secret(.wrongLength)) { try scratch.open() }
    }

    @Test func `a directory that any user may read or write is reported and left so`() async throws {
        try await scratch.withStore { _, database in #expect(!database.report.directoryIsOpenToOthers) }
        for mode: mode_t in [0o755, 0o777, 0o703, 0o750, 0o711] {
            unsafe chmod(scratch.path, mode)
            try await scratch.withStore { _, database in
                #expect(database.report.directoryIsOpenToOthers == (mode & 0o006 != 0), "\(mode)")
            }
            #expect(scratch.mode(".") == mode)
            #expect(scratch.mode("push.db") == 0o600 && scratch.mode("secret.key") == 0o600)
        }
    }

    @Test func `a database that is gone while its secret is there is reported`() async throws {
        try await scratch.withStore { _, database in #expect(!database.report.databaseWasMissing) }
        try await scratch.withStore { _, database in #expect(!database.report.databaseWasMissing) }
        shell("rm '\(scratch.path)'/push.db*")
        try await scratch.withStore { _, database in
            #expect(database.report.databaseWasMissing && !database.report.madeSecret)
        }
        try await scratch.withStore { _, database in #expect(!database.report.databaseWasMissing) }
    }

    private static let faults: [(error: StoreOpenError, says: String)] = [
        (.directory(errno: ENOENT), "No such file or directory"), (.directory(errno: ENOTDIR), "Not a directory"),
        (.directory(errno: EACCES), "Permission denied"), (.directory(errno: EROFS), "Read-only file system"),
        (.directory(errno: ENOSPC), "make room"), (.directory(errno: ELOOP), "name another directory"),
        (.notADatabase, "not a database"), (.otherProgram, "another program"), (.newer(found: 2, known: 1), "schema 2"),
        (.secret(.lost), "secret.key"), (.otherSecret, "secret"), (.store(.full), "the disk is full: make room"),
        (.store(.readOnly), "cannot be written"), (.store(.failed(code: 4106)), "4106"),
    ]

    @Test(arguments: faults)
    func `what keeps the database closed is told in words, and its setting is named by whoever prints it`(
        error: StoreOpenError, says: String
    ) {
        #expect(error.description.contains(says))
        #expect(!error.description.contains("DATA_DIR") && !error.description.contains("errno"))
        // Nothing goes on: the program is about to end.
        #expect(!error.description.contains("pushes"))
    }

    @Test func `where a directory cannot be made, the reason is told and not that it is missing`() {
        // Nobody makes a directory there: root is told EPERM, others EACCES, and all EROFS in most containers.
        let refusals = [EPERM, EACCES, EROFS].map { StoreOpenError.directory(errno: $0) }
        for path in ["/sys/kernel/nowhere", "/sys/kernel/nowhere/below"] {
            do throws(StoreOpenError) {
                _ = try SQLiteDatabase.open(directory: path, secret: .file)
                Issue.record("it was opened")
            } catch {
                #expect(refusals.contains(error))
            }
        }
    }

    @Test func `a data directory that is a file is refused`() {
        scratch.write("", to: "file")
        #expect(throws: StoreOpenError.directory(errno: ENOTDIR)) {
            try SQLiteDatabase.open(directory: scratch.path + "/file", secret: .file)
        }
        #expect(throws: StoreOpenError.directory(errno: ENOTDIR)) {
            try SQLiteDatabase.open(directory: scratch.path + "/file/below", secret: .file)
        }
    }

    @Test func `a database whose pages are damaged says so when they are read`() async throws {
        try await scratch.withStore { store, _ in
            for _ in 0..<300 { try await store.register(registration()) }
        }
        var bytes = scratch.bytes("push.db")
        for index in 8192..<bytes.count { bytes[index] = 0xA5 }
        scratch.write(String(repeating: "x", count: 0), to: "push.db")
        writeRaw(bytes)
        var errors: [StoreError] = []
        // As one that is too large to be read whole at the start.
        var options = SQLiteOptions()
        options.checkedBytes = 0
        #expect(throws: StoreOpenError.damaged) { try scratch.open() }
        do {
            let database = try scratch.open(options: options)
            let store = try database.makeStore(on: QueueExecutor())
            do throws(StoreError) { _ = try await store.device(for: newCapability()) } catch { errors.append(error) }
            do throws(StoreError) { try await store.register(registration()) } catch { errors.append(error) }
            await store.close()
            await database.close()
        } catch StoreOpenError.store(let error) {
            errors.append(error)
        }
        #expect(!errors.isEmpty && errors.allSatisfy { $0 == .corrupt })
    }

    private func writeRaw(_ bytes: [UInt8]) {
        let file = unsafe Glibc.open(scratch.database, O_WRONLY)
        unsafe _ = Glibc.write(file, bytes, bytes.count)
        close(file)
    }
}
