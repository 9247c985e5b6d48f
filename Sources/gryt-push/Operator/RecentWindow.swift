import PushModel
import Telemetry

/// What was counted over the last minutes, from readings taken now and then: the difference between now and the oldest
/// reading that is kept. A value without a clock; the counting itself knows nothing of it.
struct RecentWindow: Sendable {
    /// How often a reading is taken.
    static let interval: Duration = .seconds(15)
    /// How many intervals the window has.
    static let intervals = 20

    /// A reading of what only grows.
    struct Reading: Sendable {
        var platforms: PerPlatform<PlatformReading>
        var lag: HistogramReading
    }

    private var readings: [Reading] = []

    init() {}

    /// Takes a reading, at each interval.
    mutating func note(_ reading: Reading) {
        readings.append(reading)
        if readings.count > Self.intervals { readings.removeFirst() }
    }

    /// What was counted on a platform since the oldest reading, or since the start.
    func recent(_ platform: Platform, _ now: PlatformReading) -> RecentReading {
        let before = readings.first?.platforms[platform]
        return RecentReading(
            upstream: before.map { now.upstream - $0.upstream } ?? now.upstream,
            pushes: now.pushes.indices.map { index in
                now.pushes[index].count - (before?.pushes[index].count ?? 0)
            })
    }

    /// How late timers fired since the oldest reading, or since the start.
    func recentLag(_ now: HistogramReading) -> HistogramReading {
        readings.first.map { now - $0.lag } ?? now
    }
}

/// What was counted on one platform over the last minutes.
struct RecentReading: Sendable {
    /// How long answers took.
    var upstream: HistogramReading
    /// Pushes, in the order of ``PushOutcome``'s cases.
    var pushes: [Int]

    /// Pushes with this outcome.
    subscript(outcome: PushOutcome) -> Int { pushes[outcome.ordinal] }
}
