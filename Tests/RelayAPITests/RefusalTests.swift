import HTTPServer
import PushModel
import Relay
import RelayAPI
import Testing

@Suite(.timeLimit(.minutes(1)))
struct RefusalTests {
    struct Row: Sendable {
        var refusal: Refusal
        var status: Int
        var body: String
    }

    static let second = Duration.seconds(1)

    static let rows: [Row] = [
        Row(refusal: .badJSON, status: 400, body: #"{"error":"bad_json"}"#),
        Row(refusal: .badPlatform, status: 400, body: #"{"error":"bad_platform"}"#),
        Row(refusal: .badToken, status: 400, body: #"{"error":"bad_token"}"#),
        Row(refusal: .badEnvironment, status: 400, body: #"{"error":"bad_env"}"#),
        Row(refusal: .badKind, status: 400, body: #"{"error":"bad_kind"}"#),
        Row(refusal: .badPreview, status: 400, body: #"{"error":"bad_preview"}"#),
        Row(refusal: .missingCapability, status: 401, body: #"{"error":"missing_capability"}"#),
        Row(refusal: .unknownCapability, status: 404, body: #"{"error":"unknown_capability"}"#),
        Row(
            refusal: .tooManyRegistrations(retryAfter: .milliseconds(1)), status: 429,
            body: #"{"error":"too_many_registrations","limit":"registrations","retry_after":1}"#),
        Row(
            refusal: .tooManyPushes(.address, retryAfter: .milliseconds(59_001)), status: 429,
            body: #"{"error":"too_many_pushes","limit":"address","retry_after":60}"#),
        Row(
            refusal: .tooManyPushes(.capability, retryAfter: second), status: 429,
            body: #"{"error":"too_many_pushes","limit":"capability","retry_after":1}"#),
        Row(
            refusal: .phoneThrottled(retryAfter: .seconds(60)), status: 429,
            body: #"{"error":"phone_throttled","limit":"capability","retry_after":60}"#),
        Row(refusal: .platformUnavailable(.ios), status: 503, body: #"{"error":"ios_unavailable"}"#),
        Row(refusal: .platformUnavailable(.android), status: 503, body: #"{"error":"android_unavailable"}"#),
        Row(refusal: .gone, status: 410, body: #"{"error":"gone"}"#),
        Row(
            refusal: .upstreamFailed(.timeout, retryAfter: .seconds(10)), status: 502,
            body: #"{"error":"upstream_failed","reason":"timeout","retry_after":10}"#),
        Row(
            refusal: .upstreamFailed(.rejected, retryAfter: nil), status: 502,
            body: #"{"error":"upstream_failed","reason":"rejected"}"#),
        Row(refusal: .notFound, status: 404, body: #"{"error":"not_found"}"#),
        Row(refusal: .methodNotAllowed(allow: "GET"), status: 405, body: #"{"error":"method_not_allowed"}"#),
        Row(refusal: .overloaded, status: 503, body: #"{"error":"overloaded","retry_after":1}"#),
        Row(refusal: .shuttingDown, status: 503, body: #"{"error":"shutting_down","retry_after":2}"#),
        Row(refusal: .internalFault, status: 500, body: #"{"error":"internal"}"#),
        Row(refusal: .bodyTooLarge, status: 413, body: #"{"error":"body_too_large"}"#),
    ]

    @Test(arguments: rows)
    func `a refusal has its status, its code and what goes with it`(_ row: Row) {
        let answer = Answers.refused(row.refusal)
        #expect(answer.status == row.status)
        #expect(String(decoding: answer.body, as: UTF8.self) == row.body)
    }

    @Test(arguments: rows)
    func `the wait stands in the header as in the body, and every 429 has one`(_ row: Row) {
        let answer = Answers.refused(row.refusal)
        let header = answer.headers.first { $0.name == "retry-after" }?.value
        let inBody = row.body.contains("retry_after")
        #expect((header != nil) == inBody)
        if let header { #expect(row.body.contains(#""retry_after":\#(header)}"#)) }
        if row.status == 429 { #expect(header != nil && row.refusal.limit != nil) }
    }

    @Test func `every answer with a body forbids storing and guessing`() {
        for row in Self.rows {
            let headers = Answers.refused(row.refusal).headers
            #expect(headers.contains { $0 == ("content-type", "application/json; charset=utf-8") })
            #expect(headers.contains { $0 == ("cache-control", "no-store") })
            #expect(headers.contains { $0 == ("x-content-type-options", "nosniff") })
        }
    }

    @Test func `a 405 names the methods that there are`() {
        let answer = Answers.refused(.methodNotAllowed(allow: "POST, DELETE"))
        #expect(answer.headers.contains { $0 == ("allow", "POST, DELETE") })
    }

    @Test func `a version cannot break the JSON`() {
        let answer = Answers.healthy(version: "1.0\"\\\n")
        #expect(String(decoding: answer.body, as: UTF8.self) == #"{"ok":true,"version":"1.0\"\\\u000a"}"#)
    }
}
