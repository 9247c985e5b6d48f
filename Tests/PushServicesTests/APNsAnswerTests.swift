import PushModel
import PushServices
import Testing

/// Apple's table, row by row: what came, and what it must mean.
@Suite(.timeLimit(.minutes(1)))
struct APNsAnswerTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var status: Int
        var body: String
        var outcome: DeliveryOutcome
        var retry: RetryAdvice
        var testDescription: String { "\(status) \(body)" }

        init(_ status: Int, _ body: String, _ outcome: DeliveryOutcome, _ retry: RetryAdvice) {
            self.status = status
            self.body = body
            self.outcome = outcome
            self.retry = retry
        }

        static func reason(
            _ status: Int, _ reason: String, _ outcome: DeliveryOutcome, _ retry: RetryAdvice = .never
        ) -> Row {
            Row(status, #"{"reason":"\#(reason)"}"#, outcome, retry)
        }
    }

    static let quarterHour = Duration.seconds(900)
    static let stated = DeliveryOutcome.unregistered(.stated(since: WallInstant(milliseconds: 1_790_000_000_123)))

    static let rows: [Row] = [
        Row(200, "", .accepted, .never),
        Row(200, "{}", .accepted, .never),
        Row(200, "{cut", .accepted, .never),
        Row(410, #"{"reason":"Unregistered","timestamp":1790000000123}"#, stated, .never),
        Row(410, #"{ "reason" : "ExpiredToken" , "timestamp" : 1790000000123 }"#, stated, .never),
        Row(400, #"{"reason":"ExpiredToken","timestamp":1790000000123}"#, stated, .never),
        Row(410, #"{"reason":"Unregistered"}"#, .unregistered(.stated(since: nil)), .never),
        Row(410, #"{"reason":"Unregistered","timestamp":1790000000}"#, .unregistered(.stated(since: nil)), .never),
        // Later than the answer.
        Row(410, #"{"reason":"Unregistered","timestamp":1790000000124}"#, .unregistered(.stated(since: nil)), .never),
        Row(410, #"{"timestamp":1790000000123000}"#, .unregistered(.stated(since: nil)), .never),
        Row(410, #"{"reason":"Unregistered","timestamp":"soon"}"#, .unregistered(.stated(since: nil)), .never),
        Row(410, #"{"reason":"NeverHeardOf"}"#, .unregistered(.stated(since: nil)), .never),
        Row(410, "", .unregistered(.stated(since: nil)), .never),
        Row(410, "<html>", .unregistered(.stated(since: nil)), .never),
        .reason(400, "BadDeviceToken", .unregistered(.inferred)),
        .reason(400, "DeviceTokenNotForTopic", .unregistered(.inferred)),
        .reason(400, "BadCollapseId", .rejected(.malformed)),
        .reason(400, "BadExpirationDate", .rejected(.malformed)),
        .reason(400, "BadMessageId", .rejected(.malformed)),
        .reason(400, "BadPriority", .rejected(.malformed)),
        .reason(400, "DuplicateHeaders", .rejected(.malformed)),
        .reason(400, "InvalidPushType", .rejected(.malformed)),
        .reason(400, "MissingDeviceToken", .rejected(.malformed)),
        .reason(400, "PayloadEmpty", .rejected(.malformed)),
        .reason(413, "PayloadTooLarge", .rejected(.malformed)),
        Row(413, "", .rejected(.malformed), .never),
        .reason(404, "BadPath", .rejected(.malformed)),
        .reason(405, "MethodNotAllowed", .rejected(.malformed)),
        .reason(400, "BadTopic", .deferred(.credentials, retryAfter: .seconds(300))),
        .reason(400, "MissingTopic", .deferred(.credentials, retryAfter: .seconds(300))),
        .reason(400, "TopicDisallowed", .deferred(.credentials, retryAfter: .seconds(300))),
        .reason(
            400, "IdleTimeout", .deferred(.serviceUnavailable, retryAfter: .seconds(5)),
            .onceElsewhere(mayBeConnection: true)),
        .reason(
            403, "ExpiredProviderToken", .deferred(.credentials, retryAfter: .seconds(60)), .onceWithNewCredential),
        .reason(403, "InvalidProviderToken", .deferred(.credentials, retryAfter: .seconds(300))),
        .reason(403, "MissingProviderToken", .deferred(.credentials, retryAfter: .seconds(300))),
        .reason(403, "Forbidden", .deferred(.credentials, retryAfter: .seconds(300))),
        .reason(403, "BadCertificate", .deferred(.credentials, retryAfter: .seconds(300))),
        .reason(403, "BadCertificateEnvironment", .deferred(.credentials, retryAfter: .seconds(300))),
        .reason(403, "BadEnvironmentKeyIdInToken", .deferred(.credentials, retryAfter: .seconds(300))),
        .reason(403, "BadEnvironmentKeyInToken", .deferred(.credentials, retryAfter: .seconds(300))),
        .reason(
            403, "UnrelatedKeyIdInToken", .deferred(.credentials, retryAfter: .seconds(60)),
            .onceElsewhere(mayBeConnection: true)),
        .reason(429, "TooManyRequests", .deferred(.phoneThrottled, retryAfter: .seconds(60))),
        .reason(429, "TooManyProviderTokenUpdates", .deferred(.serviceThrottled, retryAfter: .seconds(1200))),
        .reason(
            500, "InternalServerError", .deferred(.serviceUnavailable, retryAfter: quarterHour),
            .onceElsewhere(mayBeConnection: true)),
        Row(500, "", .deferred(.serviceUnavailable, retryAfter: quarterHour), .onceElsewhere(mayBeConnection: true)),
        .reason(
            503, "ServiceUnavailable", .deferred(.serviceUnavailable, retryAfter: quarterHour),
            .onceElsewhere(mayBeConnection: false)),
        .reason(
            503, "Service Unavailable", .deferred(.serviceUnavailable, retryAfter: quarterHour),
            .onceElsewhere(mayBeConnection: false)),
        Row(
            503, "<html>", .deferred(.serviceUnavailable, retryAfter: quarterHour),
            .onceElsewhere(mayBeConnection: false)),
        .reason(
            503, "Shutdown", .deferred(.serviceUnavailable, retryAfter: .seconds(5)),
            .onceElsewhere(mayBeConnection: true)),
        .reason(403, "TopicMismatch", .rejected(.unknown)),
        Row(403, "<html>", .rejected(.unknown), .never),
        Row(429, "", .rejected(.unknown), .never),
        .reason(502, "NeverHeardOf", .deferred(.serviceUnavailable, retryAfter: quarterHour)),
        Row(504, "", .deferred(.serviceUnavailable, retryAfter: quarterHour), .never),
        Row(302, "", .deferred(.serviceUnavailable, retryAfter: quarterHour), .never),
    ]

    @Test(arguments: rows)
    func `every answer of Apple's has its meaning`(_ row: Row) {
        let answer = APNsAnswer(
            status: row.status, body: Array(row.body.utf8), at: WallInstant(milliseconds: 1_790_000_000_123))
        #expect(answer.outcome == row.outcome)
        #expect(answer.retry == row.retry)
    }

    @Test func `only an answer that speaks of the device token ends a registration`() {
        // By its reason whatever the status is, or by 410.
        let words = ["BadDeviceToken", "DeviceTokenNotForTopic", "ExpiredToken", "Unregistered"]
        var ending: Set<String> = []
        for status in 100...599 {
            for body in Set(Self.rows.map(\.body)) {
                let answer = APNsAnswer(status: status, body: Array(body.utf8), at: WallInstant(milliseconds: 0))
                guard case .unregistered = answer.outcome else { continue }
                let word = words.first { body.contains("\"\($0)\"") }
                #expect(status == 410 || word != nil, "\(status) \(body)")
                if let word { ending.insert(word) }
            }
        }
        #expect(ending.sorted() == words)
    }

    @Test func `a Retry-After of Apple's is passed on`() {
        let answer = APNsAnswer(
            status: 429, body: Array(#"{"reason":"TooManyRequests"}"#.utf8), retryAfter: "7",
            at: WallInstant(milliseconds: 0))
        #expect(answer.outcome == .deferred(.phoneThrottled, retryAfter: .seconds(7)))
    }

    @Test func `what only the operator can mend pages the operator`() {
        for reason in ["InvalidProviderToken", "TopicDisallowed", "TooManyProviderTokenUpdates", "BadPriority"] {
            let answer = APNsAnswer(
                status: 403, body: Array(#"{"reason":"\#(reason)"}"#.utf8), at: WallInstant(milliseconds: 0))
            #expect(answer.alarm == .page, "\(reason)")
        }
        #expect(APNsAnswer(status: 200, body: [], at: WallInstant(milliseconds: 0)).alarm == .none)
    }
}
