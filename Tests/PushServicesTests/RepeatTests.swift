import PushModel
import PushServices
import Testing

@testable import HTTP2Client

/// What is repeated inside a sender's budget, how, and which outcome stands: both services over a script.
@Suite(.timeLimit(.minutes(1)))
struct RepeatTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var first: Result<HTTP2Response, HTTP2Failure>
        /// Requests when every one ends like this.
        var attempts: Int
        var testDescription: String { name }

        init(_ name: String, _ first: Result<HTTP2Response, HTTP2Failure>, attempts: Int) {
            self.name = name
            self.first = first
            self.attempts = attempts
        }

        static func failed(_ name: String, _ failure: HTTP2Failure, attempts: Int) -> Row {
            Row(name, .failure(failure), attempts: attempts)
        }
    }

    /// Table 6.2 and 6.4 of what has no answer; the same for both services.
    static let unanswered: [Row] = [
        .failed("REFUSED_STREAM", .notSent(.refusedStream), attempts: 3),
        .failed("above the goodbye's last", .notSent(.aboveGoAway), attempts: 3),
        .failed("never left", .notSent(.neverLeft), attempts: 3),
        .failed("waited too long", .notSent(.waitedTooLong), attempts: 1),
        .failed("closing", .notSent(.closing), attempts: 1),
        .failed("connection lost", .unknownOutcome(.connectionLost), attempts: 2),
        .failed("connection dead", .unknownOutcome(.connectionDead), attempts: 2),
        .failed("protocol broken", .unknownOutcome(.protocolViolation), attempts: 2),
        .failed("promised by a goodbye and never given", .unknownOutcome(.drainExpired), attempts: 2),
        .failed("reset with INTERNAL_ERROR", .unknownOutcome(.streamReset(code: 2)), attempts: 2),
        .failed("reset with NO_ERROR", .unknownOutcome(.streamReset(code: 0)), attempts: 2),
        .failed("reset with CANCEL", .unknownOutcome(.streamReset(code: 8)), attempts: 2),
        .failed("reset with ENHANCE_YOUR_CALM", .unknownOutcome(.streamReset(code: 11)), attempts: 1),
        .failed("an attempt's time-out", .unknownOutcome(.timeout), attempts: 2),
        .failed("closed by us", .unknownOutcome(.closing), attempts: 1),
        .failed("no connection", .unreachable(.connectTimeout), attempts: 1),
        .failed("no name", .unreachable(.nameTimeout), attempts: 1),
        .failed("a stranger's certificate", .unreachable(.certificateNotTrusted(code: 20)), attempts: 1),
        .failed("no HTTP/2", .unreachable(.notHTTP2), attempts: 1),
        .failed("a full line", .overloaded, attempts: 1),
    ]

    /// Table 6.2: which of Apple's answers are repeated.
    static let apple: [Row] = [
        Row("A1", answer(200), attempts: 1),
        Row("A2", answer(410, #"{"reason":"Unregistered","timestamp":1790000000123}"#), attempts: 1),
        Row("A4", refusal(410, "ExpiredToken"), attempts: 1),
        Row("A6", refusal(400, "BadDeviceToken"), attempts: 1),
        Row("A7", refusal(400, "DeviceTokenNotForTopic"), attempts: 1),
        Row("A8", refusal(400, "BadPriority"), attempts: 1),
        Row("A9", refusal(413, "PayloadTooLarge"), attempts: 1),
        Row("A10", refusal(400, "TopicDisallowed"), attempts: 1),
        Row("A11", refusal(400, "IdleTimeout"), attempts: 2),
        Row("A12", refusal(403, "ExpiredProviderToken"), attempts: 2),
        Row("A13", refusal(403, "InvalidProviderToken"), attempts: 1),
        Row("A14", refusal(403, "MissingProviderToken"), attempts: 1),
        Row("A15", refusal(403, "Forbidden"), attempts: 1),
        Row("A16", refusal(403, "UnrelatedKeyIdInToken"), attempts: 2),
        Row("A17", refusal(429, "TooManyRequests"), attempts: 1),
        Row("A18", refusal(429, "TooManyProviderTokenUpdates"), attempts: 1),
        Row("A19", refusal(500, "InternalServerError"), attempts: 2),
        Row("A20", refusal(503, "ServiceUnavailable"), attempts: 2),
        Row("A20 with a wait", answer(503, "", retryAfter: "30"), attempts: 1),
        Row("A21", refusal(503, "Shutdown"), attempts: 2),
        Row("A22", refusal(418, "Teapot"), attempts: 1),
        Row("A23", answer(502, "<html>"), attempts: 1),
    ]

    @Test(arguments: unanswered + apple)
    func `a push to Apple is repeated as the table says`(_ row: Row) async {
        let apple = ScriptedService.apple { _, _ in row.first }
        _ = await apple.push()
        #expect(apple.pool.calls.count == row.attempts)
        for name in ["apns-id", "apns-collapse-id"] {
            #expect(Set(apple.pool.calls.map { $0.header(name) ?? "" }).count == 1)
        }
        #expect(Set(apple.pool.calls.map(\.request.body)).count == 1)
    }

    @Test(arguments: unanswered)
    func `a push to Google is repeated as the table says, under the same tag`(_ row: Row) async {
        let google = ScriptedService.google { _, _ in row.first }
        _ = await google.push()
        #expect(google.pool.calls.count == row.attempts)
        #expect(Set(google.pool.calls.map(\.request.body)).count == 1)
    }

    @Test(arguments: unanswered)
    func `what the phone could not tell from the first is repeated only if the first was surely not processed`(
        _ row: Row
    ) async throws {
        let google = ScriptedService.google { _, _ in row.first }
        _ = await google.push(isDataOnly: true)
        guard case .failure(let failure) = row.first else { return }
        #expect(google.pool.calls.count == (failure.isSurelyUnprocessed ? row.attempts : 1))
    }

    @Test(
        arguments: [
            (429, nil), (429, "1"), (500, nil), (502, nil), (503, nil), (503, "1"), (504, nil), (400, nil), (403, nil),
            (404, nil), (302, nil),
        ] as [(Int, String?)])
    func `no fault of Google's is repeated inside a budget`(_ status: Int, _ wait: String?) async {
        let google = ScriptedService.google { _, _ in answer(status, retryAfter: wait) }
        _ = await google.push()
        #expect(google.pool.calls.count == 1)
    }

    // MARK: Where it goes

    @Test(arguments: ["InternalServerError", "Shutdown", "IdleTimeout", "ServiceUnavailable", "UnrelatedKeyIdInToken"])
    func `the repeat avoids the connection that gave the answer`(_ reason: String) async {
        let apple = ScriptedService.apple { number, _ in
            number == 1 ? refusal(503, reason, by: 7) : answer(200, by: 8)
        }
        #expect(await apple.push() == .accepted)
        #expect(apple.pool.calls.map(\.avoided) == [nil, HTTP2ConnectionID(number: 7)])
        #expect(apple.pool.retired.isEmpty)
        // Only what a connection may be the cause of, and only now that another has done better.
        let suspects = reason == "ServiceUnavailable" ? [] : [HTTP2ConnectionID(number: 7)]
        #expect(apple.pool.replaced == suspects)
    }

    @Test(arguments: ["InternalServerError", "Shutdown", "IdleTimeout", "ServiceUnavailable"])
    func `when every connection says the same, none is given up for it`(_ reason: String) async {
        let apple = ScriptedService.apple { number, _ in refusal(503, reason, by: UInt64(number)) }
        for _ in 0..<20 { _ = await apple.push() }
        #expect(apple.pool.replaced.isEmpty && apple.pool.retired.isEmpty)
    }

    @Test func `a connection that saw an expired token is given up, for all that follows on it would fail`() async {
        let apple = ScriptedService.apple { number, _ in
            number == 1 ? refusal(403, "ExpiredProviderToken", by: 7) : answer(200, by: 8)
        }
        #expect(await apple.push() == .accepted)
        #expect(apple.pool.retired == [HTTP2ConnectionID(number: 7)])
        #expect(apple.pool.calls[1].avoided == HTTP2ConnectionID(number: 7))
    }

    @Test
    func `a token that Apple calls expired is replaced once it is twenty minutes old, and repeated with the new one`()
        async throws
    {
        let apple = ScriptedService.apple { number, _ in
            number == 1 ? refusal(403, "ExpiredProviderToken", by: 7) : answer(200, by: 8)
        }
        let old = try #require(apple.tokens?.current().authorization)
        apple.time.advance(by: .seconds(20 * 60))
        #expect(await apple.push() == .accepted)
        let new = try #require(apple.tokens?.current().authorization)
        #expect(old != new)
        #expect(apple.pool.calls.map { $0.header("authorization") } == [old, new])
    }

    // MARK: Which outcome stands, and until when

    @Test(arguments: [HTTP2Failure.notSent(.waitedTooLong), .unreachable(.connectTimeout), .overloaded])
    func `where the repeat cannot leave, the answer stands`(_ failure: HTTP2Failure) async {
        let apple = ScriptedService.apple { number, _ in
            number == 1 ? refusal(500, "InternalServerError") : .failure(failure)
        }
        #expect(await apple.push() == .deferred(.serviceUnavailable, retryAfter: .seconds(900)))
    }

    @Test func `a repeat leaves in time for the answer before it to reach the sender, or not at all`() async {
        let apple = ScriptedService.apple { _, _ in refusal(500, "InternalServerError") }
        _ = await apple.push(budget: .seconds(4))
        #expect(apple.pool.calls.map(\.leavingWithin) == [.seconds(4), .milliseconds(3900)])
    }

    @Test func `with too little of the budget left nothing is repeated`() async {
        for (left, attempts) in [(Duration.milliseconds(249), 1), (.milliseconds(250), 2)] {
            let apple = ScriptedService.apple { _, _ in refusal(500, "InternalServerError") }
            let time = apple.time
            apple.pool.follow { _, _ in
                time.advance(by: .seconds(4) - left)
                return refusal(500, "InternalServerError")
            }
            _ = await apple.push(budget: .seconds(4))
            #expect(apple.pool.calls.count == attempts)
        }
    }

    @Test func `a push whose sender has been told that it failed does not leave any more`() async {
        let google = ScriptedService.google { _, _ in answer(200) }
        let time = google.time
        google.endpoint.follow { _, _ in
            time.advance(by: .seconds(5))
            return answer(200, #"{"access_token":"t","expires_in":3600}"#)
        }
        #expect(await google.push(budget: .seconds(4)) == .failed(.timeout, retryAfter: .seconds(5)))
        #expect(google.pool.calls.isEmpty)
    }

    @Test(arguments: [(3899, 2), (3900, 1), (3950, 1)])
    func `a repeat for which the new token came too late does not leave any more`(
        milliseconds: Int, attempts: Int
    ) async {
        let google = ScriptedService.google { number, _ in answer(number == 1 ? 401 : 200) }
        let time = google.time
        google.endpoint.follow { number, _ in
            if number == 2 { time.advance(by: .milliseconds(milliseconds)) }
            return answer(200, #"{"access_token":"\#(number)","expires_in":3600}"#)
        }
        let outcome = await google.push(budget: .seconds(4))
        #expect(google.pool.calls.count == attempts)
        #expect((outcome == .accepted) == (attempts == 2))
    }

    // MARK: Credentials

    @Test func `a token that Google refuses is replaced once, and the push repeated with the new one`() async {
        let google = ScriptedService.google { _, call in
            answer(call.header("authorization") == "Bearer new" ? 200 : 401)
        }
        google.endpoint.follow { number, _ in
            answer(200, #"{"access_token":"\#(number == 1 ? "old" : "new")","expires_in":3600}"#)
        }
        #expect(await google.push() == .accepted)
        #expect(await google.push() == .accepted)
        #expect(google.endpoint.calls.count == 2)
        #expect(google.pool.calls.count == 3)
        // Google's connections remember no credentials, so none is given up for them.
        #expect(google.pool.retired.isEmpty && google.pool.calls.allSatisfy { $0.avoided == nil })
    }

    @Test func `when no other token is to be had, the refused one is used on and the push not repeated`() async {
        let google = ScriptedService.google { _, _ in answer(200) }
        #expect(await google.push() == .accepted)
        google.endpoint.follow { _, _ in answer(503) }
        google.pool.follow { number, _ in answer(number == 2 ? 401 : 200) }
        // The endpoint is ill, which is nobody's credentials' fault.
        guard case .deferred(.serviceUnavailable, let wait) = await google.push(to: 2) else {
            Issue.record("not told as a fault of the endpoint")
            return
        }
        #expect(wait <= .seconds(1))
        #expect(google.pool.calls.count == 2)
        // It was about one push: the others go on although the endpoint is ill.
        for phone in 3...9 { #expect(await google.push(to: phone) == .accepted) }
        #expect(google.endpoint.calls.count == 2)
    }

    @Test func `after TooManyProviderTokenUpdates the newest token is kept, and none is minted for twenty minutes`()
        async
    {
        let apple = ScriptedService.apple { _, _ in refusal(429, "TooManyProviderTokenUpdates") }
        apple.time.advance(by: .seconds(3600))
        let token = apple.tokens?.current()
        apple.time.advance(by: .seconds(45 * 60))
        #expect(
            await apple.push() == .deferred(.serviceThrottled, retryAfter: .seconds(1200)))
        #expect(apple.pool.replaced == [HTTP2ConnectionID(number: 1)])
        #expect(apple.pool.retired.isEmpty)
        apple.time.advance(by: .seconds(20 * 60 - 1))
        #expect(apple.tokens?.current() == token)
        apple.time.advance(by: .seconds(1))
        #expect(apple.tokens?.current() != token)
    }

    /// Or two relays of one key would shut each other out, each with the token that it mints for the other's sake.
    @Test func `a token that Apple has taken after all stays for its fifty minutes`() async {
        let apple = ScriptedService.apple { number, _ in
            number <= 15 ? refusal(429, "TooManyProviderTokenUpdates") : answer(200)
        }
        var minutes: [Int] = []
        for minute in 0..<120 {
            _ = await apple.push()
            let tokens = apple.pool.calls.suffix(2).map { $0.header("authorization") }
            if tokens.count < 2 || tokens[0] != tokens[1] { minutes.append(minute) }
            apple.time.advance(by: .seconds(60))
        }
        #expect(minutes == [0, 50, 100])
    }

    /// As it is said of a token that a clock has signed which was ahead, to each probe.
    @Test func `however often TooManyProviderTokenUpdates comes, another token is tried each twenty minutes`() async {
        let apple = ScriptedService.apple { _, _ in refusal(429, "TooManyProviderTokenUpdates") }
        var minutes: [Int] = []
        for minute in 0..<100 {
            _ = await apple.push()
            let tokens = apple.pool.calls.suffix(2).map { $0.header("authorization") }
            if tokens.count < 2 || tokens[0] != tokens[1] { minutes.append(minute) }
            apple.time.advance(by: .seconds(60))
        }
        #expect(minutes == [0, 20, 40, 60, 80])
    }
}
