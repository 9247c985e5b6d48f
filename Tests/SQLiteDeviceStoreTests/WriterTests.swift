import Cryptography
import DeviceStore
import PushModel
import Testing

@testable import SQLiteDeviceStore

@Suite(.timeLimit(.minutes(1)))
struct WriterTests {
    private let scratch = Scratch()

    /// Lets the tests put things in the writer's way.
    private func otherConnection() throws -> SQLiteConnection {
        try SQLiteConnection(path: scratch.database, for: .writing, busyTimeout: .seconds(5))
    }

    /// Goes on once the writer has the given number of writes waiting.
    private func waiting(_ database: SQLiteDatabase, _ count: Int) async {
        while database.statistics.waiting != count { await Task.yield() }
    }

    private func sealed(_ reader: DeviceReader, _ hash: CapabilityHash) throws -> [UInt8]? {
        try reader.find(hash) { _, _, sealed in sealed.indices.map { sealed[$0] } }
    }

    @Test func `what gathers behind a slow commit goes to the disk in one`() async throws {
        var options = SQLiteOptions()
        options.busyTimeout = .seconds(30)
        try await scratch.withStore(options: options) { store, database in
            let blocker = try otherConnection()
            try blocker.execute("BEGIN IMMEDIATE")
            let first = Task { try await store.register(registration()) }
            // Offered and taken: the writer now waits for the lock.
            while database.statistics.waiting != 0 || database.statistics.taken != 1 { await Task.yield() }
            let others = (0..<100).map { _ in Task { try await store.register(registration()) } }
            await waiting(database, 100)
            try blocker.execute("COMMIT")
            try await first.value
            for other in others { try await other.value }
            #expect(database.statistics.batches == 2)
            #expect(database.statistics.writes == 101)
            #expect(try await store.deviceCounts() == DeviceCounts(ios: 101, android: 0))
        }
    }

    @Test func `no more writes wait than may`() async throws {
        var options = SQLiteOptions()
        options.busyTimeout = .seconds(30)
        options.waitingLimit = 10
        try await scratch.withStore(options: options) { store, database in
            let blocker = try otherConnection()
            try blocker.execute("BEGIN IMMEDIATE")
            let first = Task { try await store.register(registration()) }
            while database.statistics.taken != 1 { await Task.yield() }
            let others = (0..<10).map { _ in Task { try await store.register(registration()) } }
            await waiting(database, 10)
            await #expect(throws: StoreError.overloaded) { try await store.register(registration()) }
            try blocker.execute("COMMIT")
            try await first.value
            for other in others { try await other.value }
            try await store.register(registration())
        }
    }

