import HTTP2Client
import PushModel
import PushServices
import Testing

@testable import gryt_push

/// What Apple, Google and the way to them say, row by row.
@Suite(.timeLimit(.minutes(1)))
struct UpstreamJudgementTests {
    private static func apple(
        _ status: Int, _ word: String?, _ environment: APNsJudgement.Environment = .production
    ) -> Judgement {
        let body = Array((word.map { #"{"reason":"\#($0)"}"# } ?? "").utf8)
        let judge = APNsJudgement(
            environment: environment, keyID: "KEY4567890", teamID: "TEAM567890", topic: "chat.gryt.app")
        return judge.judge(
            APNsAnswer(status: status, body: body, at: WallInstant(milliseconds: 0)),
            word: APNsErrorBody.reason(in: body))
    }

    @Test(
        arguments: [
            (400, "BadDeviceToken", .ok, "takes the key", nil), (410, "Unregistered", .ok, "takes the key", nil),
            (410, "ExpiredToken", .ok, "takes the key", nil), (429, "TooManyRequests", .ok, "takes the key", nil),
            (200, nil, .warning, "does not exist was accepted", "APNS_PRODUCTION_ORIGIN"),
            (400, "DeviceTokenNotForTopic", .wrong, "may not push to chat.gryt.app", "APNS_TOPIC"),
            (400, "TopicDisallowed", .wrong, "TopicDisallowed", "APNS_TOPIC"),
            (400, "BadTopic", .wrong, "BadTopic", "bundle id"),
            (400, "MissingTopic", .wrong, "MissingTopic", "APNS_TOPIC"),
            (403, "InvalidProviderToken", .wrong, "InvalidProviderToken", "APNS_KEY_ID (KEY4567890)"),
            (403, "ExpiredProviderToken", .wrong, "older than an hour", "clock"),
            (403, "BadEnvironmentKeyIdInToken", .wrong, "sandbox only", "for production"),
            (403, "BadEnvironmentKeyInToken", .wrong, "sandbox only", "for production"),
            (403, "MissingProviderToken", .wrong, "did not arrive", "in between"),
            (403, "BadCertificate", .wrong, "client certificate", "APNS_PRODUCTION_ORIGIN"),
            (403, "BadCertificateEnvironment", .wrong, "client certificate", "APNS_PRODUCTION_ORIGIN"),
            (403, "Forbidden", .wrong, "may not do this", "enabled"),
            (403, "UnrelatedKeyIdInToken", .wrong, "not related", "new key"),
            (429, "TooManyProviderTokenUpdates", .warning, "nothing about the key", "20 minutes"),
            (400, "BadMessageId", .wrong, "own request", "authors"), (413, nil, .wrong, "own request", "authors"),
            (403, "SomethingNew", .wrong, "SomethingNew", "list"), (404, nil, .wrong, "without a reason", "ORIGIN"),
            (500, "InternalServerError", .warning, "Apple's side", "few minutes"),
            (503, "ServiceUnavailable", .warning, "Apple's side", "few minutes"),
            (503, "Shutdown", .warning, "Apple's side", "few minutes"),
            (400, "IdleTimeout", .warning, "Apple's side", "few minutes"),
            (502, nil, .warning, "Apple's side", "minutes"),
        ] as [(Int, String?, Judgement.Verdict, String, String?)])
    func `every answer of Apple's is judged, and says what to do`(
        status: Int, word: String?, verdict: Judgement.Verdict, seen: String, advice: String?
    ) {
        let judgement = Self.apple(status, word)
        #expect(judgement.verdict == verdict)
        #expect(judgement.seen.contains(seen), "\(judgement.seen)")
        #expect(judgement.advice.map { $0.contains(advice ?? "?") } ?? (advice == nil), "\(judgement.advice ?? "")")
    }

    @Test func `a key that is not for the sandbox is no fault where only production counts`() {
        let judgement = Self.apple(403, "BadEnvironmentKeyIdInToken", .sandbox)
        #expect(judgement.verdict == .warning)
        #expect(judgement.seen.contains("production only"))
    }

    private static let google = GoogleJudgement(projectID: "gryt-1234")

    @Test(
        arguments: [
            (.badRegistrationToken, nil, .ok, "takes the account", nil),
            (.unregistered, nil, .ok, "takes the account", nil),
            (.ambiguousArgument, nil, .ok, "takes the account", nil), (.accepted, nil, .ok, "takes the account", nil),
            (.phoneThrottled(retryAfter: nil), nil, .ok, "takes the account", nil),
            (.permissionDenied, "SERVICE_DISABLED", .wrong, "not enabled", "Firebase console"),
            (.permissionDenied, "IAM_PERMISSION_DENIED", .wrong, "no such project", "role"),
            (.permissionDenied, nil, .wrong, "may not send", "role"),
            (.senderMismatch, nil, .wrong, "SENDER_ID_MISMATCH", "built with"),
            (.notFound(isPage: true), nil, .wrong, "status 418", "FCM_ORIGIN"),
            (.notFound(isPage: false), nil, .wrong, "no project gryt-1234", "project_id"),
            (.accessTokenRefused, nil, .wrong, "has just given", "clock"),
            (.redirected, nil, .wrong, "elsewhere", "ORIGIN"),
            (.malformed, nil, .wrong, "own request", "authors"), (.unknownRefusal, nil, .wrong, "418", "FCM_ORIGIN"),
            (.thirdPartyCredential, nil, .warning, "Apple or the web", "gryt-1234"),
            (.projectThrottled(isNamed: false, retryAfter: nil), nil, .warning, "quota", "console"),
            (.unavailable(retryAfter: nil), nil, .warning, "Google's side", "few minutes"),
            (.unknownFault, nil, .warning, "Google's side", "few minutes"),
        ] as [(FCMAnswer, String?, Judgement.Verdict, String, String?)])
    func `every answer of FCM's is judged, and says what to do`(
        answer: FCMAnswer, info: String?, verdict: Judgement.Verdict, seen: String, advice: String?
    ) {
        let judgement = Self.google.judge(answer, status: 418, info: info)
        #expect(judgement.verdict == verdict)
        #expect(judgement.seen.contains(seen), "\(judgement.seen)")
        #expect(judgement.advice.map { $0.contains(advice ?? "?") } ?? (advice == nil), "\(judgement.advice ?? "")")
    }

    @Test(
        arguments: [
            (.clock, nil, .wrong, "times", "clock"), (.refused, .signature, .wrong, "key", "new one"),
            (.refused, .noAccount, .wrong, "does not know the account", "another service account"),
            (.refused, .disabled, .wrong, "disabled", "enable"), (.refused, .audience, .wrong, "endpoint", "token_uri"),
            (.refused, .scope, .wrong, "scope", "gryt-1234"), (.refused, .client, .wrong, "in (", "gryt-1234"),
            (.refused, .other, .wrong, "refuses the account", "new key"),
            (.refused, nil, .wrong, "refuses the account", "new key"),
            (.malformed, nil, .wrong, "status 418", "token_uri"), (.unreachable, nil, .wrong, "no answer", "between"),
            (.unavailable, nil, .warning, "fault of its own", "few minutes"),
        ] as [(OAuthFailure, OAuthRefusalReason?, Judgement.Verdict, String, String)])
    func `every refusal of the token endpoint's is judged, and says what to do`(
        failure: OAuthFailure, reason: OAuthRefusalReason?, verdict: Judgement.Verdict, seen: String, advice: String
    ) {
        let judgement = Self.google.judge(.failure(failure), status: 418, reason: reason)
        #expect(judgement.verdict == verdict)
        #expect(judgement.seen.contains(seen), "\(judgement.seen)")
        #expect(judgement.advice?.contains(advice) == true, "\(judgement.advice ?? "")")
    }

    @Test(
        arguments: [
            (.nameNotResolved(code: -2), "not resolved", "name server"), (.nameTimeout, "name server", "name server"),
            (.connectFailed(errno: 111), "Connection refused", "firewall"),
            (.connectTimeout, "timed out", "HTTPS_PROXY"),
            (.tlsTimeout, "timed out", "in between"), (.tlsFailed(reason: 0), "handshake failed", "FCM_ORIGIN"),
            (.certificateNotTrusted(code: 20), "not trusted", "UPSTREAM_CA_FILE"),
            (.certificateNotCurrent(code: 10), "not valid now", "clock"),
            (.certificateForAnotherHost, "mismatch", "another name"), (.notHTTP2, "HTTP/2", "unopened"),
            (.settingsTimeout, "HTTP/2", "in between"), (.noAnswer, "answered nothing", "in between"),
            (.goodbyeWithError(code: 1), "error code 1", "authors"),
            (.proxyUnreachable(.connectTimeout), "no way to the proxy", "HTTPS_PROXY"),
            (.proxyTimeout, "did not answer", "CONNECT"), (.proxyHungUp, "ended", "CONNECT"),
            (.proxyAnswerInvalid, "CONNECT", "http://"), (.proxyRefused(status: 407), "407", "password"),
            (.proxyRefused(status: 403), "403", "NO_PROXY"), (.proxyRefused(status: 502), "502", "proxy's log"),
            (.backingOff(after: .notHTTP2), "after", "unopened"),
        ] as [(Unreachable, String, String)])
    func `every reason for no connection is wrong, and says what to do`(
        reason: Unreachable, seen: String, advice: String
    ) {
        let judgement = ConnectionJudgement.judge(reason, ConnectionJudgement.Way(proxy: nil, setting: "FCM_ORIGIN"))
        #expect(judgement.verdict == .wrong)
        #expect(judgement.seen.contains(seen), "\(judgement.seen)")
        #expect(judgement.advice?.contains(advice) == true, "\(judgement.advice ?? "")")
    }

    // MARK: The clock

    /// An answer dated so many milliseconds behind our clock, which stood still meanwhile.
    private static func reading(ahead: Int64, tookMilliseconds: Int64 = 0) -> ClockJudgement.Reading {
        let now: Int64 = 1_790_000_000_500
        return ClockJudgement.Reading(
            theirs: WallInstant(milliseconds: now - 500 - ahead),
            asked: WallInstant(milliseconds: now - tookMilliseconds / 2),
            answered: WallInstant(milliseconds: now + tookMilliseconds / 2))
    }

    @Test(
        arguments: [
            ([0], .ok, "within 1 s"), ([30_000], .ok, "within 30 s"), ([31_000], .warning, "31 s ahead of"),
            ([-31_000], .warning, "31 s behind"), ([240_000], .warning, "240 s"), ([241_000], .wrong, "241 s ahead of"),
            ([-4_000_000], .wrong, "4000 s behind"), ([400_000, 61_000], .warning, "61 s"), ([], .skipped, "no answer"),
        ] as [([Int64], Judgement.Verdict, String)])
    func `the clock is judged by the nearest of the dates`(
        ahead: [Int64], verdict: Judgement.Verdict, seen: String
    ) {
        let judgement = ClockJudgement.judge(ahead.map { Self.reading(ahead: $0) })
        #expect(judgement.verdict == verdict)
        #expect(judgement.seen.contains(seen), "\(judgement.seen)")
        #expect((judgement.advice != nil) == (verdict == .warning || verdict == .wrong))
    }

    @Test func `an answer that took long says no more than it knows`() {
        #expect(Self.reading(ahead: 2000, tookMilliseconds: 6000).skew == 2000)
    }
}
