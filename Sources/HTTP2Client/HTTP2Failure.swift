/// Why a request has no answer. What matters most to the caller is whether it may have been acted on all the same.
package enum HTTP2Failure: Error, Sendable, Equatable {
    /// Surely not processed (RFC 9113, section 8.7): the same request may be sent again at once.
    case notSent(NotSent)
    /// It left, and nobody knows what became of it: sending it again may do it twice.
    case unknownOutcome(UnknownOutcome)
    /// No connection could be made. Surely not processed.
    case unreachable(Unreachable)
    /// As many requests wait as may wait. Surely not processed.
    case overloaded

    /// Why a request was surely not processed although there was a connection, or never got that far.
    package enum NotSent: Sendable, Equatable, CaseIterable {
        /// The peer reset the stream with REFUSED_STREAM.
        case refusedStream
        /// The peer said goodbye and the stream is above the last one it will answer.
        case aboveGoAway
        /// The connection went before the request had left.
        case neverLeft
        /// The time-out came while the request waited for a connection or a stream.
        case waitedTooLong
        /// The pool is quiescing or closed.
        case closing
    }

    /// Why the outcome of a request that has left is not known.
    package enum UnknownOutcome: Sendable, Equatable {
        /// No answer within the time-out.
        case timeout
        /// The connection ended, by an error, a reset or an end of file.
        case connectionLost
        /// The peer fell silent: a PING was not answered in time.
        case connectionDead
        /// The peer broke the protocol and the connection was given up.
        case protocolViolation
        /// The peer reset this stream; the code is that of RFC 9113, section 7.
        case streamReset(code: UInt32)
        /// The peer said goodbye, promised an answer, and did not give it within the time for draining.
        case drainExpired
        /// The pool was closed meanwhile.
        case closing
    }

    /// Whether the peer has surely not acted on the request, so that sending it again cannot do it twice.
    package var isSurelyUnprocessed: Bool {
        switch self {
        case .notSent, .unreachable, .overloaded: true
        case .unknownOutcome: false
        }
    }

    /// A label out of a small closed set.
    package var metricLabel: StaticString {
        switch self {
        case .notSent(let reason): reason.metricLabel
        case .unknownOutcome(let reason): reason.metricLabel
        case .unreachable(let reason): reason.metricLabel
        case .overloaded: "overloaded"
        }
    }
}

extension HTTP2Failure: CustomStringConvertible {
    /// One line for the operator. It names nobody.
    package var description: String {
        switch self {
        case .notSent(let reason): "not sent: \(reason)"
        case .unknownOutcome(let reason): "outcome unknown: \(reason)"
        case .unreachable(let reason): "unreachable: \(reason)"
        case .overloaded: "too many requests wait already"
        }
    }
}

extension HTTP2Failure.NotSent: CustomStringConvertible {
    /// A label out of a small closed set.
    package var metricLabel: StaticString {
        switch self {
        case .refusedStream: "refused_stream"
        case .aboveGoAway: "above_goaway"
        case .neverLeft: "never_left"
        case .waitedTooLong: "waited_too_long"
        case .closing: "closing"
        }
    }

    package var description: String {
        switch self {
        case .refusedStream: "the peer refused the stream"
        case .aboveGoAway: "the peer had said goodbye"
        case .neverLeft: "the connection ended before the request had left"
        case .waitedTooLong: "no connection or stream came free in time"
        case .closing: "the pool is closing"
        }
    }
}

extension HTTP2Failure.UnknownOutcome: CustomStringConvertible {
    /// A label out of a small closed set.
    package var metricLabel: StaticString {
        switch self {
        case .timeout: "timeout"
        case .connectionLost: "connection_lost"
        case .connectionDead: "connection_dead"
        case .protocolViolation: "protocol_violation"
        case .streamReset: "stream_reset"
        case .drainExpired: "drain_expired"
        case .closing: "closed_meanwhile"
        }
    }

    package var description: String {
        switch self {
        case .timeout: "no answer in time"
        case .connectionLost: "the connection was lost"
        case .connectionDead: "the peer fell silent"
        case .protocolViolation: "the peer broke the protocol"
        case .streamReset(let code): "the peer reset the stream with error code \(code)"
        case .drainExpired: "the peer said goodbye and did not answer what it had promised to"
        case .closing: "the pool was closed meanwhile"
        }
    }
}
