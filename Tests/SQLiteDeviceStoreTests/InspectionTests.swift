import DeviceStore
import Glibc
import PushModel
import SQLiteDeviceStore
import Testing

/// A look at a data directory that changes nothing.
@Suite(.timeLimit(.minutes(1)))
struct InspectionTests {
    private let scratch = Scratch()

    private func look(_ source: RelaySecretSource = .file) -> DatabaseInspection {
        DatabaseInspection(directory: scratch.path, secret: source)
    }

    private func listing() -> String {
        shell(
            """
            cd '\(scratch.path)' && find . ! -name push.db-shm ! -name listing -printf '%p %s %m\\n' | sort > listing \
            && find . -type f ! -name push.db-shm ! -name listing -exec sha256sum {} + | sort >> listing
            """)
        return String(decoding: scratch.bytes("listing"), as: UTF8.self)
    }

    @Test func `where there is nothing yet nothing is made`() {
        #expect(look().database == .success(.none))
        #expect(look().secret == .success(DatabaseInspection.Secret(state: .toBeMade)))
        #expect(!scratch.exists("push.db") && !scratch.exists("secret.key"))
        let missing = DatabaseInspection(directory: scratch.path + "/no/where", secret: .file)
        #expect(missing.database == .success(.none))
    }

    @Test func `a database that nobody has open is read without a file beside it`() async throws {
        try await scratch.withStore { store, _ in
            try await store.register(registration(.ios))
            try await store.register(registration(.android))
            try await store.register(registration(.android))
        }
        let before = listing()
        #expect(look().database == .success(.ours(DeviceCounts(ios: 1, android: 2), .all)))
        #expect(look().secret == .success(DatabaseInspection.Secret(state: .proven)))
        #expect(listing() == before)
        #expect(!scratch.exists("push.db-wal") && !scratch.exists("push.db-shm"))
    }

    @Test func `a path may hold what an address may not`() async throws {
        let odd = scratch.path + "/a b%20?c#d"
        let database = try SQLiteDatabase.open(directory: odd, secret: .file)
        await database.close()
        let inspection = DatabaseInspection(directory: odd, secret: .file)
        #expect(inspection.database == .success(.ours(DeviceCounts(ios: 0, android: 0), .all)))
        #expect(inspection.secret == .success(DatabaseInspection.Secret(state: .proven)))
    }

    @Test func `another secret than the one of the devices is told`() async throws {
        try await scratch.withStore { store, _ in try await store.register(registration()) }
        #expect(look(.given(.generate())).secret == .failure(.otherSecret))
        shell("mv '\(scratch.path)/secret.key' '\(scratch.path)/kept'")
        #expect(look().secret == .failure(.secret(.lost)))
        #expect(!scratch.exists("secret.key"))
        shell("mv '\(scratch.path)/kept' '\(scratch.path)/secret.key'; chmod 644 '\(scratch.path)/secret.key'")
        let open = DatabaseInspection.Secret(state: .proven, isReadableByOthers: true)
        #expect(look().secret == .success(open))
        #expect(scratch.mode("secret.key") == 0o644)
    }

    @Test func `without devices any secret will do`() async throws {
        try await scratch.withStore { _, _ in }
        let unproven = DatabaseInspection.Secret(state: .unproven)
        #expect(look(.given(.generate())).secret == .success(unproven))
        shell("rm '\(scratch.path)/secret.key'")
        #expect(look().secret == .success(DatabaseInspection.Secret(state: .toBeMade)))
    }

    @Test func `an older relay's database is told from none, and left to the takeover`() {
        scratch.sqlite(
            """
            CREATE TABLE devices (cap_hash TEXT PRIMARY KEY, platform TEXT NOT NULL, token TEXT NOT NULL,
                env TEXT NOT NULL, created_at INTEGER NOT NULL, last_used_at INTEGER NOT NULL);
            CREATE TABLE daily_counts (day TEXT, event TEXT, platform TEXT, kind TEXT, n INTEGER,
                PRIMARY KEY (day, event, platform, kind));
            """)
        let before = listing()
        #expect(look().database == .success(.older(.all)))
        #expect(listing() == before)
    }

    @Test(arguments: [
        ("head -c 20000 /dev/urandom > push.db", StoreOpenError.notADatabase),
        ("dd if=/dev/urandom of=push.db bs=4096 seek=2 count=1 conv=notrunc 2>/dev/null", .damaged),
        ("rm push.db; mkdir push.db", .notAFile("push.db")), ("rm push.db; mkfifo push.db", .notAFile("push.db")),
        ("mkfifo push.db-shm", .notAFile("push.db-shm")), ("mkfifo push.db-wal", .notAFile("push.db-wal")),
        ("mkdir push.db-journal", .notAFile("push.db-journal")),
        ("ln -s nowhere push.db-shm", .notAFile("push.db-shm")),
        ("rm push.db; ln -s push.db push.db", .deadLink(errno: ELOOP)),
        ("rm push.db; ln -s nowhere push.db", .deadLink(errno: ENOENT)),
        (": > push.db; head -c 100 /dev/urandom > push.db-wal", .logWithoutDatabase),
        ("head -c 100 /dev/urandom > push.db-wal", .logDamaged),
        ("rm push.db; sqlite3 push.db 'CREATE TABLE notes (text)'", .otherProgram),
        ("sqlite3 push.db 'PRAGMA user_version=2'", .newer(found: 2, known: 1)),
    ])
    func `what a start would refuse is told and left as it is`(script: String, error: StoreOpenError) async throws {
        try await scratch.withStore { store, _ in
            for _ in 0..<5 { try await store.register(registration()) }
        }
        try #require(shell("cd '\(scratch.path)' && { \(script); }") == 0)
        let before = listing()
        #expect(look().database == .failure(error))
        #expect(listing() == before)
        #expect(throws: error) { try scratch.open() }
        // Damage within is met by whoever reads it; the rest is told before anything is read.
        guard error != .damaged else { return }
        #expect(throws: StoredCountsError.refused(error)) {
            try StoredCounts.read(directory: scratch.path, from: UTCDay(number: 0))
        }
    }

    @Test func `a database that is gone is told from one that never was`() async throws {
        try await scratch.withStore { _, _ in }
        shell("rm '\(scratch.path)/push.db'")
        #expect(look().database == .success(.lost(trace: "secret.key")))
        #expect(look().secret == .success(DatabaseInspection.Secret(state: .unproven)))
        #expect(throws: StoredCountsError.lost) {
            try StoredCounts.read(directory: scratch.path, from: UTCDay(number: 0))
        }
        shell(": > '\(scratch.path)/push.db'")
        #expect(look().database == .success(.lost(trace: "secret.key")))
        // Whoever gives the secret has no file of it.
        #expect(look(.given(.generate())).database == .success(.none))
        shell("rm '\(scratch.path)/push.db' '\(scratch.path)/secret.key'; : > '\(scratch.path)/push.db-wal'")
        #expect(look(.given(.generate())).database == .success(.lost(trace: "push.db-wal")))
        #expect(!scratch.exists("push.db") && !scratch.exists("secret.key"))
    }
}
