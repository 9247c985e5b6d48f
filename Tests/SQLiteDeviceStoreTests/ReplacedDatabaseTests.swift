import DeviceStore
import PushModel
import Testing

@testable import SQLiteDeviceStore

/// Files that lose their names while they are open: SQLite goes on writing to them, and no start will find them.
@Suite(.timeLimit(.minutes(1)))
struct ReplacedDatabaseTests {
    /// What somebody does in the data directory, and how it is undone.
    struct Deed: Sendable, CustomTestStringConvertible {
        var done: String
        var undone: String

        var testDescription: String { done }
    }

    private static let deeds = [
        Deed(done: "mv data/push.db kept", undone: "mv -f kept data/push.db"),
        Deed(done: "ln data/push.db kept; cp kept other; mv other data/push.db", undone: "mv -f kept data/push.db"),
        Deed(done: "ln data/push.db kept; : > other; mv other data/push.db", undone: "mv -f kept data/push.db"),
        Deed(done: "mv data/push.db-wal kept", undone: "mv -f kept data/push.db-wal"),
        Deed(done: "mv data/push.db-shm kept", undone: "mv -f kept data/push.db-shm"),
        Deed(done: "mv data kept", undone: "mv kept data"),
        Deed(done: "mv data kept; cp -r kept data", undone: "rm -r data; mv kept data"),
        Deed(done: "mv data kept; : > data", undone: "rm data; mv kept data"),
    ]

    /// A data directory below one in which it can be moved, and a store in it.
    private func withStore(
        in scratch: Scratch, _ body: (SQLiteDeviceStore, SQLiteDatabase) async throws(any Error) -> Void
    ) async throws {
        let database = try SQLiteDatabase.open(directory: scratch.path + "/data", secret: .file)
        let store = try database.makeStore(on: QueueExecutor())
        let result: Result<Void, any Error>
        do { result = .success(try await body(store, database)) } catch { result = .failure(error) }
        await store.close()
        await database.close()
        try result.get()
    }

    private func perform(_ deed: String, in scratch: Scratch) throws {
        try #require(shell("cd '\(scratch.path)' && { \(deed); }") == 0)
    }

