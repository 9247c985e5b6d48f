package import HTTP2Client
package import PushModel

extension HTTP2Failure {
    /// What the sender is told when an attempt brought no answer and is not repeated.
    package var outcome: DeliveryOutcome {
        switch self {
        case .overloaded: .failed(.overloaded, retryAfter: .seconds(1))
        case .notSent(.waitedTooLong): .failed(.timeout, retryAfter: .seconds(5))
        case .notSent: .failed(.unreachable, retryAfter: .seconds(2))
        case .unreachable: .failed(.unreachable, retryAfter: .seconds(5))
        case .unknownOutcome(.timeout): .failed(.timeout, retryAfter: .seconds(10))
        case .unknownOutcome: .failed(.unreachable, retryAfter: .seconds(10))
        }
    }

    /// Whether the attempt may be repeated at once. What could not be connected is not: the pool paces its connections
    /// itself, and another push would only wait in the same line.
    package var retry: RetryAdvice {
        switch self {
        case .notSent(.refusedStream), .notSent(.aboveGoAway), .notSent(.neverLeft): .atOnce
        case .notSent(.waitedTooLong), .notSent(.closing), .unknownOutcome, .unreachable, .overloaded: .never
        }
    }
}
