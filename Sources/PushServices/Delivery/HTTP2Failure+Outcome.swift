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
    /// itself, and another push would only wait in the same line. Nor is what was reset with a plea for calm.
    package var retry: RetryAdvice {
        switch self {
        case .notSent(.refusedStream), .notSent(.aboveGoAway), .notSent(.neverLeft): .atOnce
        case .unknownOutcome(.streamReset(code: Self.enhanceYourCalm)), .unknownOutcome(.closing): .never
        case .unknownOutcome: .onceIfReplaceable
        case .notSent(.waitedTooLong), .notSent(.closing), .unreachable, .overloaded: .never
        }
    }

    /// RFC 9113 section 7.
    private static let enhanceYourCalm: UInt32 = 0xB
}
