import DeviceStore
import PushModel
import Relay
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1)))
struct DailyTallyTests {
    static let day = UTCDay(number: 20_000)

    private let tally = DailyTally()
    private let store = MemoryStore()

    private static func sent(_ day: UTCDay, _ kind: Kind = .dm) -> DailyCount {
        DailyCount(day: day, event: .sent, platform: .ios, kind: kind)
    }

    @Test func `counts that could not be written are written later, with what came since`() async throws {
        tally.count(.sent(.dm), .ios, on: Self.day)
        store.fail(with: .full)
        await #expect(throws: StoreError.full) { try await tally.write(to: store) }
        tally.count(.sent(.dm), .ios, on: Self.day)
        store.fail(with: nil)
        try await tally.write(to: store)
        #expect(store.counts == [Self.sent(Self.day): 2])
        try await tally.write(to: store)
        #expect(store.counts.values.reduce(0, +) == 2)
    }

    @Test func `what is counted belongs to the day it happened on, across midnight and when the clock is set back`()
        async throws
    {
        let lastOfTheDay = WallInstant(milliseconds: 20_001 * 86_400_000 - 1)
        let midnight = WallInstant(milliseconds: 20_001 * 86_400_000)
        tally.count(.sent(.dm), .ios, on: lastOfTheDay.day)
        tally.count(.sent(.dm), .ios, on: midnight.day)
        try await tally.write(to: store)
        // The clock was a minute ahead, and is set back over midnight.
        tally.count(.sent(.dm), .ios, on: midnight.advanced(by: .seconds(-60)).day)
        tally.count(.gone, .android, on: midnight.day)
        try await tally.write(to: store)
        #expect(
            store.counts == [
                Self.sent(Self.day): 2, Self.sent(UTCDay(number: 20_001)): 1,
                DailyCount(day: UTCDay(number: 20_001), event: .gone, platform: .android): 1,
            ])
    }

    @Test(arguments: [nil, StoreError.full])
    func `a write that is asked for during another waits for it, and takes what that one leaves`(
        failure: StoreError?
    ) async throws {
        let gate = GatedStore(failure: failure)
        tally.count(.sent(.dm), .ios, on: Self.day)
        let tally = tally
        let first = Task { () async -> StoreError? in
            do throws(StoreError) { try await tally.write(to: gate) } catch { return error }
            return nil
        }
        await gate.isEntered()
        tally.count(.sent(.mention), .ios, on: Self.day)
        async let second: Void = tally.write(to: store)
        #expect(store.counts.isEmpty)
        gate.open()
        #expect(await first.value == failure)
        try await second
        let mention = Self.sent(Self.day, .mention)
        let expected = failure == nil ? [mention: 1] : [mention: 1, Self.sent(Self.day): 1]
        #expect(store.counts == expected)
    }

    @Test func `whoever reads while counts go to the store is told so`() async throws {
        tally.count(.sent(.dm), .ios, on: Self.day)
        let before = tally.unwritten
        #expect(before.isSettled)
        #expect(before.counts == [Self.sent(Self.day): 1])

        let gate = GatedStore(failure: nil)
        async let write: Void = tally.write(to: gate)
        await gate.isEntered()
        #expect(!tally.holds(before))
        tally.count(.failed, .ios, on: Self.day)
        let during = tally.unwritten
        #expect(!during.isSettled)
        #expect(during.counts == [DailyCount(day: Self.day, event: .failed, platform: .ios): 1])
        gate.open()
        try await write

        #expect(!tally.holds(during))
        let after = tally.unwritten
        #expect(after.isSettled)
        // Counting alone moves nothing.
        tally.count(.gone, .ios, on: Self.day)
        #expect(tally.holds(after))
    }

    @Test func `nothing is lost and nothing counts twice when many count while others write`() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for number in 0..<2500 {
                        tally.count(.sent(.dm), .ios, on: UTCDay(number: Int32(20_000 + number % 3)))
                    }
                }
                group.addTask { for _ in 0..<50 { try await tally.write(to: store) } }
            }
            try await group.waitForAll()
        }
        try await tally.write(to: store)
        #expect(store.counts.values.reduce(0, +) == 10_000)
        #expect(tally.unwritten.counts.isEmpty)
    }
}

/// Takes counts only once it is opened, and then fails if it is to.
private final class GatedStore: DeviceStore {
    private let failure: StoreError?
    private let inner = MemoryStore()
    private let state = Mutex<State>(State())

    private struct State {
        var isOpen = false
        var isEntered = false
        var waiters: [CheckedContinuation<Void, Never>] = []
        var entryWaiters: [CheckedContinuation<Void, Never>] = []
    }

    init(failure: StoreError?) { self.failure = failure }

    func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns once somebody waits to be let in.
    func isEntered() async {
        await withCheckedContinuation { waiter in
            let isEntered = state.withLock { state in
                if !state.isEntered { state.entryWaiters.append(waiter) }
                return state.isEntered
            }
            if isEntered { waiter.resume() }
        }
    }

    func add(_ counts: [DailyCount: Int]) async throws(StoreError) {
        await withCheckedContinuation { waiter in
            let (entryWaiters, isOpen) = state.withLock { state in
                state.isEntered = true
                if !state.isOpen { state.waiters.append(waiter) }
                defer { state.entryWaiters = [] }
                return (state.entryWaiters, state.isOpen)
            }
            for waiter in entryWaiters { waiter.resume() }
            if isOpen { waiter.resume() }
        }
        if let failure { throw failure }
        try await inner.add(counts)
    }

    func register(_ registration: Registration) async throws(StoreError) { try await inner.register(registration) }
    func device(for capability: Capability) async throws(StoreError) -> StoredDevice? {
        try await inner.device(for: capability)
    }
    func remove(_ hash: CapabilityHash) async throws(StoreError) -> Bool { try await inner.remove(hash) }
    func forget(
        _ token: DeviceToken, in environment: APNsEnvironment, registeredBefore instant: WallInstant?
    ) async throws(StoreError) -> Int {
        try await inner.forget(token, in: environment, registeredBefore: instant)
    }
    func markUsed(_ hash: CapabilityHash, on day: UTCDay) { inner.markUsed(hash, on: day) }
    func dailyCounts(from day: UTCDay) async throws(StoreError) -> [DailyTotal] {
        try await inner.dailyCounts(from: day)
    }
    func allTimeCounts() async throws(StoreError) -> [AllTimeTotal] { try await inner.allTimeCounts() }
    func deviceCounts() async throws(StoreError) -> DeviceCounts { try await inner.deviceCounts() }
    func dropIdle(before day: UTCDay, limit: Int) async throws(StoreError) -> Int {
        try await inner.dropIdle(before: day, limit: limit)
    }
    func flush() async throws(StoreError) {}
    func close() async {}
}
