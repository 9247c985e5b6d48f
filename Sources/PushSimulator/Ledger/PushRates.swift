/// How many pushes a service takes in a window of time.
package struct PushRate: Sendable, Equatable {
    /// As many as this.
    package var count: Int
    /// In any window of this length, by the simulator's clock.
    package var window: Duration

    package init(_ count: Int, per window: Duration) {
        self.count = count
        self.window = window
    }
}

/// Which rates are exceeded by what. Exact sliding windows; bounded in memory. Pure, the clock handed in.
struct PushRates: Sendable {
    private var limits: [PushRate] = []
    private var instants: [String: [Int64]] = [:]

    /// Keys whose pushes are remembered; all go when there are more.
    private static let mostKeys = 100_000

    /// Makes these the limits and forgets what was counted.
    mutating func set(_ limits: [PushRate]) { self = PushRates(limits: limits) }

    init(limits: [PushRate] = []) { self.limits = limits }

    /// Whether a push of this key is one too many; it is counted where not. `now` in milliseconds.
    mutating func exceeds(_ key: String, now: Int64) -> Bool {
        guard !limits.isEmpty else { return false }
        if instants.count >= Self.mostKeys { instants.removeAll() }
        let longest = limits.map(\.milliseconds).max() ?? 0
        var recent = instants[key, default: []].filter { now - $0 < longest }
        defer { instants[key] = recent }
        for limit in limits where recent.count(where: { now - $0 < limit.milliseconds }) >= limit.count { return true }
        recent.append(now)
        return false
    }
}

extension PushRate {
    fileprivate var milliseconds: Int64 {
        window.components.seconds * 1000 + window.components.attoseconds / 1_000_000_000_000_000
    }
}
