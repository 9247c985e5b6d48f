import HTTP2Client
import PushModel

/// Takes one push to one pool: asks the breaker, sends, repeats what may be repeated, and says what became of it. Both
/// services deliver by it, so that what is repeated is decided in one place.
final class Courier: Sendable {
    let platform: Platform
    let pool: any UpstreamPool
    let breaker: ServiceBreaker
    /// How long one attempt may take, from its leaving to its answer. Longer than a sender waits: an attempt is followed to
    /// its end.
    let attemptTimeout: Duration
    /// Whether a connection that has refused a credential refuses the next one as well.
    let remembersCredentials: Bool
    let clocks: Clocks
    let observer: any DeliveryObserver

    init(
        platform: Platform, pool: any UpstreamPool, breaker: ServiceBreaker, attemptTimeout: Duration,
        remembersCredentials: Bool, clocks: Clocks, observer: any DeliveryObserver
    ) {
        self.platform = platform
        self.pool = pool
        self.breaker = breaker
        self.attemptTimeout = attemptTimeout
        self.remembersCredentials = remembersCredentials
        self.clocks = clocks
        self.observer = observer
    }

    /// So long before the deadline a repeat that has not left is given up, so that the answer before it still reaches the
    /// sender.
    static let lastWord: Duration = .milliseconds(100)

    /// What comes of preparing an attempt.
    enum Prepared {
        /// Send this.
        case request(HTTP2Request)
        /// A repeat would say the same again: what the last attempt brought stands.
        case nothingNew
        /// There is nothing to send; this is the outcome.
        case impossible(DeliveryOutcome, Health)
    }

    /// Delivers, at most until `deadline` as far as new attempts are concerned.
    ///
    /// - Parameters:
    ///   - isReplaceable: whether the phone shows a repeat in the place of the first.
    ///   - prepare: makes the request, with another credential where it is told so.
    ///   - interpret: reads an answer.
    func deliver(
        to device: Device, by deadline: MonotonicInstant, isReplaceable: Bool,
        prepare: (_ withNewCredential: Bool) async -> Prepared, interpret: (HTTP2Response) -> any ServiceAnswer
    ) async -> DeliveryOutcome {
        switch breaker.admit(phone: device.token.disclosed.hashValue, at: clocks.monotonic()) {
        case .refused(let outcome):
            return outcome
        case .admitted(let pass):
            let (outcome, health) = await carry(
                by: deadline, DeliveryAttempts(deadline: deadline, isReplaceable: isReplaceable), prepare, interpret)
            breaker.conclude(pass, health, phone: device.token.disclosed.hashValue, at: clocks.monotonic())
            return outcome
        }
    }

    private func carry(
        by deadline: MonotonicInstant, _ attempts: consuming DeliveryAttempts,
        _ prepare: (_ withNewCredential: Bool) async -> Prepared, _ interpret: (HTTP2Response) -> any ServiceAnswer
    ) async -> (DeliveryOutcome, Health) {
        var step = DeliveryAttempts.Step.again
        var standing: Attempt?
        var avoided: HTTP2ConnectionID?
        var suspect: HTTP2ConnectionID?
        while true {
            let request: HTTP2Request
            switch await prepare(step == .againWithNewCredential) {
            case .request(let made): request = made
            case .nothingNew: return standing?.conclusion ?? (.failed(.timeout, retryAfter: .seconds(5)), .unknown)
            case .impossible(let outcome, let health): return (outcome, health)
            }
            let now = clocks.monotonic()
            let left = deadline.duration(since: now)
            // Waiting for a credential has taken all the time. Sent now, the push would come after its sender was told that
            // it had failed; a repeat leaves some time for its answer.
            guard left > (standing == nil ? .zero : Self.lastWord) else {
                return standing?.conclusion ?? (.failed(.timeout, retryAfter: .seconds(5)), .unknown)
            }
            let attempt = await Attempt.of(
                request, on: pool, timeout: attemptTimeout,
                leavingWithin: standing == nil ? left : left - Self.lastWord, avoiding: avoided,
                number: attempts.number, at: now, clocks: clocks, interpreting: interpret)
            observer.attempted(attempt, platform: platform)
            if attempt.condemnsConnection, let connection = attempt.connection { await pool.replace(connection) }
            step = attempts.next(after: attempt.retry, at: attempt.endedAt)
            switch step {
            case .conclude:
                if let suspect, attempt.health.isWell { await pool.replace(suspect) }
                return (attempt.neverLeft ? standing ?? attempt : attempt).conclusion
            case .again: break
            case .againElsewhere(let mayBeConnection):
                avoided = attempt.connection
                if mayBeConnection { suspect = avoided }
            case .againWithNewCredential where remembersCredentials:
                avoided = attempt.connection
                if let avoided { await pool.retire(avoided) }
            case .againWithNewCredential: break
            }
            if !attempt.neverLeft { standing = attempt }
        }
    }
}

extension Attempt {
    /// What it means for the sender, and what it says about the push service.
    fileprivate var conclusion: (DeliveryOutcome, Health) { (outcome, health) }
}
