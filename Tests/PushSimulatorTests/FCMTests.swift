import PushSimulator
import Testing

/// One way to break a message, and what Google says to it.
struct FCMRow: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// `TOKEN` stands for a fresh registration token.
    var body: String
    /// The field of each violation; nil is no `BadRequest` at all.
    var fields: [String]?
    /// Part of the message.
    var says: String
    /// Whether FCM's own errorCode INVALID_ARGUMENT is there.
    var isOfFCM: Bool

    init(_ testDescription: String, _ body: String, fields: [String]?, says: String, isOfFCM: Bool = false) {
        self.testDescription = testDescription
        self.body = body
        self.fields = fields
        self.says = says
        self.isOfFCM = isOfFCM
    }
}

@Suite(.timeLimit(.minutes(1)))
struct FCMTests {
    static let whole = """
        {"message":{"token":"TOKEN","notification":{"title":"Gryt","body":"New message"},"android":{"priority":"high",\
        "notification":{"channel_id":"messages","sound":"default","tag":"t1"}},"data":{"c":"0123456789abcdef"}}}
        """

    static let rows: [FCMRow] = [
        FCMRow("no JSON", "{", fields: [""], says: "Invalid JSON payload received."),
        FCMRow("a list", "[]", fields: [""], says: "Invalid JSON payload received."),
        FCMRow("no message", "{}", fields: ["message"], says: "invalid argument", isOfFCM: true),
        FCMRow(
            "an unknown name at the top", #"{"msg":{},"message":{"token":"TOKEN"}}"#, fields: [""],
            says: #"Invalid JSON payload received. Unknown name "msg": Cannot find field."#),
        FCMRow(
            "an unknown name in the message", #"{"message":{"token":"TOKEN","colour":"x"}}"#, fields: ["message"],
            says: #"Unknown name "colour" at 'message': Cannot find field."#),
        FCMRow(
            "an unknown name in android.notification",
            #"{"message":{"token":"TOKEN","android":{"notification":{"channel":"x"}}}}"#,
            fields: ["message.android.notification"],
            says: #"Unknown name "channel" at 'message.android.notification': Cannot find field."#),
        FCMRow(
            "two faults", #"{"message":{"token":"TOKEN","data":{"a":"x","b":1,"c":true}}}"#,
            fields: ["message.data[1].value", "message.data[2].value"],
            says: "Invalid value at 'message.data[1].value' (TYPE_STRING), 1"),
        FCMRow(
            "an object as data", #"{"message":{"token":"TOKEN","data":{"a":{}}}}"#, fields: ["message.data[0].value"],
            says: "Invalid value at 'message.data[0].value' (TYPE_STRING), {}"),
        FCMRow(
            "a priority that is none", #"{"message":{"token":"TOKEN","android":{"priority":"urgent"}}}"#,
            fields: ["message.android.priority"], says: "Invalid value at 'message.android.priority'"),
        FCMRow(
            "a title that is a number", #"{"message":{"token":"TOKEN","notification":{"title":7}}}"#,
            fields: ["message.notification.title"],
            says: "Invalid value at 'message.notification.title' (TYPE_STRING), 7"),
        FCMRow(
            "a ttl without unit", #"{"message":{"token":"TOKEN","android":{"ttl":"3"}}}"#,
            fields: ["message.android.ttl"], says: "google.protobuf.Duration"),
        FCMRow(
            "a ttl of more than four weeks", #"{"message":{"token":"TOKEN","android":{"ttl":"2419201s"}}}"#,
            fields: ["message.android.ttl"], says: "time to live", isOfFCM: true),
        FCMRow(
            "no target", #"{"message":{"data":{"c":"x"}}}"#, fields: ["message"],
            says: "Recipient of the message is not set.", isOfFCM: true),
        FCMRow(
            "two targets", #"{"message":{"token":"TOKEN","topic":"news"}}"#, fields: ["message"],
            says: "oneof field 'target' is already set. Cannot set 'topic'"),
        FCMRow(
            "the reserved key from", #"{"message":{"token":"TOKEN","data":{"from":"x"}}}"#, fields: ["message.data"],
            says: "Invalid data payload key: from", isOfFCM: true),
        FCMRow(
            "a key that begins with google", #"{"message":{"token":"TOKEN","data":{"google.x":"x"}}}"#,
            fields: ["message.data"], says: "Invalid data payload key: google.x", isOfFCM: true),
        FCMRow(
            "a token of bad form", #"{"message":{"token":"not a token, and long enough to be one"}}"#,
            fields: ["message.token"], says: "The registration token is not a valid FCM registration token",
            isOfFCM: true),
        FCMRow(
            "a token of 31 characters", #"{"message":{"token":"0123456789012345678901234567890"}}"#,
            fields: ["message.token"], says: "registration token", isOfFCM: true),
        FCMRow(
            "4097 bytes", FCMTests.dataOnly(bytes: 4097), fields: [], says: "Android message is too big",
            isOfFCM: true),
    ]

    /// A message whose one key and value have so many bytes.
    static func dataOnly(bytes: Int) -> String {
        #"{"message":{"token":"TOKEN","data":{"p":""# + String(repeating: "x", count: bytes - 1) + #""}}}"#
    }

    private static func body(_ template: String, _ token: String) -> String {
        let parts = template.split(separator: "TOKEN", omittingEmptySubsequences: false)
        return parts.joined(separator: token)
    }

    private static func details(_ answer: TestAnswer, _ type: String) -> JSON? {
        guard case .array(let details) = JSON(text: answer.body)?["error"]?["details"] else { return nil }
        return details.first { $0["@type"]?.string?.hasSuffix(type) ?? false }
    }

    @Test(arguments: rows)
    func `a message that is wrong is refused in Google's words`(row: FCMRow) async throws {
        let fixture = try await Fixture.shared()
        let phone = SimulatedPhone(.android)
        let request = fixture.fcmRequest(Self.body(row.body, phone.token), accessToken: try fixture.accessToken())
        let answer = try fixture.client(.fcm).exchange(request)
        let error = JSON(text: answer.body)?["error"]
        #expect(answer.status == 400)
        #expect(error?["code"] == 400)
        #expect(error?["status"] == "INVALID_ARGUMENT")
        #expect(error?["message"]?.string?.contains(row.says) ?? false, "\(answer.body)")
        #expect(Self.details(answer, "FcmError")?["errorCode"] == (row.isOfFCM ? "INVALID_ARGUMENT" : nil))
        let violations = Self.details(answer, "BadRequest")
        var fields: [String]? = violations == nil ? nil : []
        if case .array(let entries) = violations?["fieldViolations"] {
            fields = entries.compactMap { $0["field"]?.string }
        }
        #expect(fields == row.fields)
        #expect(fixture.simulator.attemptedCount(on: phone.token, platform: .android) == 0)
    }

    @Test(arguments: [
        FCMTests.whole, FCMTests.dataOnly(bytes: 4096),
        #"{"validateOnly":false,"message":{"token":"TOKEN","android":{"collapseKey":"k","ttl":"3.5s","priority":"HIGH"}}}"#,
        #"{"message":{"token":"TOKEN","apns":{"headers":{}},"webpush":null,"android":{"notification":{"notificationCount":"3","vibrate_timings":["0.1s"]}}}}"#,
    ])
    func `a message that is right is accepted and reaches the phone`(body: String) async throws {
        let fixture = try await Fixture.shared()
        let phone = SimulatedPhone(.android)
        let request = fixture.fcmRequest(Self.body(body, phone.token), accessToken: try fixture.accessToken())
        let answer = try fixture.client(.fcm).exchange(request)
        #expect(answer.status == 200, "\(answer.body)")
        let name = try #require(JSON(text: answer.body)?["name"]?.string)
        #expect(name.hasPrefix("projects/gryt-simulated/messages/0:"))
        let got = try await fixture.simulator.delivered(to: phone.token, platform: .android)
        #expect(got.map(\.id) == [name])
    }

    @Test func `validate_only is answered and delivers nothing`() async throws {
        let fixture = try await Fixture.shared()
        let phone = SimulatedPhone(.android)
        let request = fixture.fcmRequest(
            #"{"validate_only":true,"message":{"token":"\#(phone.token)"}}"#, accessToken: try fixture.accessToken())
        let answer = try fixture.client(.fcm).exchange(request)
        #expect(answer.body == #"{"name":"projects/gryt-simulated/messages/fake_message_id"}"#)
        #expect(fixture.simulator.deliveredCount(to: phone.token, platform: .android) == 0)
    }

    @Test func `a dead token is 404 UNREGISTERED`() async throws {
        let fixture = try await Fixture.shared()
        let phone = SimulatedPhone(.android)
        fixture.simulator.declareDead(phone.token, platform: .android)
        let request = fixture.fcmRequest(Self.body(Self.whole, phone.token), accessToken: try fixture.accessToken())
        let answer = try fixture.client(.fcm).exchange(request)
        #expect(answer.status == 404)
        #expect(
            answer.body == """
                {"error":{"code":404,"message":"Requested entity was not found.","status":"NOT_FOUND","details":[\
                {"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"UNREGISTERED"}]}}
                """)
    }

    @Test func `an access token is judged by being known, and by its age`() async throws {
        let fixture = try await Fixture.start()
        let body = Self.body(Self.whole, SimulatedPhone(.android).token)
        let client = try fixture.client(.fcm)
        func reason(_ request: TestRequest) throws -> JSON? {
            let answer = try client.exchange(request)
            #expect(answer.status == 401)
            #expect(JSON(text: answer.body)?["error"]?["status"] == "UNAUTHENTICATED")
            #expect(Self.details(answer, "FcmError") == nil)
            return Self.details(answer, "ErrorInfo")?["reason"]
        }
        var bare = fixture.fcmRequest(body, accessToken: "")
        bare.headers.removeAll { $0.0 == "authorization" }
        #expect(try reason(bare) == "CREDENTIALS_MISSING")
        #expect(try reason(fixture.fcmRequest(body, accessToken: "ya29.x")) == "ACCESS_TOKEN_TYPE_UNSUPPORTED")
        let first = try fixture.accessToken()
        #expect(try client.exchange(fixture.fcmRequest(body, accessToken: first)).status == 200)
        let second = try fixture.accessToken()
        #expect(first != second)
        #expect(try client.exchange(fixture.fcmRequest(body, accessToken: first)).status == 200)
        fixture.simulator.advanceClock(by: .seconds(3600))
        #expect(try reason(fixture.fcmRequest(body, accessToken: first)) == "ACCESS_TOKEN_EXPIRED")
        let third = try fixture.accessToken()
        #expect(try client.exchange(fixture.fcmRequest(body, accessToken: third)).status == 200)
        fixture.simulator.revokeAccessTokens()
        #expect(try reason(fixture.fcmRequest(body, accessToken: third)) == "ACCESS_TOKEN_TYPE_UNSUPPORTED")
        await fixture.simulator.stop()
    }

    @Test func `another project is forbidden, the project's number is not, another path is a page`() async throws {
        let fixture = try await Fixture.shared()
        let token = try fixture.accessToken()
        let body = Self.body(Self.whole, SimulatedPhone(.android).token)
        let client = try fixture.client(.fcm)
        let foreign = try client.exchange(fixture.fcmRequest(body, accessToken: token, project: "other"))
        #expect(foreign.status == 403)
        #expect(Self.details(foreign, "ErrorInfo")?["reason"] == "IAM_PERMISSION_DENIED")
        let number = fixture.fcmRequest(body, accessToken: token, project: "100000000001")
        #expect(try client.exchange(number).status == 200)
        var wrongPath = fixture.fcmRequest(body, accessToken: token)
        wrongPath.path = "/batch"
        let page = try client.exchange(wrongPath)
        #expect(page.status == 404)
        #expect(page.body.contains("Error 404 (Not Found)!!1"))
        #expect(page.headers["content-type"] == "text/html; charset=UTF-8")
        var wrongMethod = fixture.fcmRequest(body, accessToken: token)
        wrongMethod.method = "PUT"
        #expect(try client.exchange(wrongMethod).status == 404)
        var wrongType = fixture.fcmRequest(body, accessToken: token)
        wrongType.headers.removeAll { $0.0 == "content-type" }
        #expect(try client.exchange(wrongType).status == 400)
    }
}
