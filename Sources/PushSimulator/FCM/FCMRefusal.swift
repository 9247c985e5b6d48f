/// Every refusal that FCM was seen or is documented to give, in its shape on the wire.
package enum FCMRefusal: String, Sendable, CaseIterable {
    // 404
    case unregistered
    /// The same words without a detail.
    case bareNotFound = "bare-not-found"
    case notFoundPage = "not-found-page"
    /// UNREGISTERED, cut in the middle.
    case truncatedUnregistered = "truncated-unregistered"

    // 400
    /// FcmError and a text that names the registration token.
    case badTokenText = "bad-token-text"
    /// FcmError and a violation of `message.token`.
    case badTokenField = "bad-token-field"
    /// A violation of `message.token`, without FcmError.
    case badTokenFieldOnly = "bad-token-field-only"
    /// "Request contains an invalid argument." and FcmError, which may mean anything.
    case invalidArgument = "invalid-argument"
    case badDataValue = "bad-data-value"
    case unknownName = "unknown-name"
    case tooBig = "too-big"
    case reservedKey = "reserved-key"
    /// Violations of `message.token` and of another field.
    case tokenAndOtherField = "token-and-other-field"
    case badRequestPage = "bad-request-page"

    // 401
    case tokenExpired = "token-expired"
    case tokenUnknown = "token-unknown"
    case tokenMissing = "token-missing"
    case thirdPartyAuth = "third-party-auth"
    case unauthorizedPage = "unauthorized-page"

    // 403
    case senderIDMismatch = "sender-id-mismatch"
    /// The project is not the service account's, or does not exist.
    case projectDenied = "project-denied"
    /// The service account lacks the role, in the older words.
    case callerDenied = "caller-denied"
    case serviceDisabled = "service-disabled"
    case forbiddenPage = "forbidden-page"

    // 429
    case projectQuota = "project-quota"
    case deviceQuota = "device-quota"
    case topicQuota = "topic-quota"
    /// Without a word about whose quota it is.
    case bareQuota = "bare-quota"

    // 5xx
    case `internal`
    case emptyInternal = "empty-internal"
    case badGatewayPage = "bad-gateway-page"
    case unavailable
    case unavailablePage = "unavailable-page"
    case gatewayTimeoutPage = "gateway-timeout-page"
    case unspecified

    /// The HTTP status.
    package var status: Int {
        switch self {
        case .unregistered, .bareNotFound, .notFoundPage, .truncatedUnregistered: 404
        case .badTokenText, .badTokenField, .badTokenFieldOnly, .invalidArgument, .badDataValue, .unknownName, .tooBig,
            .reservedKey, .tokenAndOtherField, .badRequestPage:
            400
        case .tokenExpired, .tokenUnknown, .tokenMissing, .thirdPartyAuth, .unauthorizedPage: 401
        case .senderIDMismatch, .projectDenied, .callerDenied, .serviceDisabled, .forbiddenPage: 403
        case .projectQuota, .deviceQuota, .topicQuota, .bareQuota: 429
        case .internal, .emptyInternal, .unspecified: 500
        case .badGatewayPage: 502
        case .unavailable, .unavailablePage: 503
        case .gatewayTimeoutPage: 504
        }
    }

    /// The refusal as Google's error object; nil where it is a page or nothing.
    var error: GoogleError? {
        let token = FieldViolation(field: "message.token", description: "Invalid registration token")
        let data = FieldViolation(
            field: "message.data[0].value",
            description: "Invalid value at 'message.data[0].value' (TYPE_STRING), 1")
        let argument = "Request contains an invalid argument."
        func google(
            _ message: String, _ errorCode: String? = nil, violations: [FieldViolation]? = nil, info: String? = nil,
            quota: String? = nil
        ) -> GoogleError {
            GoogleError(
                code: status, message: message, status: GoogleError.status(of: status), errorCode: errorCode,
                violations: violations, infoReason: info, quotaSubject: quota)
        }
        switch self {
        case .unregistered, .truncatedUnregistered: return .unregistered
        case .bareNotFound: return google("Requested entity was not found.")
        case .badTokenText:
            return google("The registration token is not a valid FCM registration token", "INVALID_ARGUMENT")
        case .badTokenField: return google(argument, "INVALID_ARGUMENT", violations: [token])
        case .badTokenFieldOnly: return google(argument, violations: [token])
        case .invalidArgument: return google(argument, "INVALID_ARGUMENT")
        case .badDataValue: return .badRequest([data])
        case .unknownName:
            let text = "Invalid JSON payload received. Unknown name \"colour\" at 'message': Cannot find field."
            return .badRequest([FieldViolation(field: "message", description: text)])
        case .tooBig: return .invalidArgument("Android message is too big", field: nil)
        case .reservedKey: return .invalidArgument("Invalid data payload key: from", field: "message.data")
        case .tokenAndOtherField: return google(argument, "INVALID_ARGUMENT", violations: [token, data])
        case .tokenExpired: return .unauthenticated("ACCESS_TOKEN_EXPIRED")
        case .tokenUnknown: return .unauthenticated("ACCESS_TOKEN_TYPE_UNSUPPORTED")
        case .tokenMissing: return .unauthenticated("CREDENTIALS_MISSING")
        case .thirdPartyAuth: return google("Auth error from APNS or Web Push Service", "THIRD_PARTY_AUTH_ERROR")
        case .senderIDMismatch: return google("SenderId mismatch", "SENDER_ID_MISMATCH")
        case .projectDenied: return .permissionDenied(project: "another-project")
        case .callerDenied: return google("The caller does not have permission")
        case .serviceDisabled:
            return google(
                "Firebase Cloud Messaging API has not been used in project 100000000001 before or it is disabled.",
                info: "SERVICE_DISABLED")
        case .projectQuota:
            return google(
                "Quota exceeded for quota metric 'Send requests' and limit 'Send requests per minute'",
                "QUOTA_EXCEEDED", quota: "project:gryt-simulated")
        case .deviceQuota: return google("Device message rate exceeded", "QUOTA_EXCEEDED", quota: "device")
        case .topicQuota: return google("Topic quota exceeded.", "QUOTA_EXCEEDED")
        case .bareQuota: return google("Resource has been exhausted (e.g. check quota).")
        case .internal: return google("Internal error encountered.", "INTERNAL")
        case .unavailable: return google("The service is currently unavailable.", "UNAVAILABLE")
        case .unspecified: return google("Unknown error.", "UNSPECIFIED_ERROR")
        case .notFoundPage, .badRequestPage, .unauthorizedPage, .forbiddenPage, .emptyInternal, .badGatewayPage,
            .unavailablePage, .gatewayTimeoutPage:
            return nil
        }
    }

    /// The whole answer.
    package func answer(details: FCMDetails = .usual, retryAfter: String? = nil) -> SimulatedAnswer {
        var answer: SimulatedAnswer
        if let error {
            let text = error.json(details).text
            let body = self == .truncatedUnregistered ? String(text.prefix(text.count - 20)) : text
            answer = SimulatedAnswer(
                status: status, headers: [HeaderField("content-type", "application/json; charset=UTF-8")], body: body)
        } else {
            answer = GooglePage.answer(status: status, isEmpty: self == .emptyInternal)
        }
        if let retryAfter { answer.headers.append(HeaderField("retry-after", retryAfter)) }
        return answer
    }
}

