package import PushModel

/// Tokens that a push service has not taken and that are registered all the same: who asks again for one of them is
/// answered from here for a while. Apple counts pushes to such tokens against the connection they come by, which is
/// everybody's, and a stranger may register any number of them. A value without I/O; the clock is handed in.
package struct RefusedTokens: Sendable {
    /// Why a token was not taken and is kept.
    package enum Refusal: Sendable, Equatable {
        /// It is no token of this app and environment, or a setting of ours is wrong.
        case doubted
        /// It belongs to another Firebase project than ours.
        case foreign
    }

    /// So long a token is not asked for again. A sender that was told to come again after 300 s finds it asked for.
    package static let hold: Duration = .seconds(300)
    /// So many are known at most; one more takes the oldest one's place.
    package static let capacity = 4096

    private struct Entry {
        var refusal: Refusal
        var end: MonotonicInstant
    }

    /// By numbers that tell tokens apart and say nothing more.
    private var entries: [Int: Entry] = [:]
    /// The same numbers, in the order in which their time ends, and some that are forgotten already.
    private var line: [(token: Int, end: MonotonicInstant)] = []
    /// Where the line begins: what stands before it is gone.
    private var first = 0

    /// Knows none.
    package init() {}

    /// Whether it knows none.
    package var isEmpty: Bool { entries.isEmpty }

    /// Notes that a token was not taken. One that is known already keeps its time.
    package mutating func note(_ token: Int, _ refusal: Refusal, at now: MonotonicInstant) {
        letGo(at: now)
        guard entries[token] == nil else { return }
        if line.count - first == Self.capacity { dropFirst() }
        let end = now.advanced(by: Self.hold)
        entries[token] = Entry(refusal: refusal, end: end)
        line.append((token, end))
    }

    /// Why a token was not taken lately, and how long it is not asked for; nil for one that may be.
    package mutating func refusal(of token: Int, at now: MonotonicInstant) -> (refusal: Refusal, wait: Duration)? {
        letGo(at: now)
        return entries[token].map { ($0.refusal, $0.end.duration(since: now)) }
    }

    /// Has a token asked for again: its phone has registered anew.
    package mutating func forget(_ token: Int) {
        entries[token] = nil
    }

    private mutating func letGo(at now: MonotonicInstant) {
        while first < line.count, line[first].end <= now { dropFirst() }
    }

    private mutating func dropFirst() {
        let (token, end) = line[first]
        // It may have been forgotten and noted anew.
        if entries[token]?.end == end { entries[token] = nil }
        first += 1
        if first == line.count || first == Self.capacity {
            line.removeFirst(first)
            first = 0
        }
    }
}
