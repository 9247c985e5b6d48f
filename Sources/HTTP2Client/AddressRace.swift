/// Which address of a name to try next, after RFC 8305 ("Happy Eyeballs"): the families take turns, each attempt gets
/// a head start of a quarter of a second over the next, a failure starts the next at once, the first that stands wins.
///
/// A value without sockets: it says what to do, ``TCPConnector`` does it.
struct AddressRace {
    /// RFC 8305 section 5 recommends 250 ms.
    static let headStart = Duration.milliseconds(250)

    /// In the order in which they are tried.
    let addresses: [SocketAddress]
    private(set) var underWay: Set<Int> = []
    private var next = 0
    private var lastErrno: Int32 = 0
    /// When the next attempt starts although the others have not failed; nil when there is none left.
    private(set) var nextStart: Moment?

    /// What follows from an event.
    enum Step: Equatable {
        /// Try the address with this index.
        case attempt(Int)
        /// Nothing now: wait for the attempts under way, or for ``nextStart``.
        case wait
        /// All have failed.
        case lost(Unreachable)
    }

    /// Orders the addresses: families in turn, the resolver's first family first, and within a family as they come;
    /// those that are of no use lately in the same order behind all others.
    init(_ resolved: [SocketAddress], behindOthers: Set<SocketAddress> = []) {
        addresses =
            Self.inTurn(resolved.filter { !behindOthers.contains($0) })
            + Self.inTurn(resolved.filter { behindOthers.contains($0) })
    }

    private static func inTurn(_ resolved: [SocketAddress]) -> [SocketAddress] {
        let leadsWithIPv6 = resolved.first?.isIPv6 ?? false
        let leading = resolved.filter { $0.isIPv6 == leadsWithIPv6 }
        let trailing = resolved.filter { $0.isIPv6 != leadsWithIPv6 }
        var ordered: [SocketAddress] = []
        for index in 0..<max(leading.count, trailing.count) {
            if index < leading.count { ordered.append(leading[index]) }
            if index < trailing.count { ordered.append(trailing[index]) }
        }
        return ordered
    }

    /// Begins, or goes on once ``nextStart`` has come.
    mutating func goOn(now: Moment) -> Step {
        guard next < addresses.count else {
            nextStart = nil
            return underWay.isEmpty ? .lost(.connectFailed(errno: lastErrno)) : .wait
        }
        let index = next
        next += 1
        underWay.insert(index)
        nextStart = next < addresses.count ? now + Self.headStart : nil
        return .attempt(index)
    }

    /// Notes that an attempt came to nothing.
    mutating func failed(_ index: Int, errno: Int32, now: Moment) -> Step {
        underWay.remove(index)
        lastErrno = errno
        return goOn(now: now)
    }
}
