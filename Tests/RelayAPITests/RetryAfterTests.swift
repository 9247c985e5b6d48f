import HTTP2Client
import HTTPServer
import PushModel
import PushServices
import Relay
import RelayAPI
import Testing

/// Whatever may become of a push: where another try may help the answer says when, in the header as in the body, and
/// where it does not help it says nothing.
@Suite(.timeLimit(.minutes(1)))
struct RetryAfterTests {
    private static let hour = Duration.seconds(3600)

    @Test(arguments: everyAnswerOfApple)
    func `every answer of Apple's`(_ answer: APNsAnswer) throws { try check(answer.outcome) }

    @Test(arguments: everyAnswerOfGoogle)
    func `every answer of Google's`(_ answer: FCMAnswer) throws { try check(answer.outcome) }

    @Test(arguments: everyFailure)
    func `every way to get no answer`(_ failure: HTTP2Failure) throws { try check(failure.outcome) }

    @Test(arguments: [OAuthFailure.unreachable, .unavailable, .malformed, .refused, .clock])
    func `every reason for having no access token`(_ failure: OAuthFailure) throws {
        try check(failure.outcome(retryAfter: .zero))
        try check(failure.outcome(retryAfter: .milliseconds(1)))
    }

    @Test(arguments: BreakerCause.allCases, [0.0, 1])
    func `every service that is left alone`(_ cause: BreakerCause, lot: Double) throws {
        for age in [Duration.zero, Self.hour] { try check(cause.outcome(age: age, lot: lot)) }
    }

    @Test(arguments: [
        PushVerdict.addressLimited(retryAfter: .zero), .capabilityLimited(retryAfter: .zero), .unknownCapability,
        .platformUnavailable(.ios), .platformUnavailable(.android), .overloaded, .gone, .storeFailed,
        // A token that is not believed to be dead, and a phone that came back.
        .upstreamFailed(.credentials, retryAfter: .seconds(300)),
    ])
    func `every verdict that no push service has a part in`(_ verdict: PushVerdict) throws { try check(verdict) }

    private func check(_ outcome: DeliveryOutcome) throws { try check(PushVerdict(outcome)) }

    private func check(_ verdict: PushVerdict) throws {
        guard let refusal = Refusal(verdict) else {
            #expect(verdict == .accepted)
            return
        }
        let answer = Answers.refused(refusal)
        let body = String(decoding: answer.body, as: UTF8.self)
        let field = answer.headers.first { $0.name == "retry-after" }?.value
        guard Self.mayHelp(answer.status, body) else {
            #expect(field == nil && !body.contains("retry_after"), "\(body)")
            return
        }
        let seconds = try #require(field.flatMap { Int($0) }, "\(body)")
        #expect(seconds >= 1)
        #expect(body.hasSuffix(#","retry_after":\#(seconds)}"#), "\(body)")
    }

    /// The contract in other words than the code's: every 429, and every 502 and 503 but for what only another push, or
    /// another relay, could change.
    private static func mayHelp(_ status: Int, _ body: String) -> Bool {
        switch status {
        case 429: true
        case 502: !body.contains(#""reason":"rejected""#)
        case 503: !body.contains("_unavailable\"")
        default: false
        }
    }

    // MARK: All there are. A new case does not compile until it has its place here.

    private static func all<Value>(from first: Value, by successor: @escaping (Value) -> Value?) -> [Value] {
        Array(sequence(first: first, next: successor))
    }

    private static let everyAnswerOfApple = all(from: APNsAnswer.accepted) { answer in
        switch answer {
        case .accepted: .unregistered(since: nil)
        case .unregistered: .badDeviceToken
        case .badDeviceToken: .deviceTokenNotForTopic
        case .deviceTokenNotForTopic: .malformed
        case .malformed: .topicRefused
        case .topicRefused: .idleTimeout
        case .idleTimeout: .expiredProviderToken
        case .expiredProviderToken: .invalidProviderToken
        case .invalidProviderToken: .credentialRefused
        case .credentialRefused: .unrelatedKey
        case .unrelatedKey: .phoneThrottled(retryAfter: nil)
        case .phoneThrottled(nil): .phoneThrottled(retryAfter: .zero)
        case .phoneThrottled: .tooManyProviderTokenUpdates
        case .tooManyProviderTokenUpdates: .internalServerError
        case .internalServerError: .serviceUnavailable(retryAfter: nil)
        case .serviceUnavailable(nil): .serviceUnavailable(retryAfter: .zero)
        case .serviceUnavailable: .shutdown
        case .shutdown: .unknownRefusal
        case .unknownRefusal: .unknownFault
        case .unknownFault: nil
        }
    }

    private static let everyAnswerOfGoogle = all(from: FCMAnswer.accepted) { answer in
        switch answer {
        case .accepted: .unregistered
        case .unregistered: .badRegistrationToken
        case .badRegistrationToken: .malformed
        case .malformed: .ambiguousArgument
        case .ambiguousArgument: .accessTokenRefused
        case .accessTokenRefused: .thirdPartyCredential
        case .thirdPartyCredential: .senderMismatch
        case .senderMismatch: .permissionDenied
        case .permissionDenied: .notFound(isPage: true)
        case .notFound(isPage: true): .notFound(isPage: false)
        case .notFound(isPage: false): .phoneThrottled(retryAfter: nil)
        case .phoneThrottled(nil): .phoneThrottled(retryAfter: .zero)
        case .phoneThrottled: .projectThrottled(isNamed: true, retryAfter: nil)
        case .projectThrottled(true, _): .projectThrottled(isNamed: false, retryAfter: .zero)
        case .projectThrottled: .unavailable(retryAfter: nil)
        case .unavailable(nil): .unavailable(retryAfter: .zero)
        case .unavailable: .redirected
        case .redirected: .unknownRefusal
        case .unknownRefusal: .unknownFault
        case .unknownFault: nil
        }
    }

    private static let everyFailure: [HTTP2Failure] =
        HTTP2Failure.NotSent.allCases.map { .notSent($0) }
        + all(from: HTTP2Failure.UnknownOutcome.timeout) { outcome in
            switch outcome {
            case .timeout: .connectionLost
            case .connectionLost: .connectionDead
            case .connectionDead: .protocolViolation
            case .protocolViolation: .streamReset(code: 0)
            case .streamReset(code: 0): .streamReset(code: 11)
            case .streamReset: .drainExpired
            case .drainExpired: .closing
            case .closing: nil
            }
        }.map { .unknownOutcome($0) }
        // What is told does not depend on why there is no connection.
        + [.unreachable(.connectTimeout), .unreachable(.certificateForAnotherHost), .overloaded]
}
