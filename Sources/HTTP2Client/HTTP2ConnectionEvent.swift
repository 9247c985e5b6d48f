/// What happened to a pool's connections, for the log. Told on the loop's thread, a handful of times in a connection's
/// life.
package enum HTTP2ConnectionEvent: Sendable, Equatable {
    /// An attempt to connect came to nothing.
    case failed(Unreachable)
    /// A connection takes requests.
    case opened(HTTP2ConnectionID)
    /// The peer said goodbye. `debug` is the text it gave, at most 256 bytes of it and without control characters: for
    /// reading, not for printing. Apple puts a reason there.
    case goAway(HTTP2ConnectionID, code: UInt32, debug: String?)
    /// A connection takes no more requests, and ends when the last answer is there.
    case retired(HTTP2ConnectionID, HTTP2Retirement)
    /// A connection that took requests is gone.
    case closed(HTTP2ConnectionID, HTTP2ConnectionEnd)
}

/// Why a connection takes no more requests although it stands.
package enum HTTP2Retirement: Sendable, Equatable, CaseIterable {
    /// The peer said goodbye.
    case goAway
    /// Its age or its number of streams; another one has taken over.
    case replaced
    /// Several requests in a row had no answer.
    case unresponsive
    /// The peer has broken the protocol.
    case broken
    /// A caller found its answers to be bad, see ``HTTP2Pool/retire(_:)``.
    case askedByCaller
    /// Nothing was sent for long.
    case idle
    /// The pool takes no more requests.
    case quiesced

    /// A label out of a small closed set.
    package var metricLabel: StaticString {
        switch self {
        case .goAway: "goaway"
        case .replaced: "replaced"
        case .unresponsive: "unresponsive"
        case .broken: "broken"
        case .askedByCaller: "asked_by_caller"
        case .idle: "idle"
        case .quiesced: "quiesced"
        }
    }
}

/// How a connection that took requests ended.
package enum HTTP2ConnectionEnd: Sendable, Equatable, CaseIterable {
    /// By us, with nothing in flight any more.
    case finished
    /// The peer ended it, or the network did.
    case lost
    /// A PING was not answered in time, or the first SETTINGS never came.
    case dead
    /// The peer broke the protocol.
    case protocolViolation
    /// The time for draining was over.
    case drainExpired
    /// The pool was closed.
    case closing

    /// What it means for a request that was in flight and has no status yet.
    var outcome: HTTP2Failure.UnknownOutcome {
        switch self {
        case .finished, .lost: .connectionLost
        case .dead: .connectionDead
        case .protocolViolation: .protocolViolation
        case .drainExpired: .drainExpired
        case .closing: .closing
        }
    }

    /// A label out of a small closed set.
    package var metricLabel: StaticString {
        switch self {
        case .finished: "finished"
        case .lost: "lost"
        case .dead: "dead"
        case .protocolViolation: "protocol_violation"
        case .drainExpired: "drain_expired"
        case .closing: "closing"
        }
    }
}
