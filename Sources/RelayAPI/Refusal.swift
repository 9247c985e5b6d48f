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
    case versionNotSupported

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
        case .versionNotSupported: 505
        }
    }

    /// The word in `"error"`, as one of those that there are.
    package var label: RefusalCode {
        switch self {
        case .badJSON: .badJSON
        case .badPlatform: .badPlatform
        case .badToken: .badToken
        case .badEnvironment: .badEnvironment
        case .badKind: .badKind
        case .badPreview: .badPreview
        case .badRequest: .badRequest
        case .missingCapability: .missingCapability
        case .unknownCapability: .unknownCapability
        case .tooManyRegistrations: .tooManyRegistrations
        case .tooManyPushes: .tooManyPushes
        case .platformUnavailable(.ios): .iosUnavailable
        case .platformUnavailable(.android): .androidUnavailable
        case .gone: .gone
        case .phoneThrottled: .phoneThrottled
        case .upstreamFailed: .upstreamFailed
        case .notFound: .notFound
        case .methodNotAllowed: .methodNotAllowed
        case .overloaded: .overloaded
        case .shuttingDown: .shuttingDown
        case .internalFault: .internalFault
        case .bodyTooLarge: .bodyTooLarge
        case .headersTooLarge: .headersTooLarge
        case .addressTooLong: .addressTooLong
        case .requestTimeout: .requestTimeout
        case .expectationFailed: .expectationFailed
        case .transferCodingNotImplemented: .transferCodingNotImplemented
        case .versionNotSupported: .versionNotSupported
        }
    }

    /// The word in `"error"`.
    package var code: String { label.rawValue }

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
            .transferCodingNotImplemented, .versionNotSupported:
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
            .addressTooLong, .requestTimeout, .expectationFailed, .transferCodingNotImplemented, .versionNotSupported:
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
