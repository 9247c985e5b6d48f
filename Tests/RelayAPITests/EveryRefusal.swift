import PushModel
import Relay
import RelayAPI

extension Refusal {
    /// At least one refusal of each case, each with and without what it may carry.
    static var ofEveryCase: [Refusal] {
        var refusals: [Refusal] = []
        var next: Refusal? = .badJSON
        while let refusal = next {
            refusals.append(refusal)
            next = successor(of: refusal)
        }
        return refusals
    }

    /// Goes through the cases in their order. A new case does not compile until it has its place here.
    private static func successor(of refusal: Refusal) -> Refusal? {
        switch refusal {
        case .badJSON: .badPlatform
        case .badPlatform: .badToken
        case .badToken: .badEnvironment
        case .badEnvironment: .badKind
        case .badKind: .badPreview
        case .badPreview: .missingCapability
        case .missingCapability: .unknownCapability
        case .unknownCapability: .tooManyRegistrations(retryAfter: .seconds(1))
        case .tooManyRegistrations: .tooManyPushes(.address, retryAfter: .seconds(1))
        case .tooManyPushes: .platformUnavailable(.ios)
        case .platformUnavailable(.ios): .platformUnavailable(.android)
        case .platformUnavailable(.android): .gone
        case .gone: .phoneThrottled(retryAfter: .seconds(1))
        case .phoneThrottled: .upstreamFailed(.timeout, retryAfter: .seconds(1))
        case .upstreamFailed(_, .some): .upstreamFailed(.rejected, retryAfter: nil)
        case .upstreamFailed(_, nil): .notFound
        case .notFound: .methodNotAllowed(allow: "POST")
        case .methodNotAllowed: .overloaded
        case .overloaded: .shuttingDown
        case .shuttingDown: .internalFault
        case .internalFault: .bodyTooLarge
        case .bodyTooLarge: .badRequest
        case .badRequest: .headersTooLarge
        case .headersTooLarge: .addressTooLong
        case .addressTooLong: .requestTimeout
        case .requestTimeout: .expectationFailed
        case .expectationFailed: .transferCodingNotImplemented
        case .transferCodingNotImplemented: .versionNotSupported
        case .versionNotSupported: nil
        }
    }

    /// Those, with every reason and limit that they may carry.
    static var everyOne: [Refusal] {
        ofEveryCase.flatMap { refusal -> [Refusal] in
            switch refusal {
            case .upstreamFailed(_, let wait): UpstreamReason.allCases.map { .upstreamFailed($0, retryAfter: wait) }
            case .tooManyPushes(_, let wait): [.capability, .address].map { .tooManyPushes($0, retryAfter: wait) }
            case .methodNotAllowed: PublicPath.allCases.map { .methodNotAllowed(allow: $0.methods) }
            default: [refusal]
            }
        }
    }
}