/// How the `details` of Google's error object are written, which no client may rely on.
package enum FCMDetails: String, Sendable, CaseIterable {
    /// FcmError first.
    case usual
    /// None at all.
    case missing
    /// FcmError last.
    case reordered
    /// Types that nobody knows before and after.
    case extra
    /// `error_code` in place of `errorCode`.
    case snakeCase = "snake-case"
    /// Members of wrong types.
    case odd
}

/// The pages for people that stand before Google's services.
enum GooglePage {
    /// A page, or an answer of nothing.
    static func answer(status: Int, isEmpty: Bool = false) -> SimulatedAnswer {
        guard !isEmpty else { return SimulatedAnswer(status: status) }
        let title =
            switch status {
            case 404: "Error 404 (Not Found)!!1"
            case 400: "Error 400 (Bad Request)!!1"
            case 401: "Error 401 (Unauthorized)!!1"
            case 403: "Error 403 (Forbidden)!!1"
            default: "Error \(status) (Server Error)!!1"
            }
        return SimulatedAnswer(
            status: status, headers: [HeaderField("content-type", "text/html; charset=UTF-8")],
            body: """
                <!DOCTYPE html>
                <html lang=en><title>\(title)</title>
                <p><b>\(status).</b> <ins>That’s an error.</ins> <p>That’s all we know.
                """)
    }
}

extension Fault {
    /// A refusal of FCM's, exactly as Google writes it.
    package static func fcm(
        _ refusal: FCMRefusal, details: FCMDetails = .usual, retryAfter: String? = nil, delivers: Bool = false,
        times: Int? = nil, skips: Int = 0
    ) -> Fault {
        var fault = Fault(
            .answer(refusal.answer(details: details, retryAfter: retryAfter)), delivers: delivers, times: times,
            skips: skips)
        fault.filedUnder = refusal.error?.reason
        return fault
    }
}
