/// What became of one push: accepted, rejected for good, or failed for now.
package enum DeliveryOutcome: Sendable, Equatable {
    /// The push service took it. It never says whether the phone got it.
    case accepted
    /// The device token is finished. `since` is when the push service knew it, where it says so; a registration newer
    /// than that is kept.
    case unregistered(since: WallInstant?)
    /// Refused for good, and the device is not to blame.
    case rejected(Rejection)
    /// Not now: the same push may be sent again after `retryAfter`.
    case deferred(Deferral, retryAfter: Duration)
    /// The push service could not be asked, or did not say.
    case failed(DeliveryFailure, retryAfter: Duration)

    /// Why a push was refused for good.
    package enum Rejection: Sendable, Equatable, CaseIterable {
        /// The push service did not accept the operator's key or account, or not for this app.
        case credentials
        /// The push service found fault with the push itself: a defect of the relay's.
        case malformed
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
        /// The operator's credentials are refused for now.
        case credentials
        /// The phone registered again after the push service gave it up, so its next push may well arrive.
        case registeredSince
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
