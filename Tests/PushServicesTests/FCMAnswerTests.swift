import PushModel
import PushServices
import Testing

/// Google's table, row by row: what came, and what it must mean.
@Suite(.timeLimit(.minutes(1)))
struct FCMAnswerTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var status: Int
        var body: String
        var answer: FCMAnswer
        var testDescription: String { name }

        init(_ name: String, _ status: Int, _ body: String, _ answer: FCMAnswer) {
            self.name = name
            self.status = status
            self.body = body
            self.answer = answer
        }
    }

    static func google(_ status: String, _ message: String = "…", details: String? = nil) -> String {
        let tail = details.map { #","details":[\#($0)]"# } ?? ""
        return #"{"error":{"code":0,"message":"\#(message)","status":"\#(status)"\#(tail)}}"#
    }

    static func fcmError(_ code: String, key: String = "errorCode") -> String {
        #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","\#(key)":"\#(code)"}"#
    }

    static func violations(_ fields: String...) -> String {
        let list = fields.map { #"{"field":"\#($0)","description":"…"}"# }.joined(separator: ",")
        return #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[\#(list)]}"#
    }

    static let html = "<!DOCTYPE html><html lang=en><title>Error 404 (Not Found)!!1</title>"

    static let rows: [Row] = [
        Row("200 with a name", 200, #"{"name":"projects/p/messages/1"}"#, .accepted),
        Row("200 with nothing", 200, "", .accepted),
        Row("200 with a cut body", 200, #"{"na"#, .accepted),
        Row("404 unregistered", 404, google("NOT_FOUND", details: fcmError("UNREGISTERED")), .unregistered),
        Row(
            "404 unregistered, spelled otherwise", 404,
            google("NOT_FOUND", details: fcmError("UNREGISTERED", key: "error_code")), .unregistered),
        Row(
            "404 unregistered among strangers", 404,
            google("NOT_FOUND", details: #"7,{"@type":"x"},{"@type":"y","errorCode":5},\#(fcmError("UNREGISTERED"))"#),
            .unregistered),
        Row(
            "404 without details", 404, google("NOT_FOUND", "Requested entity was not found."), .notFound(isPage: false)
        ),
        Row("404 in HTML", 404, html, .notFound(isPage: true)),
        Row("404 with nothing", 404, "", .notFound(isPage: true)),
        Row(
            "400 naming the token", 400,
            google("INVALID_ARGUMENT", details: fcmError("INVALID_ARGUMENT") + "," + violations("message.token")),
            .badRegistrationToken),
        Row(
            "400 saying it in words", 400,
            google(
                "INVALID_ARGUMENT", "The registration token is not a valid FCM registration token",
                details: fcmError("INVALID_ARGUMENT")), .badRegistrationToken),
        Row(
            "400 naming the token and another field", 400,
            google("INVALID_ARGUMENT", details: violations("message.token", "message.data[0].value")), .malformed),
        Row(
            "400 naming another field", 400, google("INVALID_ARGUMENT", details: violations("message.android")),
            .malformed),
        Row(
            "400 too big", 400,
            google("INVALID_ARGUMENT", "Android message is too big", details: fcmError("INVALID_ARGUMENT")), .malformed),
        Row(
            "400 that says nothing", 400, google("INVALID_ARGUMENT", "Request contains an invalid argument."),
            .ambiguousArgument),
        Row("400 in HTML", 400, html, .unknownRefusal),
        Row("401", 401, google("UNAUTHENTICATED"), .accessTokenRefused),
        Row("401 in HTML", 401, html, .accessTokenRefused),
        Row(
            "401 about somebody else", 401, google("UNAUTHENTICATED", details: fcmError("THIRD_PARTY_AUTH_ERROR")),
            .thirdPartyCredential),
        Row(
            "403 of another project", 403, google("PERMISSION_DENIED", details: fcmError("SENDER_ID_MISMATCH")),
            .senderMismatch),
        Row("403", 403, google("PERMISSION_DENIED"), .permissionDenied),
        Row("403 in HTML", 403, html, .permissionDenied),
        Row(
            "429 of the project", 429, google("RESOURCE_EXHAUSTED", details: fcmError("QUOTA_EXCEEDED")),
            .projectThrottled(isNamed: false, retryAfter: nil)),
        Row(
            "429 of the project, by name", 429,
            google("RESOURCE_EXHAUSTED", "Quota exceeded for consumer 'project_number:1'"),
            .projectThrottled(isNamed: true, retryAfter: nil)),
        Row(
            "429 of the project, by its violation", 429,
            google(
                "RESOURCE_EXHAUSTED",
                details:
                    #"{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"subject":"project:p"}]}"#),
            .projectThrottled(isNamed: true, retryAfter: nil)),
        Row(
            "429 of a device", 429,
            google(
                "RESOURCE_EXHAUSTED",
                details:
                    #"{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"subject":"device:1"}]}"#),
            .phoneThrottled(retryAfter: nil)),
        Row("429 with nothing", 429, "", .projectThrottled(isNamed: false, retryAfter: nil)),
        Row("500", 500, google("INTERNAL", details: fcmError("INTERNAL")), .unavailable(retryAfter: nil)),
        Row("502 in HTML", 502, html, .unavailable(retryAfter: nil)),
        Row("503", 503, google("UNAVAILABLE", details: fcmError("UNAVAILABLE")), .unavailable(retryAfter: nil)),
        Row("504 with nothing", 504, "", .unavailable(retryAfter: nil)),
        Row("302", 302, "", .redirected),
        Row("418", 418, google("UNSPECIFIED_ERROR"), .unknownRefusal),
        Row("101", 101, "", .unknownFault),
    ]

    @Test(arguments: rows)
    func `every answer of Google's has its meaning`(_ row: Row) {
        #expect(
            FCMAnswer(status: row.status, body: Array(row.body.utf8), at: WallInstant(milliseconds: 0)) == row.answer)
    }

    @Test func `a token of another project is counted under a word of its own`() {
        let counted = Self.rows.filter { row in
            let answer = FCMAnswer(status: row.status, body: Array(row.body.utf8), at: WallInstant(milliseconds: 0))
            return answer.reason.rawValue == "sender_id_mismatch" || answer.label == "sender_id_mismatch"
        }
        #expect(counted.map(\.name) == ["403 of another project"])
        #expect(counted.allSatisfy { $0.answer.reason == .senderMismatch && $0.answer.label == "sender_id_mismatch" })
    }

    @Test func `Google's word for what is not allowed is read wherever it stands`() {
        let info = #"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"SERVICE_DISABLED"}"#
        let odd = #"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":7}"#
        for details in [info, "7,\(info)", "\(Self.fcmError("X")),\(info)"] {
            let body = Self.google("PERMISSION_DENIED", details: details)
            #expect(FCMErrorBody(Array(body.utf8))?.infoReason == "SERVICE_DISABLED")
        }
        for details in [odd, Self.fcmError("X")] {
            let body = Self.google("PERMISSION_DENIED", details: details)
            #expect(FCMErrorBody(Array(body.utf8))?.infoReason == nil)
        }
    }

    @Test func `no answer without Google's own JSON ends a registration`() {
        for status in 100..<600 {
            for body in ["", Self.html, "{}", "[]", "null", #"{"error":"x"}"#, #"{"error":{}}"#] {
                let answer = FCMAnswer(status: status, body: Array(body.utf8), at: WallInstant(milliseconds: 0))
                if case .unregistered = answer.outcome { Issue.record("\(status) \(body) ended a registration") }
            }
        }
    }

    @Test func `a wait that Google asks for is passed on, and never shorter than it asks of everybody`() {
        let now = WallInstant(milliseconds: 784_111_777_000)
        let quota = FCMAnswer(status: 429, body: [], retryAfter: "30", at: now)
        #expect(quota.outcome == .deferred(.serviceThrottled, retryAfter: .seconds(30)))
        let dated = FCMAnswer(status: 503, body: [], retryAfter: "Sun, 06 Nov 1994 08:50:37 GMT", at: now)
        #expect(dated.outcome == .deferred(.serviceUnavailable, retryAfter: .seconds(60)))
        let hasty = FCMAnswer(status: 503, body: [], retryAfter: "1", at: now)
        #expect(hasty.outcome == .deferred(.serviceUnavailable, retryAfter: .seconds(10)))
    }
}
