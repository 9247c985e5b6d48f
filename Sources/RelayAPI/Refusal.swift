package import PushModel
package import Relay

/// Every answer that is not what was asked for, as the outside sees it. The one place where status, code and headers of
/// a refusal are decided.
package enum Refusal: Error, Sendable, Equatable {
    case badJSON
    case badPlatform
    case badToken
    case badEnvironment
    case badKind
    case badPreview
    case missingCapability
    case unknownCapability
    case tooManyRegistrations(retryAfter: Duration)
    case tooManyPushes(LimitName, retryAfter: Duration)
    case platformUnavailable(Platform)
    case gone
    case phoneThrottled(retryAfter: Duration)
    case upstreamFailed(UpstreamReason, retryAfter: Duration?)
    case notFound
    case methodNotAllowed(allow: String)
    case overloaded
    case shuttingDown
    case internalFault
    case bodyTooLarge
    case badRequest
    case headersTooLarge
    case addressTooLong
    case requestTimeout
    case expectationFailed
    case transferCodingNotImplemented

    /// Which limit a 429 speaks of. Raw values are wire names.
    package enum LimitName: String, Sendable {
        case capability
        case address
        case registrations
    }

    /// The HTTP status.
    package var status: Int {
        switch self {
        case .badJSON, .badPlatform, .badToken, .badEnvironment, .badKind, .badPreview, .badRequest: 400
        case .missingCapability: 401
        case .unknownCapability, .notFound: 404
        case .methodNotAllowed: 405
        case .requestTimeout: 408
        case .gone: 410
        case .bodyTooLarge: 413
        case .addressTooLong: 414
        case .expectationFailed: 417
        case .tooManyRegistrations, .tooManyPushes, .phoneThrottled: 429
        case .headersTooLarge: 431
        case .internalFault: 500
        case .transferCodingNotImplemented: 501
        case .upstreamFailed: 502
        case .platformUnavailable, .overloaded, .shuttingDown: 503
        }
    }

    /// The word in `"error"`.
    package var code: String {
        switch self {
        case .badJSON: "bad_json"
        case .badPlatform: "bad_platform"
        case .badToken: "bad_token"
        case .badEnvironment: "bad_env"
        case .badKind: "bad_kind"
        case .badPreview: "bad_preview"
        case .badRequest: "bad_request"
        case .missingCapability: "missing_capability"
        case .unknownCapability: "unknown_capability"
        case .tooManyRegistrations: "too_many_registrations"
        case .tooManyPushes: "too_many_pushes"
        case .platformUnavailable(.ios): "ios_unavailable"
        case .platformUnavailable(.android): "android_unavailable"
        case .gone: "gone"
        case .phoneThrottled: "phone_throttled"
        case .upstreamFailed: "upstream_failed"
        case .notFound: "not_found"
        case .methodNotAllowed: "method_not_allowed"
        case .overloaded: "overloaded"
        case .shuttingDown: "shutting_down"
        case .internalFault: "internal"
        case .bodyTooLarge: "body_too_large"
        case .headersTooLarge: "headers_too_large"
        case .addressTooLong: "uri_too_long"
        case .requestTimeout: "request_timeout"
        case .expectationFailed: "expectation_failed"
        case .transferCodingNotImplemented: "transfer_coding_not_implemented"
        }
    }

    /// How long to wait before trying again; nil where trying again does not help.
    package var retryAfter: Duration? {
        switch self {
        case .tooManyRegistrations(let wait), .tooManyPushes(_, let wait), .phoneThrottled(let wait): wait
        case .upstreamFailed(_, let wait): wait
        case .overloaded: .seconds(1)
        case .shuttingDown: .seconds(2)
        case .badJSON, .badPlatform, .badToken, .badEnvironment, .badKind, .badPreview, .badRequest,
            .missingCapability, .unknownCapability, .platformUnavailable, .gone, .notFound, .methodNotAllowed,
            .internalFault, .bodyTooLarge, .headersTooLarge, .addressTooLong, .requestTimeout, .expectationFailed,
            .transferCodingNotImplemented:
            nil
        }
    }

    /// Which limit was met, on a 429.
    package var limit: LimitName? {
        switch self {
        case .tooManyRegistrations: .registrations
        case .tooManyPushes(let limit, _): limit
        case .phoneThrottled: .capability
        case .badJSON, .badPlatform, .badToken, .badEnvironment, .badKind, .badPreview, .badRequest,
            .missingCapability, .unknownCapability, .platformUnavailable, .gone, .upstreamFailed, .notFound,
            .methodNotAllowed, .overloaded, .shuttingDown, .internalFault, .bodyTooLarge, .headersTooLarge,
            .addressTooLong, .requestTimeout, .expectationFailed, .transferCodingNotImplemented:
            nil
        }
    }

    /// Whose fault a 502 is.
    package var reason: UpstreamReason? {
        guard case .upstreamFailed(let reason, _) = self else { return nil }
        return reason
    }

    /// The methods that a path has, on a 405.
    package var allow: String? {
        guard case .methodNotAllowed(let allow) = self else { return nil }
        return allow
    }
}
