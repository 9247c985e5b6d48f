package import PushModel

/// Why a push service is not asked for a while. Raw values stand in the log.
package enum BreakerCause: String, Sendable, CaseIterable {
    /// It does not take the key or the account, or not for this app.
    case credentials
    /// One phone after the other belongs to another Firebase project.
    case foreignProject = "foreign_project"
    /// Apple saw provider tokens renewed too often (TooManyProviderTokenUpdates).
    case tokenUpdates = "token_updates"
    /// Its certificate is not trusted.
    case untrusted
    /// Whoever answers in its place speaks no HTTP/2.
    case notHTTP2 = "not_http2"
    /// The proxy on the way lets nothing through to it, or is none, until somebody has acted.
    case proxyRefuses = "proxy_refuses"
    /// The proxy on the way cannot be reached, does not answer, or does not get through itself at the moment.
    case proxyFails = "proxy_fails"
    /// No connection, or none that holds.
    case unreachable
    /// It does not answer.
    case timeout
    /// It answers that it is ill.
    case unavailable

    /// Whether the service fails us, rather than we the service. What fails may be well again the next second; what
    /// refuses us does so until somebody has acted.
    package var isOutage: Bool {
        switch self {
        case .proxyFails, .unreachable, .timeout, .unavailable: true
        case .credentials, .foreignProject, .tokenUpdates, .untrusted, .notHTTP2, .proxyRefuses: false
        }
    }

    /// Whether it may be over as soon as a connection stands, certificate and proxy included.
    package var isOverOnceConnected: Bool {
        switch self {
        case .untrusted, .proxyRefuses, .proxyFails, .unreachable: true
        case .credentials, .foreignProject, .tokenUpdates, .notHTTP2, .timeout, .unavailable: false
        }
    }

    /// Whether the service may have meant one connection alone.
    package var mayBeOneConnections: Bool { self == .tokenUpdates }

    /// Whether it is what the service itself says, and not somebody on the way to it.
    package var isServicesWord: Bool {
        switch self {
        case .credentials, .foreignProject, .tokenUpdates, .unavailable: true
        case .untrusted, .notHTTP2, .proxyRefuses, .proxyFails, .unreachable, .timeout: false
        }
    }

    /// So many phones in a row, each another one, must meet it before it is believed. A migration from one Firebase
    /// project to another leaves many phones of the older one among those that work.
    package var leastPhones: Int {
        switch self {
        case .credentials, .tokenUpdates, .untrusted, .notHTTP2, .proxyRefuses: 3
        case .proxyFails, .unreachable, .timeout, .unavailable: 10
        case .foreignProject: 20
        }
    }

    /// How long the service is left alone before the next probe, after so many probes that failed.
    package func pause(afterProbes count: Int) -> Duration {
        let doublings = min(count, 10)
        return switch self {
        // The end of an outage is to be noticed within five seconds.
        case .proxyFails, .unreachable, .timeout, .unavailable: min(.seconds(1 << doublings), .seconds(3))
        case .untrusted, .notHTTP2, .proxyRefuses: min(.seconds(5 << doublings), .seconds(60))
        case .credentials, .foreignProject: min(.seconds(60 << doublings), .seconds(300))
        case .tokenUpdates: .seconds(60)
        }
    }

    /// What a sender is told whose push was not passed on.
    ///
    /// - Parameters:
    ///   - age: how long the service has been left alone.
    ///   - lot: from 0 to 1, so that not all senders come back in the same second.
    package func outcome(age: Duration, lot: Double) -> DeliveryOutcome {
        switch self {
        case .credentials, .foreignProject:
            .deferred(.credentials, retryAfter: DeliveryOutcome.mendingTime * (1 + 0.2 * lot))
        case .tokenUpdates:
            .deferred(.serviceThrottled, retryAfter: max(.seconds(1200) - age, .seconds(60)) * (1 + 0.2 * lot))
        case .untrusted, .notHTTP2, .proxyRefuses: .failed(.unreachable, retryAfter: .seconds(60) * (1 + lot))
        case .proxyFails, .unreachable: .failed(.unreachable, retryAfter: .seconds(10) * (1 + lot))
        case .timeout: .failed(.timeout, retryAfter: .seconds(10) * (1 + lot))
        case .unavailable: .deferred(.serviceUnavailable, retryAfter: .seconds(10) * (1 + lot))
        }
    }
}
