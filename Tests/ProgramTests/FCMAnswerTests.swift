import GrytPushPreview
import PushSimulator
import Testing

/// What Google answers, what the server is told then, and what is left of the phone.
///
/// One after the other, for refusals of ours in a row, of several phones, would be taken for what they look like.
@Suite(.stage(), .serialized, .timeLimit(.minutes(3)))
struct FCMAnswerTests {
    private typealias Case = PushServiceCase

    private static func refuse(_ status: Int, _ reason: String, retryAfter: String? = nil) -> Fault.Action {
        .refuse(status: status, reason: reason, retryAfter: retryAfter)
    }

    /// An error of Google's with one detail.
    private static func error(
        _ status: Int, _ word: String, message: String = "Simulated.", detail: String? = nil,
        headers: [HeaderField] = []
    ) -> Fault.Action {
        let details = detail.map { ",\"details\":[\($0)]" } ?? ""
        return .answer(
            SimulatedAnswer(
                status: status, headers: [HeaderField("content-type", "application/json; charset=UTF-8")] + headers,
                body: #"{"error":{"code":\#(status),"message":"\#(message)","status":"\#(word)"\#(details)}}"#))
    }

    private static func violation(_ field: String) -> String {
        #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"\#(field)"}]}"#
    }

    private static let deviceQuota = """
        {"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"subject":"device:x"}]}
        """

    private static let notAToken = "The registration token is not a valid FCM registration token"

    static let aboutThePhone: [PushServiceCase] = [
        .init("UNREGISTERED", refuse(404, "UNREGISTERED"), gives: Case.gone, isKept: false),
        .init(
            "INVALID_ARGUMENT of the token",
            error(400, "INVALID_ARGUMENT", message: notAToken, detail: violation("message.token")), gives: Case.gone,
            isKept: false),
        .init(
            "INVALID_ARGUMENT of the token, in words only", error(400, "INVALID_ARGUMENT", message: notAToken),
            gives: Case.gone, isKept: false),
        .init(
            "a quota of the phone's", error(429, "RESOURCE_EXHAUSTED", detail: deviceQuota),
            gives: "429 phone_throttled", wait: Case.some),
        .init(
            "a quota of the phone's, with a wait",
            error(
                429, "RESOURCE_EXHAUSTED", detail: deviceQuota, headers: [HeaderField("retry-after", "9")]),
            gives: "429 phone_throttled", wait: 9...9),
    ]

    static let aboutUs: [PushServiceCase] = [
        .init("404 with a page", Case.page(404), gives: "502 upstream_failed credentials", wait: 300...300),
        .init(
            "404 without a detail", error(404, "NOT_FOUND"), gives: "502 upstream_failed credentials", wait: 300...300),
        .init(
            "SENDER_ID_MISMATCH", refuse(403, "SENDER_ID_MISMATCH"), gives: "502 upstream_failed rejected",
            isAskedAgain: false),
        .init(
            "PERMISSION_DENIED", error(403, "PERMISSION_DENIED"), gives: "502 upstream_failed credentials",
            wait: 300...300),
        .init("403 with a page", Case.page(403), gives: "502 upstream_failed credentials", wait: 300...300),
        .init(
            "THIRD_PARTY_AUTH_ERROR", refuse(401, "THIRD_PARTY_AUTH_ERROR"), gives: "502 upstream_failed credentials",
            wait: 300...300),
        .init("401 once", error(401, "UNAUTHENTICATED"), times: 1, gives: "202", attempts: 2),
        .init(
            "401 for ever", error(401, "UNAUTHENTICATED"), gives: "502 upstream_failed credentials", wait: Case.some,
            attempts: 2),
        .init(
            "INVALID_ARGUMENT of the payload",
            error(400, "INVALID_ARGUMENT", detail: violation("message.android.notification.sound")),
            gives: "502 upstream_failed rejected"),
        .init(
            "INVALID_ARGUMENT of the token and the payload",
            error(
                400, "INVALID_ARGUMENT", detail: violation("message.token") + "," + violation("message.data")),
            gives: "502 upstream_failed rejected"),
        .init("INVALID_ARGUMENT of nothing", refuse(400, "INVALID_ARGUMENT"), gives: "502 upstream_failed rejected"),
        .init("400 with a page", Case.page(400), gives: "502 upstream_failed rejected"),
        .init(
            "a redirection",
            .answer(SimulatedAnswer(status: 302, headers: [HeaderField("location", "https://localhost/")])),
            gives: "502 upstream_failed credentials", wait: 300...300),
    ]

    static let aboutGoogle: [PushServiceCase] = [
        .init(
            "QUOTA_EXCEEDED with a wait", refuse(429, "QUOTA_EXCEEDED", retryAfter: "30"),
            gives: "502 upstream_failed provider_throttled", wait: 30...30),
        .init(
            "QUOTA_EXCEEDED", refuse(429, "QUOTA_EXCEEDED"), gives: "502 upstream_failed provider_throttled",
            wait: Case.some),
        .init(
            "QUOTA_EXCEEDED with a wait of years", refuse(429, "QUOTA_EXCEEDED", retryAfter: "99999999999999999999"),
            gives: "502 upstream_failed provider_throttled", wait: Case.some),
        .init(
            "QUOTA_EXCEEDED with a wait until long ago",
            refuse(429, "QUOTA_EXCEEDED", retryAfter: "Sun, 06 Nov 1994 08:49:37 GMT"),
            gives: "502 upstream_failed provider_throttled", wait: 0...60),
        .init(
            "QUOTA_EXCEEDED with a wait that is none", refuse(429, "QUOTA_EXCEEDED", retryAfter: "-soon-"),
            gives: "502 upstream_failed provider_throttled", wait: Case.some),
        .init(
            "INTERNAL", refuse(500, "INTERNAL"), gives: "502 upstream_failed provider_unavailable", wait: 10...86_400),
        .init(
            "UNAVAILABLE", refuse(503, "UNAVAILABLE", retryAfter: "44"),
            gives: "502 upstream_failed provider_unavailable", wait: 44...44),
        .init("502 with a page", Case.page(502), gives: "502 upstream_failed provider_unavailable", wait: Case.some),
        .init("503 with a page", Case.page(503), gives: "502 upstream_failed provider_unavailable", wait: 10...86_400),
        .init(
            "UNAVAILABLE with a hasty wait", refuse(503, "UNAVAILABLE", retryAfter: "1"),
            gives: "502 upstream_failed provider_unavailable", wait: 10...10),
        .init("a reset once", .reset(2), times: 1, gives: "202", attempts: 2),
        .init("a reset", .reset(2), gives: "502 upstream_failed unreachable", wait: Case.some, attempts: 2),
        .init("ENHANCE_YOUR_CALM", .reset(11), gives: "502 upstream_failed unreachable", wait: Case.some),
        .init(
            "REFUSED_STREAM for ever", .reset(7), gives: "502 upstream_failed unreachable", wait: Case.some,
            attempts: 3),
        .init("REFUSED_STREAM once", .reset(7), times: 1, gives: "202", attempts: 2),
        .init("200 without a body", Case.json(200, ""), gives: "202"),
        .init("200 with half a body", Case.json(200, #"{"name":"proj"#), gives: "202"),
        .init("200 with a page", Case.page(200), gives: "202"),
    ]

    @Test(arguments: aboutThePhone + aboutUs)
    func `an answer is told to the server, and only a dead phone is forgotten`(it: PushServiceCase) async throws {
        try await it.play(.android)
    }

    @Test(arguments: aboutGoogle)
    func `a fault of Google's is told with a wait, and the phone is kept`(it: PushServiceCase) async throws {
        try await it.play(.android)
    }

    @Test func `a phone that died is forgotten with all its capabilities, and no other`() async throws {
        let stage = try Stage.current
        let (phone, first) = try await stage.newPhone(.android)
        let second = try await stage.relay.register(phone, opens: true)
        let (_, other) = try await stage.newPhone(.android)
        stage.simulator.declareDead(phone.token, platform: .android)
        #expect(try await stage.relay.push(first).summary == "410 gone")
        #expect(try await stage.relay.push(second).summary == "404 unknown_capability")
        #expect(try await stage.relay.push(other).status == 202)
    }

    @Test func `a refusal that names nothing ends no registration, however often, of whatever push`() async throws {
        let stage = try Stage.current
        let (_, other) = try await stage.newPhone(.android)
        let (phone, capability) = try await stage.newPhone(.android)
        stage.force(
            Fault(Self.error(400, "INVALID_ARGUMENT", message: "Request contains an invalid argument.")), on: phone)
        for kind in ["message", "dm", "mention"] {
            for preview in [nil, phone.seal(.init(title: "t", body: kind), tag: tag(of: capability))] {
                let answer = try await stage.relay.push(capability, kind: kind, preview: preview)
                #expect(answer.summary == "502 upstream_failed rejected" && answer.retryAfter == nil)
                #expect(try await stage.relay.push(other).status == 202)
            }
        }
        stage.simulator.clearFaults(of: phone.token, platform: .android)
        #expect(try await stage.relay.push(capability).status == 202)
    }

    @Test func `a 16 MB answer is cut off, and a success stays one`() async throws {
        let stage = try Stage.current
        let (phone, capability) = try await stage.newPhone(.android)
        let body = String(repeating: "x", count: 16 << 20)
        stage.force(Fault(Case.json(200, body), times: 1), on: phone)
        #expect(try await stage.relay.push(capability).summary == "202")
        stage.force(Fault(Case.json(404, body), times: 1), on: phone)
        #expect(try await stage.relay.push(capability).summary == "502 upstream_failed credentials")
        #expect(try await stage.relay.push(capability).status == 202)
    }
}
