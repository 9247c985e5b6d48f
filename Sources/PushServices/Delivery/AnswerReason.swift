import PushModel
import Telemetry

/// Why an answer came out as it did, as far as the relay knows it: the values of the label `reason` for answers of both
/// push services.
package enum AnswerReason: String, MetricLabelValue {
    case accepted
    case unregistered
    case badDeviceToken = "bad_device_token"
    case deviceTokenNotForTopic = "device_token_not_for_topic"
    case badRegistrationToken = "bad_registration_token"
    case senderMismatch = "sender_id_mismatch"
    case malformed
    case ambiguousArgument = "ambiguous_argument"
    case topicRefused = "topic_refused"
    case expiredProviderToken = "expired_provider_token"
    case invalidProviderToken = "invalid_provider_token"
    case unrelatedKey = "unrelated_key"
    case credentialRefused = "credential_refused"
    case accessTokenRefused = "access_token_refused"
    case thirdPartyCredential = "third_party_credential"
    case permissionDenied = "permission_denied"
    case notFound = "not_found"
    case redirected
    case phoneThrottled = "phone_throttled"
    case projectThrottled = "project_throttled"
    case tooManyProviderTokenUpdates = "too_many_provider_token_updates"
    case idleTimeout = "idle_timeout"
    case internalServerError = "internal_server_error"
    case serviceUnavailable = "service_unavailable"
    case shutdown
    case other

    package var ordinal: Int {
        // The one that is counted with every push stands first.
        if case .accepted = self { return 0 }
        return Self.allCases.firstIndex(of: self) ?? 0
    }
}

/// The class of an answer's status: the values of the label `class`.
package enum StatusClass: String, MetricLabelValue {
    case success = "2xx"
    case redirection = "3xx"
    case refusal = "4xx"
    case fault = "5xx"
    case other

    package init(_ status: Int) {
        self =
            switch status / 100 {
            case 2: .success
            case 3: .redirection
            case 4: .refusal
            case 5: .fault
            default: .other
            }
    }

    package var ordinal: Int {
        switch self {
        case .success: 0
        case .redirection: 1
        case .refusal: 2
        case .fault: 3
        case .other: 4
        }
    }
}

/// What an answer says about the operator's credentials.
package enum CredentialEvidence: Sendable, Equatable {
    /// The push service took them, and spoke about the push.
    case accepted
    /// The push service did not take them, or not for this app.
    case refused
    /// It says nothing about them.
    case none
}

extension ServiceAnswer {
    /// What it says about the operator's credentials.
    package var evidence: CredentialEvidence {
        switch outcome {
        case .accepted, .unregistered, .rejected(.malformed), .rejected(.foreignDevice), .deferred(.phoneThrottled, _):
            .accepted
        case .deferred(.credentials, _):
            .refused
        case .rejected(.unknown), .deferred(.serviceThrottled, _), .deferred(.serviceUnavailable, _), .failed:
            .none
        }
    }
}