    @Test(arguments: deeds)
    func `nothing is acknowledged while a file is not in place, nothing is written, and it mends by itself`(
        deed: Deed
    ) async throws {
        let scratch = Scratch()
        let known = registration()
        let day = DailyCount(day: today, event: .sent, platform: .ios, kind: .dm)
        try await withStore(in: scratch) { store, database in
            try await store.register(known)
            #expect(!database.isReplaced)
            try perform(deed.done, in: scratch)
            #expect(database.isReplaced)
            await #expect(throws: StoreError.replaced) { try await store.register(registration()) }
            await #expect(throws: StoreError.replaced) { try await store.remove(CapabilityHash(of: known.capability)) }
            await #expect(throws: StoreError.replaced) {
                try await store.forget(known.token, in: .production, registeredBefore: nil)
            }
            await #expect(throws: StoreError.replaced) { try await store.add([day: 1]) }
            #expect(database.statistics.lastFailure == .replaced)
            #expect(throws: StoreError.replaced) { try database.makeStore(on: QueueExecutor()) }
            // Pushes go on, and what they leave behind waits.
            #expect(try await store.device(for: known.capability) != nil)
            store.markUsed(CapabilityHash(of: known.capability), on: UTCDay(number: 20_009))
            await #expect(throws: StoreError.replaced) { try await store.flush() }
            let batches = database.statistics.batches
            try perform(deed.undone, in: scratch)
            #expect(!database.isReplaced)
            // Nobody asks.
            while database.statistics.lastFailure != nil { try await Task.sleep(for: .milliseconds(5)) }
            #expect(database.statistics.batches <= batches + 1)
            #expect(try await store.deviceCounts() == DeviceCounts(ios: 1, android: 0))
            #expect(try await store.dailyCounts(from: today).isEmpty)
            try await store.register(registration(.android))
            try await store.flush()
            #expect(try await store.device(for: known.capability)?.lastUsed == UTCDay(number: 20_009))
        }
        try await withStore(in: scratch) { (store, _) async throws in
            #expect(try await store.deviceCounts() == DeviceCounts(ios: 1, android: 1))
        }
        #expect(try integrity(of: scratch.path + "/data/push.db") == "ok")
    }

    @Test func `a link that leads elsewhere has replaced the database`() async throws {
        let scratch = Scratch()
        try perform("mkdir one two; ln -s one data", in: scratch)
        try await withStore(in: scratch) { store, database in
            try await store.register(registration())
            try perform("ln -sfn two data", in: scratch)
            await #expect(throws: StoreError.replaced) { try await store.register(registration()) }
            try perform("ln -sfn one data", in: scratch)
            while database.statistics.lastFailure != nil { try await Task.sleep(for: .milliseconds(5)) }
            try await store.register(registration())
        }
    }

    @Test func `a database that is itself a link has its log where the link leads`() async throws {
        let scratch = Scratch()
        try perform("mkdir data disk; : > disk/real.db; ln -s ../disk/real.db data/push.db", in: scratch)
        try await withStore(in: scratch) { store, _ in
            try await store.register(registration())
            try perform("mv disk/real.db-wal kept", in: scratch)
            await #expect(throws: StoreError.replaced) { try await store.register(registration()) }
        }
    }

    @Test func `what is on its way to the disk while the file is replaced is not acknowledged`() async throws {
        let scratch = Scratch()
        try perform("mkdir data", in: scratch)
        let disk = FaultyDisk(under: scratch.path + "/data")
        try await withStore(in: scratch) { store, database in
            try await store.register(registration())
            disk.hold(.sync, of: "push.db-wal")
            let underWay = Task { try await store.register(registration()) }
            disk.waitUntilHeld()
            try perform("mv data/push.db kept", in: scratch)
            disk.release()
            await #expect(throws: StoreError.replaced) { try await underWay.value }
            #expect(database.statistics.lastFailure == .replaced)
        }
    }

    @Test func `a restored database is not mixed with the log of the one before`() async throws {
        let scratch = Scratch()
        try await withStore(in: scratch) { store, _ in try await store.register(registration()) }
        try perform("cp -p data/push.db backup", in: scratch)
        try await withStore(in: scratch) { store, database in
            for _ in 0..<50 { try await store.register(registration(.android)) }
            #expect(!scratch.bytes("data/push.db-wal").isEmpty)
            try perform("mv backup data/push.db", in: scratch)
            await #expect(throws: StoreError.replaced) { try await store.register(registration()) }
            // At once, and not when the relay ends, which may be by SIGKILL.
            while !scratch.bytes("data/push.db-wal").isEmpty { try await Task.sleep(for: .milliseconds(5)) }
            #expect(database.statistics.scrubFailure == nil)
        }
        try await withStore(in: scratch) { (store, _) async throws in
            #expect(try await store.deviceCounts() == DeviceCounts(ios: 1, android: 0))
        }
        #expect(try integrity(of: scratch.path + "/data/push.db") == "ok")
    }

    @Test func `what stood in a log that was removed is moved into the database`() async throws {
        let scratch = Scratch()
        let one = registration()
        try await withStore(in: scratch) { store, _ in
            try await store.register(one)
            try perform("rm data/push.db-wal", in: scratch)
            await #expect(throws: StoreError.replaced) { try await store.register(registration()) }
            // As it stands there now, whatever becomes of the process.
            try perform("mkdir crash; cp -p data/secret.key crash", in: scratch)
            repeat {
                try perform("cp -p data/push.db crash", in: scratch)
            } while try DeviceReader(path: scratch.path + "/crash/push.db", busyTimeout: .zero).deviceCounts().ios == 0
        }
        try await withStore(in: scratch) { (store, _) async throws in
            #expect(try await store.device(for: one.capability) != nil)
        }
    }
}
