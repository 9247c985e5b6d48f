package import PushModel

/// What an answer of FCM means. Made of status, body and `Retry-After`. Google: "FCM error codes".
///
/// Only an answer in Google's own JSON that speaks of the registration token ends a registration. A bare 404, in JSON or
/// HTML, is what a wrong project or a retired address gives, and never does.
package enum FCMAnswer: ServiceAnswer, Equatable {
    /// 200, whatever its body.
    case accepted
    /// FCM says UNREGISTERED.
    case unregistered
    /// FCM says that the registration token is none.
    case badRegistrationToken
    /// We built a bad request, or one that is too big.
    case malformed
    /// An invalid argument that is not named.
    case ambiguousArgument
    /// The access token is not taken.
    case accessTokenRefused
    /// Firebase's own credentials for another service are refused.
    case thirdPartyCredential
    /// The token belongs to another Firebase project than the account, or the account to another than the app.
    case senderMismatch
    /// The account may not send, or the project is not there.
    case permissionDenied
    /// No such address or project. As a page it is about the address, which is the same for every phone; in Google's JSON
    /// it may be about one.
    case notFound(isPage: Bool)
    /// This one phone gets too much.
    case phoneThrottled(retryAfter: Duration?)
    /// The whole project sends too much; `isNamed`: Google says so, and has not merely named no device.
    case projectThrottled(isNamed: Bool, retryAfter: Duration?)
    /// A fault of Google's. The push may have been delivered all the same.
    case unavailable(retryAfter: Duration?)
    /// A redirection, which is never followed with an access token in hand.
    case redirected
    /// Another 4xx.
    case unknownRefusal
    /// None of these.
    case unknownFault

    /// Interprets an answer. `now` turns a `Retry-After` date into a wait.
    package init(status: Int, body: [UInt8], retryAfter field: String? = nil, at now: WallInstant) {
        if status == 200 {
            self = .accepted
            return
        }
        let wait = RetryAfter.duration(field, at: now)
        let body = FCMErrorBody(body)
        switch status {
        case 400: self = Self.badRequest(body)
        case 401: self = body?.errorCode == "THIRD_PARTY_AUTH_ERROR" ? .thirdPartyCredential : .accessTokenRefused
        case 403: self = body?.errorCode == "SENDER_ID_MISMATCH" ? .senderMismatch : .permissionDenied
        case 404: self = body?.errorCode == "UNREGISTERED" ? .unregistered : .notFound(isPage: body == nil)
        case 429:
            self =
                body?.namesDeviceQuota == true
                ? .phoneThrottled(retryAfter: wait)
                : .projectThrottled(isNamed: body?.namesProjectQuota == true, retryAfter: wait)
        case 500...599: self = .unavailable(retryAfter: wait)
        case 300...399: self = .redirected
        case 400...499: self = .unknownRefusal
        default: self = .unknownFault
        }
    }

    private static func badRequest(_ body: FCMErrorBody?) -> FCMAnswer {
        guard let body else { return .unknownRefusal }
        if body.errorCode == "UNREGISTERED" { return .unregistered }
        if !body.violatedFields.isEmpty {
            let onlyTheToken = body.violatedFields.allSatisfy { $0 == "message.token" || $0 == "message.fid" }
            return onlyTheToken ? .badRegistrationToken : .malformed
        }
        let message = body.message?.lowercased() ?? ""
        if message.contains("registration token"), message.contains("not a valid") || message.contains("invalid") {
            return .badRegistrationToken
        }
        if message.contains("too big") || message.contains("invalid value at") || message.contains("unknown name") {
            return .malformed
        }
        return .ambiguousArgument
    }

    package var outcome: DeliveryOutcome {
        switch self {
        case .accepted: .accepted
        case .unregistered: .unregistered(.stated(since: nil))
        case .badRegistrationToken: .unregistered(.inferred)
        case .malformed, .ambiguousArgument: .rejected(.malformed)
        case .thirdPartyCredential, .permissionDenied, .notFound, .redirected:
            .deferred(.credentials, retryAfter: DeliveryOutcome.mendingTime)
        case .senderMismatch: .rejected(.foreignDevice)
        case .unknownRefusal: .rejected(.unknown)
        case .accessTokenRefused: .deferred(.credentials, retryAfter: .seconds(60))
        case .phoneThrottled(let wait): .deferred(.phoneThrottled, retryAfter: wait ?? .seconds(60))
        case .projectThrottled(_, let wait): .deferred(.serviceThrottled, retryAfter: wait ?? .seconds(60))
        case .unavailable(let wait): .deferred(.serviceUnavailable, retryAfter: max(wait ?? .zero, .seconds(10)))
        case .unknownFault: .deferred(.serviceUnavailable, retryAfter: .seconds(10))
        }
    }

    package var retry: RetryAdvice {
        switch self {
        case .accessTokenRefused: .onceWithNewCredential
        case .accepted, .unregistered, .badRegistrationToken, .malformed, .ambiguousArgument, .thirdPartyCredential,
            .senderMismatch, .permissionDenied, .notFound, .phoneThrottled, .projectThrottled, .unavailable,
            .redirected, .unknownRefusal, .unknownFault:
            .never
        }
    }

    package var health: Health {
        switch self {
        // Neither is about our account.
        case .thirdPartyCredential, .notFound(isPage: false): .answering
        default: outcome.health
        }
    }

    package var alarm: Alarm {
        switch self {
        case .accepted: .none
        case .unregistered, .badRegistrationToken, .ambiguousArgument, .phoneThrottled, .projectThrottled, .unavailable,
            .unknownFault:
            .count
        case .malformed, .accessTokenRefused, .thirdPartyCredential, .senderMismatch, .permissionDenied, .notFound,
            .redirected, .unknownRefusal:
            .page
        }
    }

    package var reason: AnswerReason {
        switch self {
        case .accepted: .accepted
        case .unregistered: .unregistered
        case .badRegistrationToken: .badRegistrationToken
        case .malformed: .malformed
        case .ambiguousArgument: .ambiguousArgument
        case .accessTokenRefused: .accessTokenRefused
        case .thirdPartyCredential: .thirdPartyCredential
        case .senderMismatch: .senderMismatch
        case .permissionDenied: .permissionDenied
        case .notFound: .notFound
        case .phoneThrottled: .phoneThrottled
        case .projectThrottled: .projectThrottled
        case .unavailable: .serviceUnavailable
        case .redirected: .redirected
        case .unknownRefusal, .unknownFault: .other
        }
    }

    package var label: String {
        switch self {
        case .accepted: "accepted"
        case .unregistered: "unregistered"
        case .badRegistrationToken: "bad_registration_token"
        case .malformed: "malformed"
        case .ambiguousArgument: "ambiguous_argument"
        case .accessTokenRefused: "access_token_refused"
        case .thirdPartyCredential: "third_party_credential"
        case .senderMismatch: "sender_id_mismatch"
        case .permissionDenied: "permission_denied"
        case .notFound: "not_found"
        case .phoneThrottled: "phone_throttled"
        case .projectThrottled: "project_throttled"
        case .unavailable: "unavailable"
        case .redirected: "redirected"
        case .unknownRefusal: "unknown_refusal"
        case .unknownFault: "unknown_fault"
        }
    }
}
