import Telemetry

/// Every code of a refusal: the words in `"error"`, and the values of the label `code`.
package enum RefusalCode: String, MetricLabelValue {
    case badJSON = "bad_json"
    case badPlatform = "bad_platform"
    case badToken = "bad_token"
    case badEnvironment = "bad_env"
    case badKind = "bad_kind"
    case badPreview = "bad_preview"
    case badRequest = "bad_request"
    case missingCapability = "missing_capability"
    case unknownCapability = "unknown_capability"
    case tooManyRegistrations = "too_many_registrations"
    case tooManyPushes = "too_many_pushes"
    case iosUnavailable = "ios_unavailable"
    case androidUnavailable = "android_unavailable"
    case gone
    case phoneThrottled = "phone_throttled"
    case upstreamFailed = "upstream_failed"
    case notFound = "not_found"
    case methodNotAllowed = "method_not_allowed"
    case overloaded
    case shuttingDown = "shutting_down"
    case internalFault = "internal"
    case bodyTooLarge = "body_too_large"
    case headersTooLarge = "headers_too_large"
    case addressTooLong = "uri_too_long"
    case requestTimeout = "request_timeout"
    case expectationFailed = "expectation_failed"
    case transferCodingNotImplemented = "transfer_coding_not_implemented"
    case versionNotSupported = "http_version_not_supported"

    package var ordinal: Int {
        switch self {
        case .badJSON: 0
        case .badPlatform: 1
        case .badToken: 2
        case .badEnvironment: 3
        case .badKind: 4
        case .badPreview: 5
        case .badRequest: 6
        case .missingCapability: 7
        case .unknownCapability: 8
        case .tooManyRegistrations: 9
        case .tooManyPushes: 10
        case .iosUnavailable: 11
        case .androidUnavailable: 12
        case .gone: 13
        case .phoneThrottled: 14
        case .upstreamFailed: 15
        case .notFound: 16
        case .methodNotAllowed: 17
        case .overloaded: 18
        case .shuttingDown: 19
        case .internalFault: 20
        case .bodyTooLarge: 21
        case .headersTooLarge: 22
        case .addressTooLong: 23
        case .requestTimeout: 24
        case .expectationFailed: 25
        case .transferCodingNotImplemented: 26
        case .versionNotSupported: 27
        }
    }
}
