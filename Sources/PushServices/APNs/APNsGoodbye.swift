package import HTTP2Client
package import PushModel

/// What APNs says as it ends a connection. The text of its GOAWAY is what the body of a refusal would be, and some
/// reasons concern whoever connects.
package enum APNsGoodbye {
    /// Tells the breaker of a connection that was ended for our credentials' sake.
    package static func note(_ event: HTTP2ConnectionEvent, for breaker: ServiceBreaker, at now: MonotonicInstant) {
        guard case .goAway(let connection, _, let debug?) = event,
            case .refusing(let cause) = health(debug)
        else { return }
        breaker.connectionRefused(cause, connection: connection.hashValue, at: now)
    }

    /// What the text says about our credentials, and nothing else: a goodbye for any other reason is told by what
    /// becomes of the requests.
    package static func health(_ text: String) -> Health {
        // Without a reason the status would decide, which a goodbye has not.
        guard APNsErrorBody.reason(in: Array(text.utf8)) != nil else { return .unknown }
        let answer = APNsAnswer(status: 403, body: Array(text.utf8), at: WallInstant(milliseconds: 0))
        switch answer.health {
        case .refusing(let cause): return .refusing(cause)
        case .accepting, .well, .answering, .ailing, .unknown: return .unknown
        }
    }
}
