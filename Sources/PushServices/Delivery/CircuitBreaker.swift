package import PushModel

/// Decides whether a push service is asked at all. A value without I/O; the clock and the lot are handed in.
///
/// *Closed*: everything passes. Leaves for *open* when as many phones as the cause asks for, each another one, were
/// refused in a row, or failed in a row over ``leastOutage`` with no sign of life between them. One phone alone never
/// opens it.
///
/// *Open*: nothing passes. After a pause one push is the *probe*, and the rest go on being refused; a probe that fails
/// makes the next pause longer. Leaves for *closed* on the first push that goes well, whichever it is, and on a probe that
/// the service itself refuses for another cause.
///
/// Whose fault it is that a phone belongs to another Firebase project depends on which phones one looks at, and strangers
/// choose some of them. So once a push was accepted that is the phones' fault alone; and before, a phone that has not been
/// refused itself still passes, until it were too many.
package struct CircuitBreaker: Sendable {
    /// Whether a push may go.
    package enum Admission: Sendable, Equatable {
        /// It may.
        case pass
        /// It may, and what becomes of it decides. The number goes back into ``conclude(_:probe:phone:at:lot:)``.
        case probe(Int)
        /// It may not: the service has been left alone for so long, and why.
        case refuse(BreakerCause, age: Duration)
    }

    /// What has changed.
    package enum Change: Sendable, Equatable {
        /// The service is left alone from now on.
        case opened(BreakerCause)
        /// What it was left alone for is over, after so long.
        case closed(BreakerCause, after: Duration)
    }

    /// Failures closer together than this are one event, such as a lost connection with a hundred pushes on it.
    package static let leastOutage: Duration = .seconds(2)
    /// A push that has waited so long for its answer, while no other push had one, counts as failed for the time being.
    package static let patience: Duration = .seconds(2)
    /// While all phones seem to belong to another project, so many may find out each for itself.
    package static let mostForeign = 256
    /// A probe that has not come back after so long does not keep the next one from going.
    package static let probePatience: Duration = .seconds(3)

    /// A phone whose pushes failed, or wait.
    private struct Sign {
        var phone: Int
        var began: MonotonicInstant
        /// How many wait.
        var waiting = 0
        /// Since when they do, at least.
        var waitsSince: MonotonicInstant
        /// Whether one has failed.
        var hasFailed = false

        /// One of those that wait has ended. Which of them nobody remembers, so the rest counts from now.
        mutating func waitEnds(at now: MonotonicInstant) {
            waiting = max(waiting - 1, 0)
            waitsSince = now
        }

        /// Whether what waits has waited for so long that it counts as failed.
        func waitsInVain(at now: MonotonicInstant) -> Bool {
            waiting > 0 && now.duration(since: waitsSince) >= CircuitBreaker.patience
        }
    }

    private struct Trip {
        var cause: BreakerCause
        var openedAt: MonotonicInstant
        var nextProbe: MonotonicInstant
        var failedProbes = 0
        var probe: Int?
        /// Whether the same refusal was met once more since the last probe went, by a connection as a whole or otherwise.
        var isConfirmed = false
        /// The phones that were refused so far.
        var refused: Set<Int> = []

        /// Whether a phone may find out for itself, probe or not.
        func mayMeet(_ phone: Int) -> Bool {
            cause == .foreignProject && refused.count < CircuitBreaker.mostForeign && !refused.contains(phone)
        }
    }

    private var signs: [Sign] = []
    /// When the last push failed, of these phones or others.
    private var lastFailure: MonotonicInstant?
    private var ailment = BreakerCause.timeout
    private var refused: [Int] = []
    private var refusal = BreakerCause.credentials
    private var trip: Trip?
    private var lastProbe = 0
    /// Whether a push was accepted. Nothing takes that back: other credentials have a breaker of their own.
    private(set) var hasAccepted = false

    /// Closed, with nothing against the service.
    package init() {}

    /// Why the service is left alone, and since when; nil while it is asked.
    package var open: (cause: BreakerCause, since: MonotonicInstant)? { trip.map { ($0.cause, $0.openedAt) } }

    /// Whether everything passes and nothing at all is held against the service.
    package var isCalm: Bool { trip == nil && signs.isEmpty && refused.isEmpty }

    /// A push to this phone wants to go. It is noted as waiting until the service shows a sign of life.
    package mutating func admit(
        phone: Int, at now: MonotonicInstant, lot: Double
    ) -> (admission: Admission, change: Change?) {
        var change: Change?
        if trip == nil {
            change = openIfOutage(at: now, lot: lot)
            guard change != nil else {
                noteWaiting(phone, at: now)
                return (.pass, nil)
            }
        }
        guard var trip else { return (.pass, change) }
        defer { self.trip = trip }
        if trip.mayMeet(phone) { return (.pass, change) }
        guard now >= trip.nextProbe else {
            return (.refuse(trip.cause, age: now.duration(since: trip.openedAt)), change)
        }
        // The probe before this one has not come back.
        if trip.probe != nil { trip.failedProbes += 1 }
        lastProbe += 1
        trip.probe = lastProbe
        trip.isConfirmed = false
        trip.nextProbe = now.advanced(
            by: max(Self.probePatience, Self.spread(trip.cause.pause(afterProbes: trip.failedProbes), lot)))
        return (.probe(lastProbe), change)
    }

    /// A push that was let through has ended.
    ///
    /// - Parameters:
    ///   - probe: its number if it was one.
    ///   - phone: says which phone it was for, and nothing more.
    ///   - lot: from 0 to 1, spreads the next probe.
    package mutating func conclude(
        _ health: Health, probe: Int?, phone: Int, at now: MonotonicInstant, lot: Double
    ) -> Change? {
        let isProbe = probe != nil && probe == trip?.probe
        switch health {
        case .accepting, .well:
            if health == .accepting { hasAccepted = true }
            refused = []
            return liveSign(closing: true, at: now)
        case .answering:
            let change = liveSign(closing: trip?.cause.isOutage == true, at: now)
            if isProbe { leaveAlone(failed: false, trip?.cause, at: now, lot: lot) }
            return change
        // The project is ours, so the phone is not: whoever registers such phones must not close the way to all others.
        case .refusing(.foreignProject) where hasAccepted:
            refused = []
            return liveSign(closing: isProbe || trip?.cause.isOutage == true, at: now)
        case .refusing(let cause):
            clearSigns()
            if cause == trip?.cause, self.trip?.mayMeet(phone) == true { self.trip?.refused.insert(phone) }
            guard let trip else { return noteRefusal(cause, phone: phone, at: now, lot: lot) }
            if cause == trip.cause { self.trip?.isConfirmed = true }
            guard isProbe else { return nil }
            if cause == trip.cause || !cause.isServicesWord {
                leaveAlone(failed: true, cause, at: now, lot: lot)
                return nil
            }
            // The service answers, so what it was left alone for is over. What it says now may be about this one phone, and
            // counts as at any other time.
            let change = liveSign(closing: true, at: now)
            _ = noteRefusal(cause, phone: phone, at: now, lot: lot)
            return change
        case .ailing(let cause):
            if let trip {
                // A connection that is refused as a whole ends the push on it like one that is lost.
                if isProbe { leaveAlone(failed: true, trip.isConfirmed ? trip.cause : cause, at: now, lot: lot) }
                return nil
            }
            ailment = cause
            noteFailure(phone, at: now)
            return openIfOutage(at: now, lot: lot)
        case .unknown:
            // It waits no more, and as nothing was learned the next one may try.
            forgetWaiting(phone, at: now)
            if isProbe {
                trip?.probe = nil
                trip?.nextProbe = now
            }
            return nil
        }
    }

    /// A connection stands. Where it was for want of one that the service was left alone, the next push is the probe; and
    /// where it may have been for what one connection had seen, once.
    package mutating func connected(at now: MonotonicInstant) {
        guard var trip, trip.probe == nil,
            trip.cause.isOverOnceConnected || trip.cause.mayBeOneConnections && trip.failedProbes == 0
        else { return }
        trip.nextProbe = min(trip.nextProbe, now)
        self.trip = trip
    }

    /// Somebody has acted: nothing that was held against the service counts any more.
    package mutating func startAnew(at now: MonotonicInstant) -> Change? {
        refused = []
        return liveSign(closing: true, at: now)
    }

    private mutating func clearSigns() {
        signs = []
        lastFailure = nil
    }

    private mutating func liveSign(closing: Bool, at now: MonotonicInstant) -> Change? {
        clearSigns()
        ailment = .timeout
        guard closing, let trip else { return nil }
        self.trip = nil
        return .closed(trip.cause, after: now.duration(since: trip.openedAt))
    }

    private mutating func noteRefusal(
        _ cause: BreakerCause, phone: Int, at now: MonotonicInstant, lot: Double
    ) -> Change? {
        if refusal != cause { refused = [] }
        refusal = cause
        if !refused.contains(phone) { refused.append(phone) }
        return refused.count >= cause.leastPhones ? open(cause, at: now, lot: lot) : nil
    }

    private mutating func noteWaiting(_ phone: Int, at now: MonotonicInstant) {
        // Once as many as are asked for have failed, one more may show by its waiting that it is not over; what failed at
        // one moment does not.
        if signs.count >= ailment.leastPhones, signs.allSatisfy({ $0.hasFailed && $0.phone != phone }) {
            if signs.count > ailment.leastPhones { signs.removeLast() }
            signs.append(Sign(phone: phone, began: now, waitsSince: now))
        }
        note(phone, at: now) { sign in
            if sign.waiting == 0 { sign.waitsSince = now }
            sign.waiting += 1
        }
    }

    private mutating func noteFailure(_ phone: Int, at now: MonotonicInstant) {
        lastFailure = now
        note(phone, at: now) { sign in
            sign.waitEnds(at: now)
            sign.hasFailed = true
        }
    }

    private mutating func note(_ phone: Int, at now: MonotonicInstant, _ change: (inout Sign) -> Void) {
        let known = signs.firstIndex { $0.phone == phone }
        guard known != nil || signs.count < ailment.leastPhones else { return }
        if known == nil { signs.append(Sign(phone: phone, began: now, waitsSince: now)) }
        change(&signs[known ?? signs.endIndex - 1])
    }

    private mutating func forgetWaiting(_ phone: Int, at now: MonotonicInstant) {
        guard let index = signs.firstIndex(where: { $0.phone == phone }) else { return }
        signs[index].waitEnds(at: now)
        if signs[index].waiting == 0, !signs[index].hasFailed { signs.remove(at: index) }
    }

    /// The row lasts from when the first of its pushes went to the last failure, or to now where one waits in vain. What has
    /// failed at one moment stays one event, however long nothing is asked after it.
    private mutating func openIfOutage(at now: MonotonicInstant, lot: Double) -> Change? {
        guard signs.count >= ailment.leastPhones, let first = signs.map(\.began).min() else { return nil }
        let isWaitedInVain = signs.contains { $0.waitsInVain(at: now) }
        guard signs.allSatisfy({ $0.hasFailed || $0.waitsInVain(at: now) }),
            let last = isWaitedInVain ? now : lastFailure, last.duration(since: first) >= Self.leastOutage
        else { return nil }
        return open(ailment, at: now, lot: lot)
    }

    private mutating func open(_ cause: BreakerCause, at now: MonotonicInstant, lot: Double) -> Change {
        clearSigns()
        trip = Trip(
            cause: cause, openedAt: now, nextProbe: now.advanced(by: Self.spread(cause.pause(afterProbes: 0), lot)),
            refused: cause == .foreignProject ? Set(refused) : [])
        refused = []
        return .opened(cause)
    }

    private mutating func leaveAlone(failed: Bool, _ cause: BreakerCause?, at now: MonotonicInstant, lot: Double) {
        guard var trip, let cause else { return }
        trip.cause = cause
        if failed { trip.failedProbes += 1 }
        trip.probe = nil
        trip.nextProbe = now.advanced(by: Self.spread(cause.pause(afterProbes: trip.failedProbes), lot))
        self.trip = trip
    }

    /// A fifth to either side, so that relays that an outage hit together do not probe together.
    private static func spread(_ pause: Duration, _ lot: Double) -> Duration { pause * (0.8 + 0.4 * lot) }
}
