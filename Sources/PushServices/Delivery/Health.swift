package import HTTP2Client
import PushModel

/// What the end of a push says about the push service as a whole. The breaker lives on it.
package enum Health: Sendable, Equatable {
    /// It works, and takes our credentials.
    case well
    /// It answers, which says nothing about our credentials.
    case answering
    /// It answers, and will have nothing to do with us.
    case refusing(BreakerCause)
    /// It does not do its work.
    case ailing(BreakerCause)
    /// Nothing was learned.
    case unknown
}

extension ServiceAnswer {
    /// What follows from the outcome alone, which is right for all answers but a few.
    package var health: Health { outcome.health }
}

extension DeliveryOutcome {
    /// What an answer with this outcome says about the push service.
    var health: Health {
        switch self {
        case .accepted, .unregistered(.stated), .rejected(.malformed), .deferred(.phoneThrottled, _): .well
        // A wrong topic makes it say so of every phone.
        case .unregistered(.inferred), .rejected(.unknown), .deferred(.serviceThrottled, _): .answering
        case .rejected(.credentials), .deferred(.credentials, _): .refusing(.credentials)
        case .rejected(.foreignDevice): .refusing(.foreignProject)
        case .deferred(.serviceUnavailable, _): .ailing(.unavailable)
        case .failed: .unknown
        }
    }
}

extension HTTP2Failure {
    /// What the lack of an answer says about the push service.
    package var health: Health {
        switch self {
        case .notSent(.closing), .unknownOutcome(.closing), .overloaded: .unknown
        case .notSent(.waitedTooLong), .unknownOutcome(.timeout): .ailing(.timeout)
        case .unreachable(let cause): cause.needsOperator ? .refusing(.untrusted) : .ailing(.unreachable)
        case .notSent(.refusedStream), .notSent(.aboveGoAway), .notSent(.neverLeft), .unknownOutcome:
            .ailing(.unreachable)
        }
    }
}
