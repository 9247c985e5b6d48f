import DeviceStore
import PushModel
import Relay
import RelayAPI
import Synchronization
import Testing

@testable import gryt_push

@Suite(.timeLimit(.minutes(1)))
struct CountedSumsTests {
    private static let day = UTCDay(number: 20_000)

    private let store = CountStore()
    private let tally = DailyTally()
    private let clocks = SetClocks()

    private func sums(pause: @escaping @Sendable () async -> Void = {}) -> CountedSums {
        CountedSums(store: store, tally: tally, clocks: clocks.clocks, pause: pause)
    }

    private func count(_ number: Int, on day: UTCDay = day) {
        for _ in 0..<number { tally.count(.sent(.dm), .ios, on: day) }
    }

    private func sent(_ totals: [AllTimeTotal]) -> Int {
        totals.filter { $0.event == .sent }.reduce(0) { $0 + $1.n }
    }

    private func sent(_ statistics: DailyStatistics) -> Int {
        statistics.daily.filter { $0.count.event == .sent }.reduce(0) { $0 + $1.n }
    }

    @Test func `the sums over all days are those on disk, so that no crash turns back what was told`() async throws {
        let sums = sums()
        count(3)
        #expect(sent(try await sums.allTime()) == 0)
        try await tally.write(to: store)
        #expect(sent(try await sums.allTime()) == 3)
        count(2)
        #expect(sent(try await sums.allTime()) == 3)
    }

    @Test func `in the days what is not written yet counts, and counts once when it is`() async throws {
        let sums = sums()
        count(3)
        #expect(sent(try await sums.daily(from: Self.day)) == 3)
        try await tally.write(to: store)
        #expect(sent(try await sums.daily(from: Self.day)) == 3)
        count(2)
        #expect(
            try await sums.daily(from: Self.day)
                == DailyStatistics(
                    from: Self.day, devices: DeviceCounts(ios: 3, android: 4),
                    daily: [
                        DailyTotal(
                            count: DailyCount(day: Self.day, event: .sent, platform: .ios, kind: .dm), n: 5)
                    ]))
    }

    @Test func `counts of days before the first one asked for are left out, written or not`() async throws {
        count(1, on: UTCDay(number: 19_999))
        try await tally.write(to: store)
        count(2, on: UTCDay(number: 19_999))
        count(4)
        let daily = try await sums().daily(from: Self.day).daily
        #expect(daily.map(\.n) == [4])
    }

    @Test func `a write between the look at the store and the sum makes it look again`() async throws {
        count(3)
        let (tally, store) = (tally, store)
        // After the first look at the store, before the sum: what was gathered goes to the store, and more is counted.
        store.state.withLock {
            $0.afterLook = {
                store.state.withLock { $0.afterLook = nil }
                try? await tally.write(to: store)
                tally.count(.sent(.dm), .ios, on: Self.day)
            }
        }
        #expect(sent(try await sums().daily(from: Self.day)) == 4)
        #expect(store.state.withLock { $0.reads } == 2)
    }

    @Test func `while a write is under way it is waited for`() async throws {
        let gate = Gate()
        let slow = SlowStore(store, gate: gate)
        count(3)
        let tally = tally
        async let write: Void = tally.write(to: slow)
        await gate.reached()
        count(2)
        // The pause is where the write gets on.
        let sums = sums {
            gate.open(); await slow.isWritten(); while !tally.unwritten.isSettled { await Task.yield() }
        }
        #expect(sent(try await sums.daily(from: Self.day)) == 5)
        try await write
    }

    @Test func `a disk that hangs holds nobody up: what it may have or not is left out until it is known`() async throws
    {
        let gate = Gate()
        let slow = SlowStore(store, gate: gate)
        let pauses = Mutex(0)
        let sums = sums { pauses.withLock { $0 += 1 } }
        count(3)
        #expect(sent(try await sums.daily(from: Self.day)) == 3)
        let tally = tally
        async let write: Void = tally.write(to: slow)
        await gate.reached()
        count(1)
        #expect(sent(try await sums.daily(from: Self.day)) == 1)
        #expect(pauses.withLock { $0 } == CountedSums.tries - 1)
        gate.open()
        try await write
        #expect(sent(try await sums.daily(from: Self.day)) == 4)
    }

    @Test func `days gone by are read once, and again after midnight, when the clock is set back, and now and then`()
        async throws
    {
        let sums = sums()
        let today = clocks.clocks.wall().day
        func add(_ number: Int, daysAgo: Int32) async throws {
            let day = UTCDay(number: today.number - daysAgo)
            try await store.add([DailyCount(day: day, event: .sent, platform: .ios, kind: .dm): number])
        }
        try await add(1, daysAgo: 400)
        try await add(10, daysAgo: 1)
        try await add(100, daysAgo: 0)
        // A clock that was ahead.
        try await add(1000, daysAgo: -3)
        #expect(sent(try await sums.allTime()) == 1111)
        #expect(store.state.withLock { $0.daysAsked } == [UTCDay(number: .min)])
        try await add(1, daysAgo: 0)
        try await add(1, daysAgo: 1)
        #expect(sent(try await sums.allTime()) == 1113)
        #expect(store.state.withLock { $0.daysAsked }.last == UTCDay(number: today.number - 1))
        // Somebody has mended the table; it is seen within ten minutes.
        try await add(2, daysAgo: 30)
        #expect(sent(try await sums.allTime()) == 1113)
        clocks.advance(by: CountedSums.longestMemory)
        #expect(sent(try await sums.allTime()) == 1115)
        // After midnight today is yesterday, and the day before is gone by.
        clocks.advance(by: .seconds(86_400))
        #expect(sent(try await sums.allTime()) == 1115)
        #expect(store.state.withLock { $0.daysAsked }.last == UTCDay(number: .min))
        // The clock is set back by three days, and counts go to what was gone by.
        clocks.advance(by: .seconds(-3 * 86_400))
        try await add(5, daysAgo: 2)
        #expect(sent(try await sums.allTime()) == 1120)
    }

    @Test func `a row that other hands have made huge ends nothing`() async throws {
        let sums = sums()
        for (kind, n) in [(Kind.dm, Int.max), (.mention, 1)] {
            try await store.add([DailyCount(day: Self.day, event: .sent, platform: .ios, kind: kind): n])
        }
        for day in [Self.day, UTCDay(number: 19_000)] {
            try await store.add([DailyCount(day: day, event: .gone, platform: .android, kind: nil): .max])
        }
        tally.count(.sent(.dm), .ios, on: Self.day)
        #expect(try await sums.allTime().filter { $0.event == .gone }.map(\.n) == [.max])
        #expect(try await sums.daily(from: Self.day).daily.map(\.n).sorted() == [1, .max, .max])
    }

    @Test func `a store that does not answer is an error, not a zero`() async {
        store.state.withLock { $0.failure = .corrupt }
        let sums = sums()
        await #expect(throws: StoreError.corrupt) { try await sums.allTime() }
        await #expect(throws: StoreError.corrupt) { try await sums.daily(from: Self.day) }
    }
}

