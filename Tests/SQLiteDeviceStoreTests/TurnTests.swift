import DeviceStore
import Dispatch
import PushModel
import SQLiteDeviceStore
import Testing

/// An executor over a queue whose turns end when the test says so.
///
/// `@unchecked Sendable`: `asking` is touched on the queue alone.
private final class TurnExecutor: TurningExecutor, @unchecked Sendable {
    private let queue = DispatchQueue(label: "turns")
    private var asking: [DeviceReader] = []

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func callAtTurnEnd(_ reader: DeviceReader) { asking.append(reader) }

    /// How many ends were asked for since the last one.
    var asked: Int { queue.sync { asking.count } }

    func endTurn() {
        queue.sync {
            for reader in asking { reader.turnEnds() }
            asking = []
        }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor { unsafe UnownedSerialExecutor(ordinary: self) }
}

/// What look-ups see that share the read transaction of a turn.
@Suite(.timeLimit(.minutes(1)))
struct TurnTests {
    private let scratch = Scratch()

    /// Lends a store that lives in turns, its executor, and another store of the same database.
    private func withStores(
        _ body: (SQLiteDeviceStore, TurnExecutor, _ other: SQLiteDeviceStore) async throws -> Void
    ) async throws {
        let database = try scratch.open()
        let executor = TurnExecutor()
        let store = try database.makeStore(on: executor)
        let other = try database.makeStore(on: QueueExecutor())
        let result: Result<Void, any Error>
        do { result = .success(try await body(store, executor, other)) } catch { result = .failure(error) }
        await store.close()
        await other.close()
        await database.close()
        try result.get()
    }

    @Test func `the look-ups of a turn see one state of the database, and those of the next the next`() async throws {
        try await withStores { store, executor, other in
            let one = registration()
            try await store.register(one)
            executor.endTurn()
            #expect(try await store.device(for: one.capability) != nil)
            #expect(try await store.device(for: newCapability()) == nil)
            #expect(executor.asked == 1)
            #expect(try await other.remove(CapabilityHash(of: one.capability)))
            // Who looks up here in the same turn was read from its socket before that was answered.
            #expect(try await store.device(for: one.capability) != nil)
            executor.endTurn()
            #expect(try await store.device(for: one.capability) == nil)
            #expect(executor.asked == 1)
        }
    }

    @Test func `what this store has written is seen in the same turn`() async throws {
        try await withStores { store, executor, _ in
            let (one, two) = (registration(), registration())
            #expect(try await store.device(for: one.capability) == nil)
            try await store.register(one)
            #expect(try await store.device(for: one.capability) != nil)
            #expect(try await store.remove(CapabilityHash(of: one.capability)))
            #expect(try await store.device(for: one.capability) == nil)
            try await store.register(two)
            #expect(try await store.device(for: two.capability) != nil)
            #expect(try await store.forget(two.token, in: .production, registeredBefore: nil) == 1)
            #expect(try await store.device(for: two.capability) == nil)
            executor.endTurn()
            #expect(try await store.device(for: two.capability) == nil)
        }
    }

    @Test func `a turn that ends after its store has closed ends nothing`() async throws {
        try await withStores { store, executor, other in
            #expect(try await store.device(for: newCapability()) == nil)
            await store.close()
            executor.endTurn()
            try await other.register(registration())
            await #expect(throws: StoreError.closed) { try await store.device(for: newCapability()) }
        }
    }
}
