/// What became of one push: accepted, rejected for good, or failed for now.
package enum DeliveryOutcome: Sendable, Equatable {
    /// The push service took it. It never says whether the phone got it.
    case accepted
    /// The device token is finished, as far as the evidence goes.
    case unregistered(DeathEvidence)
    /// Refused for good, and the device is not to blame.
    case rejected(Rejection)
    /// Not now: the same push may be sent again after `retryAfter`.
    case deferred(Deferral, retryAfter: Duration)
    /// The push service could not be asked, or did not say.
    case failed(DeliveryFailure, retryAfter: Duration)

    /// How sure it is that a device token is finished.
    package enum DeathEvidence: Sendable, Equatable {
        /// The push service said in so many words that it is. `since` is when it knew, where it says so; a registration
        /// newer than that is kept.
        case stated(since: WallInstant?)
        /// The push service does not take the token, which a wrong setting of the operator's would make it say of every
        /// token. Believed of one, not of all at once.
        case inferred
    }

    /// Why a push was refused for good.
    package enum Rejection: Sendable, Equatable, CaseIterable {
        /// The push service found fault with the push itself: a defect of the relay's.
        case malformed
        /// The device belongs to another app or project than the operator's credentials.
        case foreignDevice
        /// An answer that the relay does not know.
        case unknown
    }

    /// Why a push should come again later.
    package enum Deferral: Sendable, Equatable, CaseIterable {
        /// This one phone gets too much.
        case phoneThrottled
        /// The push service asks all of us to slow down.
        case serviceThrottled
        /// The push service has a fault of its own.
        case serviceUnavailable
        /// The push service does not accept the operator's key or account, or not for this app, until somebody has acted.
        case credentials
    }

    /// Why there is no answer from the push service.
    package enum DeliveryFailure: Sendable, Equatable, CaseIterable {
        /// The budget ended first.
        case timeout
        /// No connection, or it broke before the answer.
        case unreachable
        /// Too many pushes wait for this service already.
        case overloaded
    }
}
