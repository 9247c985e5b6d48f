package import PushModel

/// What an answer of APNs means. Made of status, body and `Retry-After`; the body may be missing or no JSON, and then
/// the status decides alone. Apple: "Handling notification responses from APNs".
package enum APNsAnswer: ServiceAnswer, Equatable {
    /// 200.
    case accepted
    /// 410 of any reason, or `ExpiredToken` under another status. `since` is nil where Apple did not say, or not readably.
    case unregistered(since: WallInstant?)
    /// Malformed, or issued by the other environment.
    case badDeviceToken
    /// Issued to another app, or our topic is wrong.
    case deviceTokenNotForTopic
    /// We built a bad request.
    case malformed
    /// Our topic is not allowed with our key.
    case topicRefused
    /// The connection was idle too long and is going away.
    case idleTimeout
    /// Our provider token is too old, or our clock is behind.
    case expiredProviderToken
    /// Signature, key id or team id are not what Apple knows.
    case invalidProviderToken
    /// The key may not do this (environment, certificate, forbidden), or none was sent.
    case credentialRefused
    /// The key is not related to the one that this connection began with.
    case unrelatedKey
    /// This one phone gets too much.
    case phoneThrottled(retryAfter: Duration?)
    /// Provider tokens were renewed too often.
    case tooManyProviderTokenUpdates
    /// A fault of Apple's that often sticks to one connection.
    case internalServerError
    /// Apple is overloaded.
    case serviceUnavailable(retryAfter: Duration?)
    /// The server at the other end is going down.
    case shutdown
    /// Another 4xx, or another reason.
    case unknownRefusal
    /// Another 5xx, or none of these.
    case unknownFault

    /// Interprets an answer. `now` turns a `Retry-After` date into a wait.
    package init(status: Int, body: [UInt8], retryAfter field: String? = nil, at now: WallInstant) {
        if status == 200 {
            self = .accepted
            return
        }
        let body = APNsErrorBody(body, at: now)
        let wait = RetryAfter.duration(field, at: now)
        if status == 410 {
            self = .unregistered(since: body.timestamp)
            return
        }
        guard let reason = body.reason else {
            self = Self.byStatus(status, wait)
            return
        }
        switch reason {
        case "Unregistered", "ExpiredToken": self = .unregistered(since: body.timestamp)
        case "BadDeviceToken": self = .badDeviceToken
        case "DeviceTokenNotForTopic": self = .deviceTokenNotForTopic
        case "BadCollapseId", "BadExpirationDate", "BadMessageId", "BadPriority", "DuplicateHeaders",
            "InvalidPushType", "MissingDeviceToken", "PayloadEmpty", "PayloadTooLarge", "BadPath", "MethodNotAllowed":
            self = .malformed
        case "BadTopic", "MissingTopic", "TopicDisallowed": self = .topicRefused
        case "IdleTimeout": self = .idleTimeout
        case "ExpiredProviderToken": self = .expiredProviderToken
        case "InvalidProviderToken": self = .invalidProviderToken
        case "MissingProviderToken", "Forbidden", "BadCertificate", "BadCertificateEnvironment",
            "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken":
            self = .credentialRefused
        case "UnrelatedKeyIdInToken": self = .unrelatedKey
        case "TooManyRequests": self = .phoneThrottled(retryAfter: wait)
        case "TooManyProviderTokenUpdates": self = .tooManyProviderTokenUpdates
        case "InternalServerError": self = .internalServerError
        case "ServiceUnavailable": self = .serviceUnavailable(retryAfter: wait)
        case "Shutdown": self = .shutdown
        default: self = (400..<500).contains(status) ? .unknownRefusal : .unknownFault
        }
    }

    private static func byStatus(_ status: Int, _ wait: Duration?) -> APNsAnswer {
        switch status {
        case 413: .malformed
        case 500: .internalServerError
        case 503: .serviceUnavailable(retryAfter: wait)
        case 400..<500: .unknownRefusal
        default: .unknownFault
        }
    }

    package var outcome: DeliveryOutcome {
        switch self {
        case .accepted: .accepted
        case .unregistered(let since): .unregistered(.stated(since: since))
        case .badDeviceToken, .deviceTokenNotForTopic: .unregistered(.inferred)
        case .malformed: .rejected(.malformed)
        case .topicRefused, .invalidProviderToken, .credentialRefused:
            .deferred(.credentials, retryAfter: DeliveryOutcome.mendingTime)
        case .unknownRefusal: .rejected(.unknown)
        case .idleTimeout, .shutdown: .deferred(.serviceUnavailable, retryAfter: .seconds(5))
        case .expiredProviderToken, .unrelatedKey: .deferred(.credentials, retryAfter: .seconds(60))
        case .phoneThrottled(let wait): .deferred(.phoneThrottled, retryAfter: wait ?? .seconds(60))
        case .tooManyProviderTokenUpdates: .deferred(.serviceThrottled, retryAfter: .seconds(1200))
        case .internalServerError, .unknownFault: .deferred(.serviceUnavailable, retryAfter: .seconds(900))
        case .serviceUnavailable(let wait): .deferred(.serviceUnavailable, retryAfter: wait ?? .seconds(900))
        }
    }

    package var retry: RetryAdvice {
        switch self {
        case .idleTimeout, .unrelatedKey, .internalServerError, .shutdown: .onceElsewhere(mayBeConnection: true)
        // A wait that Apple names is kept.
        case .serviceUnavailable(let wait): wait == nil ? .onceElsewhere(mayBeConnection: false) : .never
        case .expiredProviderToken: .onceWithNewCredential
        case .accepted, .unregistered, .badDeviceToken, .deviceTokenNotForTopic, .malformed, .topicRefused,
            .invalidProviderToken, .credentialRefused, .phoneThrottled, .tooManyProviderTokenUpdates,
            .unknownRefusal, .unknownFault:
            .never
        }
    }

    package var health: Health {
        if case .tooManyProviderTokenUpdates = self { .refusing(.tokenUpdates) } else { outcome.health }
    }

    /// Apple words its rule about new tokens for a connection.
    package var condemnsConnection: Bool { self == .tooManyProviderTokenUpdates }

    package var alarm: Alarm {
        switch self {
        case .accepted: .none
        case .unregistered, .badDeviceToken, .deviceTokenNotForTopic, .idleTimeout, .phoneThrottled,
            .internalServerError, .serviceUnavailable, .shutdown, .unknownFault:
            .count
        case .malformed, .topicRefused, .expiredProviderToken, .invalidProviderToken, .credentialRefused,
            .unrelatedKey, .tooManyProviderTokenUpdates, .unknownRefusal:
            .page
        }
    }

    package var reason: AnswerReason {
        switch self {
        case .accepted: .accepted
        case .unregistered: .unregistered
        case .badDeviceToken: .badDeviceToken
        case .deviceTokenNotForTopic: .deviceTokenNotForTopic
        case .malformed: .malformed
        case .topicRefused: .topicRefused
        case .idleTimeout: .idleTimeout
        case .expiredProviderToken: .expiredProviderToken
        case .invalidProviderToken: .invalidProviderToken
        case .credentialRefused: .credentialRefused
        case .unrelatedKey: .unrelatedKey
        case .phoneThrottled: .phoneThrottled
        case .tooManyProviderTokenUpdates: .tooManyProviderTokenUpdates
        case .internalServerError: .internalServerError
        case .serviceUnavailable: .serviceUnavailable
        case .shutdown: .shutdown
        case .unknownRefusal, .unknownFault: .other
        }
    }

    package var label: String {
        switch self {
        case .accepted: "accepted"
        case .unregistered: "unregistered"
        case .badDeviceToken: "bad_device_token"
        case .deviceTokenNotForTopic: "device_token_not_for_topic"
        case .malformed: "malformed"
        case .topicRefused: "topic_refused"
        case .idleTimeout: "idle_timeout"
        case .expiredProviderToken: "expired_provider_token"
        case .invalidProviderToken: "invalid_provider_token"
        case .credentialRefused: "credential_refused"
        case .unrelatedKey: "unrelated_key"
        case .phoneThrottled: "phone_throttled"
        case .tooManyProviderTokenUpdates: "too_many_provider_token_updates"
        case .internalServerError: "internal_server_error"
        case .serviceUnavailable: "service_unavailable"
        case .shutdown: "shutdown"
        case .unknownRefusal: "unknown_refusal"
        case .unknownFault: "unknown_fault"
        }
    }
}