    @Test func `what is not there is not removed, and takes no place among the writes that wait`() async throws {
        var options = SQLiteOptions()
        options.busyTimeout = .seconds(30)
        options.waitingLimit = 1
        try await scratch.withStore(options: options) { store, database in
            let known = registration()
            try await store.register(known)
            let blocker = try otherConnection()
            try blocker.execute("BEGIN IMMEDIATE")
            let taken = database.statistics.taken
            let first = Task { try await store.register(registration()) }
            while database.statistics.taken == taken { await Task.yield() }
            let second = Task { try await store.remove(CapabilityHash(of: known.capability)) }
            await waiting(database, 1)
            // The line is full, and nobody is in the way of those who are not to stand in it.
            for _ in 0..<100 {
                #expect(try await !store.remove(CapabilityHash(of: registration().capability)))
            }
            await #expect(throws: StoreError.overloaded) {
                try await store.remove(CapabilityHash(of: known.capability))
            }
            try blocker.execute("COMMIT")
            try await first.value
            #expect(try await second.value)
            #expect(try await !store.remove(CapabilityHash(of: known.capability)))
        }
    }

    @Test func `a lock that another process keeps is said to be one, and passes`() async throws {
        var options = SQLiteOptions()
        options.busyTimeout = .milliseconds(1)
        try await scratch.withStore(options: options) { store, database in
            let found = registration()
            try await store.register(found)
            let blocker = try otherConnection()
            try blocker.execute("BEGIN IMMEDIATE")
            await #expect(throws: StoreError.busy) { try await store.register(registration()) }
            #expect(database.statistics.lastFailure == .busy)
            #expect(database.statistics.failedBatches == 1)
            // Look-ups wait for no writer.
            #expect(try await store.device(for: found.capability) != nil)
            // What nobody waits for is not lost with the batch that failed.
            store.markUsed(CapabilityHash(of: found.capability), on: UTCDay(number: 20_009))
            await #expect(throws: StoreError.busy) { try await store.flush() }
            try blocker.execute("COMMIT")
            try await store.flush()
            #expect(try await store.device(for: found.capability)?.lastUsed == UTCDay(number: 20_009))
            #expect(database.statistics.lastFailure == nil)
        }
    }

    @Test func `a failing write fails alone, and leaves nothing behind`() async throws {
        var options = SQLiteOptions()
        options.busyTimeout = .seconds(30)
        try await scratch.withStore(options: options) { store, database in
            let blocker = try otherConnection()
            try blocker.execute(
                """
                CREATE TRIGGER refuse_device AFTER INSERT ON device WHEN NEW.registered_at = 666
                    BEGIN SELECT RAISE(ABORT, 'no'); END;
                CREATE TRIGGER refuse_count BEFORE INSERT ON daily_count WHEN NEW.n = 666
                    BEGIN SELECT RAISE(ABORT, 'no'); END;
                BEGIN IMMEDIATE;
                """)
            let first = Task { try await store.register(registration()) }
            while database.statistics.taken != 1 { await Task.yield() }
            let capability = newCapability()
            let bad = registration(capability: capability, at: WallInstant(milliseconds: 666))
            let good = (0..<3).map { _ in registration() }
            let tasks = [good[0], bad, good[1], good[2]].map { one in Task { try await store.register(one) } }
            let gone = DailyCount(day: today, event: .gone, platform: .ios)
            let failed = DailyCount(day: today, event: .failed, platform: .ios)
            let counts = Task { try await store.add([gone: 1, failed: 666]) }
            await waiting(database, 5)
            try blocker.execute("COMMIT")
            try await first.value
            var failures = 0
            for task in tasks {
                do { try await task.value } catch { failures += 1 }
            }
            #expect(failures == 1)
            await #expect(throws: (any Error).self) { try await counts.value }
            #expect(database.statistics.batches == 2)
            #expect(database.statistics.failedWrites == 2)
            for one in good { #expect(try await store.device(for: one.capability) != nil) }
            #expect(try await store.device(for: capability) == nil)
            #expect(try await store.dailyCounts(from: today).isEmpty)
            #expect(try await store.deviceCounts() == DeviceCounts(ios: 4, android: 0))
        }
    }

    @Test func `a transaction that the engine gives up fails all that were in it`() async throws {
        var options = SQLiteOptions()
        options.busyTimeout = .seconds(30)
        try await scratch.withStore(options: options) { store, database in
            let blocker = try otherConnection()
            try blocker.execute(
                """
                CREATE TRIGGER give_up AFTER INSERT ON device WHEN NEW.registered_at = 666
                    BEGIN SELECT RAISE(ROLLBACK, 'no'); END;
                BEGIN IMMEDIATE;
                """)
            let first = Task { try await store.register(registration()) }
            while database.statistics.taken != 1 { await Task.yield() }
            let instants = [noon, noon, WallInstant(milliseconds: 666), noon]
            let tasks = instants.map { instant in Task { try await store.register(registration(at: instant)) } }
            await waiting(database, 4)
            try blocker.execute("COMMIT")
            try await first.value
            for task in tasks { await #expect(throws: (any Error).self) { try await task.value } }
            #expect(database.statistics.failedBatches == 1)
            #expect(try await store.deviceCounts() == DeviceCounts(ios: 1, android: 0))
            try await store.register(registration())
            #expect(try await store.deviceCounts() == DeviceCounts(ios: 2, android: 0))
        }
    }

    @Test func `marks are written without anybody asking`() async throws {
        var options = SQLiteOptions()
        options.flushInterval = .milliseconds(1)
        try await scratch.withStore(options: options) { store, _ in
            let registration = registration()
            try await store.register(registration)
            store.markUsed(CapabilityHash(of: registration.capability), on: UTCDay(number: 20_005))
            while try await store.device(for: registration.capability)?.lastUsed != UTCDay(number: 20_005) {
                await Task.yield()
            }
        }
    }

    @Test func `two hashes that begin alike find, keep and lose each its own row`() async throws {
        try await scratch.withStore { _, _ in }
        let connection = try otherConnection()
        let statements = try DeviceStatements(connection)
        let reader = try DeviceReader(path: scratch.database, busyTimeout: .seconds(1))
        let secret = RelaySecret.generate()
        let begin = CapabilityHash(of: newCapability()).digest
        let rows = (0..<4).map { number -> DeviceRow in
            var bytes = begin.bytes
            bytes[31] = UInt8(number)
            let hash = CapabilityHash(digest: .init(bytes: bytes))
            let row = SealedRow(
                hash: hash, platform: .ios, environment: .production, opensPreviews: false, registeredAt: noon)
            let fingerprint = secret.fingerprint(of: newToken(.ios))
            return DeviceRow(row: row, fingerprint: fingerprint, sealed: [1, UInt8(number)], lastUsed: today)
        }
        for row in rows { try statements.insert(row) }
        for row in rows { #expect(try sealed(reader, row.row.hash) == row.sealed) }
        // A fifth has no place; taking one away makes room, in the middle.
        var bytes = begin.bytes
        bytes[31] = 9
        var fifth = rows[0]
        fifth.row.hash = CapabilityHash(digest: .init(bytes: bytes))
        fifth.sealed = [1, 9]
        #expect(throws: StoreError.corrupt) { try statements.insert(fifth) }
        #expect(try statements.remove(rows[1].row.hash) == 1)
        try statements.insert(fifth)
        #expect(try sealed(reader, rows[1].row.hash) == nil)
        #expect(try sealed(reader, fifth.row.hash) == [1, 9])
        try statements.markUsed(rows[2].row.hash, on: UTCDay(number: 20_001))
        #expect(try reader.find(rows[2].row.hash) { _, lastUsed, _ in lastUsed } == UTCDay(number: 20_001))
        #expect(try reader.find(rows[3].row.hash) { _, lastUsed, _ in lastUsed } == today)
    }

    @Test func `the last places of the table are places too`() {
        let ones = CapabilityHash(digest: .init(bytes: InlineArray(repeating: 0xFF)))
        #expect(RowPlace(of: ones).last == .max)
        let zeros = CapabilityHash(digest: .init(bytes: InlineArray(repeating: 0)))
        #expect(RowPlace(of: zeros).first == 0)
    }

    @Test func `a full disk fails what needs room and nothing else`() async throws {
        try await scratch.withStore { _, _ in }
        let connection = try otherConnection()
        let pages = try #require(try connection.integer("PRAGMA page_count"))
        _ = try connection.integer("PRAGMA max_page_count=\(pages + 2)")
        let transaction = try WriterTransaction(connection, path: scratch.database)
        let secret = RelaySecret.generate()
        var errors: [StoreError] = []
        var stored: [CapabilityHash] = []
        for _ in 0..<200 {
            let registration = registration(.android)
            let row = SealedRow(of: registration)
            let device = DeviceRow(
                row: row, fingerprint: secret.fingerprint(of: registration.token),
                sealed: TokenSealing.seal(registration.token, into: row, with: registration.capability),
                lastUsed: today)
            let outcome = transaction.run([.register(device)], marks: [:], seals: [:])
            switch outcome.results[0] {
            case .success: stored.append(row.hash)
            case .failure(let error): errors.append(error)
            }
        }
        #expect(!stored.isEmpty && !errors.isEmpty)
        #expect(errors.allSatisfy { $0 == .full })
        let reader = try DeviceReader(path: scratch.database, busyTimeout: .seconds(1))
        #expect(try reader.deviceCounts() == DeviceCounts(ios: 0, android: stored.count))
        for hash in stored { #expect(try sealed(reader, hash) != nil) }
        let day = DailyCount(day: today, event: .sent, platform: .ios, kind: .dm)
        let outcome = transaction.run(
            [.remove(stored[0]), .add([DailyTotal(count: day, n: 1)])], marks: [stored[1]: today], seals: [:])
        #expect(outcome.failure == nil && outcome.leftOldContent)
    }

    private static let codes: [(code: Int32, error: StoreError)] = [
        (13, .full), (8, .readOnly), (264, .readOnly), (1032, .replaced), (14, .readOnly), (5, .busy), (261, .busy),
        (6, .busy),
        (11, .corrupt), (26, .corrupt), (267, .corrupt), (10, .failed(code: 10)), (778, .failed(code: 778)),
        (4618, .full), (4874, .full), (5386, .failed(code: 5386)), (1034, .failed(code: 1034)),
        (19, .failed(code: 19)),
    ]

    @Test(arguments: codes)
    func `SQLite's codes become errors that say what to do`(code: Int32, error: StoreError) {
        #expect(StoreError(sqliteCode: code) == error)
    }

    @Test(arguments: [10, 778, 1034, 1290, 1546, 5386] as [Int32])
    func `a failure of the disk is told as one`(code: Int32) {
        let line = StoreError(sqliteCode: code).description
        #expect(line.contains("disk cannot be read or written") && line.contains("full") && line.contains("\(code)"))
    }
}
