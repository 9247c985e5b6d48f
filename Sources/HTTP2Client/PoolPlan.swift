/// When a pool opens a connection and when it holds back: growth, replacement, back-off, and a bound on how fast.
/// A value without I/O; ``PoolEngine`` does what it says.
struct PoolPlan {
    /// What the pool looks like at the moment.
    struct View {
        /// Connections on their way.
        var connecting = 0
        /// Connections that take requests.
        var usable = 0
        /// Those of them that another one should replace.
        var toReplace = 0
        /// Those of them that have been silent for too long.
        var silent = 0
        /// Whether one of them that is not silent takes a request right now.
        var hasRoom = false
        /// Whether somebody waits who may go by none of the connections there are.
        var needsAnother = false
        /// Whether somebody waits who may go by none but silent ones.
        var hasOnlySilent = false
        /// When that will be so unless something is answered; nil where that cannot be said.
        var hasOnlySilentAt: Moment?
        /// Since when the first in the waiting line waits; nil when nobody does.
        var waitingSince: Moment?
    }

    /// What to do about connections.
    enum Step: Equatable {
        /// Nothing before something else happens.
        case nothing
        /// Open one.
        case open
        /// Ask again then.
        case lookAgain(Moment)
    }

    private let configuration: HTTP2PoolConfiguration
    private var failures = 0
    private var notBefore: Moment?
    private var attemptBegan: Moment?
    private var openings: [Moment] = []
    private var silences = 0
    private var silenceNotBefore: Moment?
    private var wasWanted = false
    private var wasUsed = false
    /// Why the last attempt failed; nil once a connection has given an answer.
    private(set) var lastFault: Unreachable?

    /// An arrival is told at once that there is no connection when the attempt under way follows on a failed one and
    /// has not come to anything for so long.
    private static let patience = Duration.seconds(1)

    /// Nothing tried yet.
    init(_ configuration: HTTP2PoolConfiguration) {
        self.configuration = configuration
    }

    /// Whether a request that has just arrived may wait for a connection: nil for yes, otherwise why not.
    ///
    /// It may when there is a connection, or an attempt to make one that is not a hopeless repetition. While the pool
    /// backs off it may not: its sender learns at once, and the next attempt, which the arrival itself makes sure of,
    /// finds out for everybody.
    mutating func refusal(_ view: View, now: Moment) -> Unreachable? {
        wasUsed = true
        guard view.usable == 0, let lastFault else { return nil }
        // The peer is there, it only wants us to be slower.
        if case .goodbyeWithError = lastFault { return nil }
        if view.connecting > 0 {
            guard let attemptBegan, now >= attemptBegan + Self.patience else { return nil }
            wasWanted = true
            return .backingOff(after: lastFault)
        }
        guard let notBefore, now < notBefore else { return nil }
        wasWanted = true
        return .backingOff(after: lastFault)
    }

    /// Whether a request for which there are none but silent connections waits for one that is yet to be opened, rather
    /// than go by one of these: as long as that has a chance to stand in a moment. Where the pauses forbid another, or the
    /// attempt hangs, it goes: the peer may have been slow, and not dead.
    mutating func holdsOut(isConnecting: Bool, now: Moment) -> Bool {
        if isConnecting { return attemptBegan.map { now < $0 + Self.patience } ?? false }
        return max(silenceNotBefore ?? now, notBefore ?? now, nextOpening(now: now)) <= now
    }

    /// What to do about connections now.
    mutating func step(_ view: View, now: Moment) -> Step {
        let wanted: Moment
        switch view.connecting > 0 ? wish(beside: view, now: now) : wish(view, now: now) {
        case nil: return .nothing
        case .lookAgain(let moment): return .lookAgain(moment)
        case .open(let moment): wanted = moment
        }
        var earliest = max(wanted, notBefore ?? wanted, nextOpening(now: now))
        // Whatever it is that lacks a connection, one that is silent has its part in it: it is left for this one.
        if view.silent > 0 { earliest = max(earliest, silenceNotBefore ?? earliest) }
        guard earliest <= now else { return .lookAgain(earliest) }
        if view.silent > 0 { noteSilence(now: now) }
        openings.append(now)
        attemptBegan = now
        wasWanted = false
        return .open
    }

