package import HTTP2Client
import Telemetry

/// Why an attempt brought no answer: the values of the label `reason` for failures. Coarser than ``HTTP2Failure``, which
/// the log has.
package enum FailureReason: String, MetricLabelValue {
    /// No answer in time, or no connection or stream came free in time.
    case timeout
    /// The connection was lost, fell silent, or was given up before the answer.
    case connectionLost = "connection_lost"
    /// The push service reset or refused the stream, or had said goodbye.
    case streamRefused = "stream_refused"
    /// The push service broke the protocol.
    case protocolViolation = "protocol_violation"
    /// The name could not be resolved.
    case name
    /// No TCP connection.
    case connect
    /// No TLS session, or no HTTP/2 over it.
    case tls
    /// The push service's certificate is not trusted: somebody has to act.
    case certificate
    /// The proxy that the relay was told to use cannot be reached, or makes no tunnel to the push service.
    case proxy
    /// Too many requests wait already.
    case overloaded
    /// The relay is ending.
    case closing

    package init(_ failure: HTTP2Failure) {
        self =
            switch failure {
            case .overloaded: .overloaded
            case .notSent(.waitedTooLong), .unknownOutcome(.timeout): .timeout
            case .notSent(.refusedStream), .notSent(.aboveGoAway), .unknownOutcome(.streamReset): .streamRefused
            case .notSent(.neverLeft), .unknownOutcome(.connectionLost), .unknownOutcome(.connectionDead),
                .unknownOutcome(.drainExpired):
                .connectionLost
            case .unknownOutcome(.protocolViolation): .protocolViolation
            case .notSent(.closing), .unknownOutcome(.closing): .closing
            case .unreachable(let cause): FailureReason(cause)
            }
    }

    private init(_ cause: Unreachable) {
        self =
            switch cause {
            case .nameNotResolved, .nameTimeout: .name
            case .connectFailed, .connectTimeout, .noAnswer: .connect
            case .goodbyeWithError: .streamRefused
            case .tlsTimeout, .tlsFailed, .notHTTP2, .settingsTimeout: .tls
            case .certificateNotTrusted, .certificateNotCurrent, .certificateForAnotherHost: .certificate
            case .proxyUnreachable, .proxyTimeout, .proxyRefused, .proxyAnswerInvalid, .proxyHungUp: .proxy
            case .backingOff(let cause): FailureReason(cause)
            }
    }
}
