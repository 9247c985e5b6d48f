package import HTTP2Client
import PushModel

/// What the end of a push says about the push service as a whole. The breaker lives on it.
package enum Health: Sendable, Equatable {
    /// It has taken a push, and with it our credentials and our project.
    case accepting
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

    /// Whether it works and takes our credentials.
    var isWell: Bool { self == .accepting || self == .well }
}

extension ServiceAnswer {
    /// What follows from the outcome alone, which is right for all answers but a few.
    package var health: Health { outcome.health }
}

extension DeliveryOutcome {
    /// When a push comes again that was not taken for the sake of the operator's credentials: so soon somebody may have
    /// mended them. The breaker, which opens after a few of these, tells senders the same.
    static let mendingTime: Duration = .seconds(300)

    /// What an answer with this outcome says about the push service.
    var health: Health {
        switch self {
        case .accepted: .accepting
        case .unregistered(.stated), .rejected(.malformed), .deferred(.phoneThrottled, _): .well
        // A wrong topic makes it say so of every phone.
        case .unregistered(.inferred), .rejected(.unknown), .deferred(.serviceThrottled, _): .answering
        case .deferred(.credentials, _): .refusing(.credentials)
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
        case .unreachable(let cause): cause.health
        case .notSent(.refusedStream), .notSent(.aboveGoAway), .notSent(.neverLeft), .unknownOutcome:
            .ailing(.unreachable)
        }
    }
}

extension Unreachable {
    /// What it says about the push service, or about who stands before it, that there is no connection.
    var health: Health {
        switch self {
        case .certificateNotTrusted, .certificateNotCurrent, .certificateForAnotherHost: .refusing(.untrusted)
        case .notHTTP2: .refusing(.notHTTP2)
        case .proxyAnswerInvalid: .refusing(.proxyRefuses)
        case .proxyRefused: needsOperator ? .refusing(.proxyRefuses) : .ailing(.proxyFails)
        case .proxyUnreachable, .proxyTimeout, .proxyHungUp: .ailing(.proxyFails)
        case .nameNotResolved, .nameTimeout, .connectFailed, .connectTimeout, .tlsTimeout, .tlsFailed,
            .settingsTimeout, .noAnswer, .goodbyeWithError:
            .ailing(.unreachable)
        case .backingOff(let cause): cause.health
        }
    }
}
