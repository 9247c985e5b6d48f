import PushModel

/// What a push service said as it ended a connection, as far as the relay knows the words. The text itself goes nowhere:
/// it may say anything. Raw values stand in the log.
package enum Goodbye: String, Sendable, CaseIterable {
    /// It said nothing.
    case none
    /// More streams were opened than it allows: our counting is wrong.
    case tooManyStreams = "too_many_streams"
    /// More PINGs came than it likes.
    case tooManyPings = "too_many_pings"
    /// The connection was idle for too long.
    case idle
    /// It goes down, or away from this machine.
    case shutdown
    /// Our credentials, or our way to use them, are not to its liking.
    case credentials
    /// A reason in Apple's form that concerns none of these, or words that nobody knows.
    case other

    /// Reads the debug data of a GOAWAY: Apple's JSON, or words of either service's (RFC 9113 section 6.8 leaves it open).
    package init(_ debug: String?) {
        guard let debug else {
            self = .none
            return
        }
        guard APNsErrorBody.reason(in: Array(debug.utf8)) == nil else {
            self = Self.apples(debug)
            return
        }
        let known: [(words: String, meaning: Goodbye)] = [
            ("Maximum active streams violated", .tooManyStreams), ("exceeded_max_concurrent_streams", .tooManyStreams),
            ("too_many_pings", .tooManyPings), ("session_timed_out", .idle), ("server_shutting_down", .shutdown),
        ]
        self = known.first { debug.contains($0.words) }?.meaning ?? .other
    }

    private static func apples(_ debug: String) -> Goodbye {
        if case .refusing = APNsGoodbye.health(debug) { return .credentials }
        switch APNsAnswer(status: 503, body: Array(debug.utf8), at: WallInstant(milliseconds: 0)) {
        case .idleTimeout: return .idle
        case .shutdown: return .shutdown
        default: return .other
        }
    }
}
