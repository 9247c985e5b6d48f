/// Lets the first event of a kind through at once and then one an interval, with a count of those held back: a fault that
/// strikes ten thousand times leaves two lines, not ten thousand.
///
/// A value without a clock: instants are nanoseconds on a clock that is never set, handed in, and do not go back. Kinds are
/// few and known beforehand; each is remembered for good.
package struct StormGate<Kind: Hashable & Sendable>: Sendable {
    private struct Held {
        var openedAt: Int64
        var count = 0
    }

    private let interval: Int64
    private var held: [Kind: Held] = [:]

    /// Makes a gate that lets one of a kind through each `interval`.
    package init(interval: Duration = .seconds(60)) {
        let parts = interval.components
        self.interval = parts.seconds * 1_000_000_000 + parts.attoseconds / 1_000_000_000
    }

    /// Whether this event may pass: nil when it is held back, otherwise how many of its kind were held back before it.
    package mutating func pass(_ kind: Kind, atNanoseconds now: Int64) -> Int? {
        guard let before = held[kind], now - before.openedAt < interval else {
            let count = held[kind]?.count ?? 0
            held[kind] = Held(openedAt: now)
            return count
        }
        held[kind]?.count += 1
        return nil
    }

    /// The kinds of which some were held back and whose interval is over, each with their number, which counts as told
    /// from here on. Called now and then, so that the end of a storm is told as well; `all` takes the unfinished
    /// intervals too, for a last word at the end.
    package mutating func overdue(atNanoseconds now: Int64, all: Bool = false) -> [(kind: Kind, count: Int)] {
        let due = held.filter { $0.value.count > 0 && (all || now - $0.value.openedAt >= interval) }
        for kind in due.keys { held[kind] = Held(openedAt: now) }
        return due.map { (kind: $0.key, count: $0.value.count) }
    }
}
