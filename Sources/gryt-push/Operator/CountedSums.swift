import DeviceStore
import EventLoops
import PushModel
import Relay
import RelayAPI

/// Reads the counts of the store: the sums over all days as they are on disk, and the days with what is gathered and not
/// written yet, each count once, also while a write is under way. Belongs to one actor.
final class CountedSums {
    /// While a write is under way nobody knows whether the store has it already; how long to wait for its end, in tries
    /// of ``pause`` each.
    static let tries = 20
    static let pause: Duration = .milliseconds(5)

    /// How long the sums of days gone by are taken from memory. What the relay itself adds to them late is noticed at once;
    /// this is for what somebody else does to the table.
    static let longestMemory: Duration = .seconds(600)

    private let store: any DeviceStore
    private let tally: DailyTally
    private let clocks: Clocks
    private let pause: @Sendable () async -> Void
    private var past: Past?

    private struct AllTimeKey: Hashable {
        var event: CountedEvent
        var platform: Platform
        var kind: Kind?

        init(_ count: DailyCount) {
            event = count.event
            platform = count.platform
            kind = count.kind
        }
    }

    /// The sums of days that nobody counts on any more, for a table of ten years has forty thousand rows.
    private struct Past {
        /// The first day that is not among them.
        var end: UTCDay
        var readAt: MonotonicInstant
        /// What the tally had written by then.
        var generation: Int
        var sums: [AllTimeKey: Int]
    }

    /// - Parameter pause: waits for ``pause``.
    init(
        store: any DeviceStore, tally: DailyTally, clocks: Clocks, pause: @escaping @Sendable () async -> Void
    ) {
        self.store = store
        self.tally = tally
        self.clocks = clocks
        self.pause = pause
    }

    /// The sums over all days, as they are on disk: what was told once no restart turns back, and no crash. What is
    /// gathered in memory follows within a second.
    func allTime() async throws(StoreError) -> [AllTimeTotal] {
        try await storedSums().map {
            AllTimeTotal(event: $0.key.event, platform: $0.key.platform, kind: $0.key.kind, n: $0.value)
        }
    }

    /// What the store has: the days gone by from memory where they are known, yesterday, today and what a clock that was
    /// ahead has left behind from the table.
    private func storedSums() async throws(StoreError) -> [AllTimeKey: Int] {
        let now = clocks.monotonic()
        let end = UTCDay(number: clocks.wall().day.number - 1)
        if let past, past.end == end, now.duration(since: past.readAt) < Self.longestMemory,
            !tally.hasWritten(before: end, since: past.generation)
        {
            return Self.sum(try await store.dailyCounts(from: end), onto: past.sums)
        }
        // Asked before the reading: what is written meanwhile is read again.
        let generation = tally.unwritten.generation
        let all = try await store.dailyCounts(from: UTCDay(number: .min))
        let sums = Self.sum(all.filter { $0.count.day < end }, onto: [:])
        past = Past(end: end, readAt: now, generation: generation, sums: sums)
        return Self.sum(all.filter { $0.count.day >= end }, onto: sums)
    }

    private static func sum(_ totals: [DailyTotal], onto sums: [AllTimeKey: Int]) -> [AllTimeKey: Int] {
        totals.reduce(into: sums) { $0[AllTimeKey($1.count), default: 0].addSaturating($1.n) }
    }

    /// The counts from a day on, in their order, and the registrations held.
    func daily(from day: UTCDay) async throws(StoreError) -> DailyStatistics {
        let ((devices, stored), unwritten) = try await together { () throws(StoreError) in
            (try await store.deviceCounts(), try await store.dailyCounts(from: day))
        }
        var sums: [DailyCount: Int] = [:]
        for total in stored { sums[total.count, default: 0].addSaturating(total.n) }
        for (count, n) in unwritten where count.day >= day { sums[count, default: 0].addSaturating(n) }
        let daily = sums.sorted { $0.key < $1.key }.map { DailyTotal(count: $0.key, n: $0.value) }
        return DailyStatistics(from: day, devices: devices, daily: daily)
    }

    private func together<Value: Sendable>(
        _ read: () async throws(StoreError) -> Value
    ) async throws(StoreError) -> (Value, [DailyCount: Int]) {
        for _ in 1..<Self.tries {
            let unwritten = tally.unwritten
            if unwritten.isSettled {
                let value = try await read()
                if tally.holds(unwritten) { return (value, unwritten.counts) }
            } else {
                await pause()
            }
        }
        // The disk takes its time. What is being written is left out, and comes with the next reading.
        let unwritten = tally.unwritten
        let value = try await read()
        return (value, tally.holds(unwritten) ? unwritten.counts : [:])
    }
}