    /// What the pool lacks.
    private enum Wish {
        /// Another connection, at that moment or as soon after it as may be.
        case open(Moment)
        /// Nothing before that moment.
        case lookAgain(Moment)
    }

    /// What it lacks while none is on its way.
    private func wish(_ view: View, now: Moment) -> Wish? {
        if view.usable == 0, view.waitingSince != nil || wasWanted { return .open(now) }
        if view.toReplace > 0 || view.hasOnlySilent { return .open(now) }
        if view.needsAnother, view.usable - view.silent < configuration.maximumConnections { return .open(now) }
        if wasUsed, view.usable < configuration.minimumConnections { return .open(now) }
        guard let waitingSince = view.waitingSince, !view.hasRoom, view.usable > 0 else { return nil }
        if view.usable - view.silent < configuration.maximumConnections {
            return .open(waitingSince + configuration.growAfter)
        }
        return view.hasOnlySilentAt.map { .lookAgain($0) }
    }

    /// What it lacks beside one that is on its way: nothing, unless that hangs.
    private func wish(beside view: View, now: Moment) -> Wish? {
        guard view.waitingSince != nil || wasWanted, let attemptBegan else { return nil }
        if view.hasOnlySilent {
            // Then whoever holds out for it goes by a silent one.
            return now < attemptBegan + Self.patience ? .lookAgain(attemptBegan + Self.patience) : nil
        }
        guard view.usable == 0, view.connecting < configuration.attemptsAtOnce else { return nil }
        return .open(attemptBegan + configuration.besideAfter)
    }

    /// Whether a connection that is silent, and by which requests have been lost, may go although there is no other: the
    /// next request opens one then. It counts as one that was opened for silence's sake.
    mutating func maySpareSilent(now: Moment) -> Bool {
        guard (silenceNotBefore ?? now) <= now else { return false }
        noteSilence(now: now)
        return true
    }

    private mutating func noteSilence(now: Moment) {
        let cap = configuration.silenceBackoffCap
        let isAnew = silenceNotBefore.map { now >= $0 + cap * 2 } ?? true
        silences = isAnew ? 1 : silences + 1
        silenceNotBefore = now + min(configuration.silenceBackoffFirst * (1 << min(silences - 1, 20)), cap)
    }

    /// Notes a connection that came to nothing, or ended before it had given one answer. `isWanted` says whether a
    /// request waited for it; then there will be one more attempt even if nothing else arrives. `lot` is from 0 to 1:
    /// without it, everybody whom an outage threw out would come back in the same second.
    mutating func failed(_ fault: Unreachable, isWanted: Bool, now: Moment, lot: Double) {
        failures += 1
        if isWanted { wasWanted = true }
        lastFault = fault
        // One connection that is lost before its first answer may have met a passing event, and the pace of openings is
        // brake enough. A second in a row, and the peer is not well.
        if failures == 1, fault == .noAnswer {
            notBefore = nil
            return
        }
        let cap = fault.needsOperator ? configuration.operatorBackoffCap : configuration.backoffCap
        let first = Double(configuration.backoffFirst.wholeNanoseconds)
        let doubled = first * Double(UInt64(1) << UInt64(min(failures - 1, 30)))
        let pause = min(doubled, Double(cap.wholeNanoseconds)) * (0.8 + 0.4 * lot)
        notBefore = now + Int64(pause)
    }

    /// Notes an answer: the peer is well. Where it wants us to be slower, that lasts its time all the same.
    mutating func answered(now: Moment) {
        guard let lastFault else { return }
        if case .goodbyeWithError = lastFault, let notBefore, now < notBefore { return }
        failures = 0
        self.lastFault = nil
        notBefore = nil
    }

    /// Takes what has failed so far for settled: the next connection is opened as if nothing had been. The pace of
    /// openings stays.
    mutating func startAnew() {
        failures = 0
        lastFault = nil
        notBefore = nil
    }

    /// When the bound on the pace of openings allows the next one.
    private mutating func nextOpening(now: Moment) -> Moment {
        // The openings of as many intervals as may come in one burst; the oldest of a full list has to grow old first.
        let memory = configuration.openingInterval.wholeNanoseconds * Int64(configuration.openingBurst)
        openings.removeAll { $0 + memory <= now }
        return openings.count < configuration.openingBurst ? now : openings[0] + memory
    }
}