/// Somebody waits here until it is opened.
private final class Gate: Sendable {
    private let state = Mutex<(isOpen: Bool, isReached: Bool, waiters: [CheckedContinuation<Void, Never>])>(
        (false, false, []))

    func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
        state.withLock { $0.waiters = [] }
    }

    func pass() async {
        await withCheckedContinuation { waiter in
            let isOpen = state.withLock { state in
                state.isReached = true
                if !state.isOpen { state.waiters.append(waiter) }
                return state.isOpen
            }
            if isOpen { waiter.resume() }
        }
    }

    func reached() async {
        while !state.withLock({ $0.isReached }) { await Task.yield() }
    }
}

/// Writes to another store, once the gate lets it.
private final class SlowStore: DeviceStore {
    private let inner: CountStore
    private let gate: Gate
    private let written = Mutex(false)

    init(_ inner: CountStore, gate: Gate) {
        self.inner = inner
        self.gate = gate
    }

    func isWritten() async { while !written.withLock({ $0 }) { await Task.yield() } }

    func add(_ counts: [DailyCount: Int]) async throws(StoreError) {
        await gate.pass()
        try await inner.add(counts)
        written.withLock { $0 = true }
    }

    func dailyCounts(from day: UTCDay) async throws(StoreError) -> [DailyTotal] { [] }
    func allTimeCounts() async throws(StoreError) -> [AllTimeTotal] { [] }
    func deviceCounts() async throws(StoreError) -> DeviceCounts { DeviceCounts(ios: 0, android: 0) }
    func register(_ registration: Registration) async throws(StoreError) { throw .closed }
    func device(for capability: Capability) async throws(StoreError) -> StoredDevice? { nil }
    func remove(_ hash: CapabilityHash) async throws(StoreError) -> Bool { false }
    func forget(
        _ token: DeviceToken, in environment: APNsEnvironment, registeredBefore instant: WallInstant?
    ) async throws(StoreError) -> Int { 0 }
    func markUsed(_ hash: CapabilityHash, on day: UTCDay) {}
    func dropIdle(before day: UTCDay, limit: Int) async throws(StoreError) -> Int { 0 }
    func flush() async throws(StoreError) {}
    func close() async {}
}
