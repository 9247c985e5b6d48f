import PushModel
import PushServices
import Telemetry
import Testing

@testable import HTTP2Client

/// Both services with their breakers: after what, and until when, nothing leaves.
@Suite(.timeLimit(.minutes(1)))
struct ServiceBreakerTests {
    static let appleRefusals = [
        "400 BadTopic", "400 MissingTopic", "400 TopicDisallowed", "403 ExpiredProviderToken",
        "403 InvalidProviderToken", "403 MissingProviderToken", "403 Forbidden", "403 BadCertificate",
        "403 BadCertificateEnvironment", "403 BadEnvironmentKeyIdInToken", "403 UnrelatedKeyIdInToken",
        "429 TooManyProviderTokenUpdates",
    ]

    static func parts(_ text: String) -> (status: Int, reason: String) {
        (Int(text.prefix(3)) ?? 0, String(text.dropFirst(4)))
    }

    @Test(arguments: appleRefusals)
    func `three phones for which Apple refuses our credentials are enough`(_ text: String) async {
        let (status, reason) = Self.parts(text)
        let apple = ScriptedService.apple { _, _ in refusal(status, reason) }
        for phone in 1...3 { _ = await apple.push(to: phone) }
        let asked = apple.pool.calls.count
        let cause = reason == "TooManyProviderTokenUpdates" ? BreakerCause.tokenUpdates : .credentials
        #expect(apple.log.changes == [.opened(cause)])
        for phone in 1...100 {
            switch await apple.push(to: phone) {
            case .deferred(.credentials, let wait): #expect((.seconds(300) ... .seconds(360)).contains(wait))
            case .deferred(.serviceThrottled, let wait): #expect((.seconds(1200) ... .seconds(1440)).contains(wait))
            case let other: Issue.record("\(other)")
            }
        }
        #expect(apple.pool.calls.count == asked)
        // One goes after the pause; when it goes well, all do.
        apple.pool.follow { _, _ in answer(200) }
        apple.time.advance(by: .seconds(72))
        for phone in 1...10 { #expect(await apple.push(to: phone) == .accepted) }
        #expect(apple.log.changes.count == 2)
    }

    @Test(
        arguments: appleRefusals + [
            "400 BadDeviceToken", "400 DeviceTokenNotForTopic", "410 Unregistered", "429 TooManyRequests",
            "413 PayloadTooLarge", "400 BadPriority", "500 InternalServerError", "503 ServiceUnavailable", "418 Teapot",
        ])
    func `one phone of which Apple says so costs the others nothing`(_ text: String) async {
        let (status, reason) = Self.parts(text)
        let apple = ScriptedService.apple { _, call in call.token == "13" ? refusal(status, reason) : answer(200) }
        for _ in 0..<200 { _ = await apple.push(to: 13) }
        #expect(apple.log.changes.isEmpty)
        #expect(await apple.push(to: 1) == .accepted)
    }

    @Test(arguments: [
        "400 BadDeviceToken", "400 DeviceTokenNotForTopic", "410 Unregistered", "429 TooManyRequests",
        "413 PayloadTooLarge", "400 BadPriority", "418 Teapot",
    ])
    func `what is about a phone or a push never opens it, however many there are`(_ text: String) async {
        let (status, reason) = Self.parts(text)
        let apple = ScriptedService.apple { _, _ in refusal(status, reason) }
        for phone in 0..<200 {
            _ = await apple.push(to: phone)
            apple.time.advance(by: .seconds(1))
        }
        #expect(apple.log.changes.isEmpty)
        #expect(apple.pool.calls.count == 200)
    }

    struct GoogleRow: Sendable, CustomTestStringConvertible {
        var name: String
        var status: Int
        var body: String
        /// Phones after which nothing leaves any more; nil for never.
        var phones: Int?
        var testDescription: String { name }
    }

    static let google: [GoogleRow] = [
        .init(name: "F10", status: 401, body: FCMAnswerTests.google("UNAUTHENTICATED"), phones: 3),
        .init(
            name: "F11", status: 401,
            body: FCMAnswerTests.google(
                "UNAUTHENTICATED", details: FCMAnswerTests.fcmError("THIRD_PARTY_AUTH_ERROR")), phones: nil),
        .init(
            name: "F12", status: 403,
            body: FCMAnswerTests.google("PERMISSION_DENIED", details: FCMAnswerTests.fcmError("SENDER_ID_MISMATCH")),
            phones: 256),
        .init(name: "F13", status: 403, body: FCMAnswerTests.google("PERMISSION_DENIED"), phones: 3),
        .init(name: "F13 as a page", status: 403, body: FCMAnswerTests.html, phones: 3),
        .init(name: "F14", status: 404, body: FCMAnswerTests.html, phones: 3),
        .init(name: "F3", status: 404, body: FCMAnswerTests.google("NOT_FOUND"), phones: nil),
        .init(
            name: "F2", status: 404,
            body: FCMAnswerTests.google("NOT_FOUND", details: FCMAnswerTests.fcmError("UNREGISTERED")), phones: nil),
        .init(
            name: "F4", status: 400,
            body: FCMAnswerTests.google("INVALID_ARGUMENT", details: FCMAnswerTests.violations("message.token")),
            phones: nil),
        .init(name: "F8", status: 400, body: FCMAnswerTests.google("INVALID_ARGUMENT"), phones: nil),
        .init(name: "F9", status: 400, body: FCMAnswerTests.html, phones: nil),
        .init(name: "F22", status: 302, body: "", phones: 3),
    ]

    @Test(arguments: google)
    func `Google's refusals of us open it, those of a phone do not`(_ row: GoogleRow) async {
        let google = ScriptedService.google { _, _ in answer(row.status, row.body) }
        for phone in 1...300 { _ = await google.push(to: phone) }
        let pushes = row.phones ?? 300
        // A 401 is repeated with another token; here there is only the one.
        #expect(google.pool.calls.count == pushes)
        #expect(google.log.changes.count == (row.phones == nil ? 0 : 1))
    }

    // MARK: Silence, and what ends a refusal

    /// A breaker by itself, for pushes that wait.
    private static func bare() -> (breaker: ServiceBreaker, log: BreakerLog, time: SetClocks) {
        let log = BreakerLog()
        return (ServiceBreaker(.apns, observer: log), log, SetClocks())
    }

    @Test func `pushes that all wait open it though none has failed, and one answer in time keeps it shut`() {
        for isAnswered in [false, true] {
            let (breaker, log, time) = Self.bare()
            var first: ServiceBreaker.Pass?
            for _ in 0..<40 {
                for phone in 1...10 {
                    if case .admitted(let pass) = breaker.admit(phone: phone, at: time.clocks.monotonic()) {
                        first = first ?? pass
                    }
                }
                time.advance(by: .milliseconds(100))
                guard isAnswered, let pass = first else { continue }
                breaker.conclude(pass, .answering, phone: 1, at: time.clocks.monotonic())
            }
            #expect(log.changes == (isAnswered ? [] : [.opened(.timeout)]))
            #expect((breaker.open != nil) == !isAnswered)
        }
    }

    @Test func `a silence that an answer has ended begins anew with the next push`() {
        let (breaker, log, time) = Self.bare()
        guard case .admitted(let pass) = breaker.admit(phone: 0, at: time.clocks.monotonic()) else { return }
        breaker.conclude(pass, .accepting, phone: 0, at: time.clocks.monotonic())
        time.advance(by: .seconds(3600))
        // After an hour's rest these are the first, and nobody waits yet.
        for phone in 1...100 { _ = breaker.admit(phone: phone, at: time.clocks.monotonic()) }
        time.advance(by: .milliseconds(999))
        for phone in 1...100 { _ = breaker.admit(phone: phone, at: time.clocks.monotonic()) }
        #expect(log.changes.isEmpty && breaker.open == nil)
    }

    @Test func `a connection that stands has the next push try, and somebody who acts ends all`() throws {
        for isByConnection in [true, false] {
            let (breaker, log, time) = Self.bare()
            for phone in 1...3 { breaker.connectionRefused(.untrusted, connection: phone, at: time.clocks.monotonic()) }
            #expect(log.changes == [.opened(.untrusted)])
            guard case .refused = breaker.admit(phone: 1, at: time.clocks.monotonic()) else {
                Issue.record("it is open")
                return
            }
            if isByConnection {
                breaker.connected(at: time.clocks.monotonic())
            } else {
                breaker.startAnew(at: time.clocks.monotonic())
                #expect(log.changes.last == .closed(.untrusted, after: .zero))
            }
            guard case .admitted(let pass) = breaker.admit(phone: 1, at: time.clocks.monotonic()) else {
                Issue.record("the next push goes")
                return
            }
            breaker.conclude(pass, .accepting, phone: 1, at: time.clocks.monotonic())
            #expect(log.changes == [.opened(.untrusted), .closed(.untrusted, after: .zero)])
        }
    }

    @Test func `a stranger's phones of another project close Google's way to nobody`() async {
        let google = ScriptedService.google { _, _ in answer(200) }
        #expect(await google.push() == .accepted)
        google.pool.follow { _, _ in
            answer(
                403, FCMAnswerTests.google("PERMISSION_DENIED", details: FCMAnswerTests.fcmError("SENDER_ID_MISMATCH")))
        }
        for phone in 1...300 { #expect(await google.push(to: phone) == .rejected(.foreignDevice)) }
        #expect(google.log.changes.isEmpty)
        #expect(google.pool.calls.count == 301)
    }

    @Test(arguments: [500, 502, 503])
    func `nothing but faults for two seconds is an outage for either service`(_ status: Int) async {
        for service in [
            ScriptedService.apple { _, _ in answer(status) }, ScriptedService.google { _, _ in answer(status) },
        ] {
            for phone in 0..<300 {
                _ = await service.push(to: phone)
                service.time.advance(by: .milliseconds(10))
            }
            #expect(service.log.changes == [.opened(.unavailable)])
            let asked = service.pool.calls.count
            #expect(asked < 2 * 210)
            // The first may be a probe, whose time is drawn by lot; the one behind it is none.
            _ = await service.push()
            guard case .deferred(.serviceUnavailable, let wait) = await service.push() else {
                Issue.record("not told as an outage")
                return
            }
            #expect((.seconds(10) ... .seconds(20)).contains(wait))
            // Well again, it is noticed within five seconds.
            service.pool.follow { _, _ in answer(200) }
            service.time.advance(by: .seconds(4))
            #expect(await service.push() == .accepted)
            #expect(service.log.changes.count == 2)
        }
    }

    @Test(arguments: [
        (HTTP2Failure.unreachable(.connectTimeout), BreakerCause.unreachable),
        (.unreachable(.backingOff(after: .noAnswer)), .unreachable), (.unreachable(.nameTimeout), .unreachable),
        (.unreachable(.tlsFailed(reason: 0)), .unreachable), (.unreachable(.settingsTimeout), .unreachable),
        (.unreachable(.proxyTimeout), .proxyFails), (.unreachable(.proxyHungUp), .proxyFails),
        (.unreachable(.proxyUnreachable(.connectTimeout)), .proxyFails),
        (.unreachable(.proxyRefused(status: 503)), .proxyFails),
        (.unreachable(.backingOff(after: .proxyRefused(status: 429))), .proxyFails),
        (.notSent(.waitedTooLong), .timeout),
        (.unknownOutcome(.timeout), .timeout), (.unknownOutcome(.connectionLost), .unreachable),
    ])
    func `so is a service that gives no answers`(_ failure: HTTP2Failure, _ cause: BreakerCause) async {
        let apple = ScriptedService.apple { _, _ in .failure(failure) }
        for phone in 0..<300 {
            _ = await apple.push(to: phone)
            apple.time.advance(by: .milliseconds(10))
        }
        #expect(apple.log.changes == [.opened(cause)])
    }

    @Test(arguments: [
        (Unreachable.certificateNotTrusted(code: 20), BreakerCause.untrusted),
        (.certificateNotCurrent(code: 10), .untrusted),
        (.certificateForAnotherHost, .untrusted), (.notHTTP2, .notHTTP2), (.proxyRefused(status: 407), .proxyRefuses),
        (.proxyRefused(status: 403), .proxyRefuses), (.proxyAnswerInvalid, .proxyRefuses),
        (.backingOff(after: .proxyAnswerInvalid), .proxyRefuses), (.backingOff(after: .notHTTP2), .notHTTP2),
    ])
    func `whoever stands in the service's place, or before it, is left alone after three phones, under its own name`(
        _ cause: Unreachable, _ name: BreakerCause
    ) async {
        let apple = ScriptedService.apple { _, _ in .failure(.unreachable(cause)) }
        for phone in 1...100 { _ = await apple.push(to: phone) }
        #expect(apple.pool.calls.count == 3)
        #expect(apple.log.changes == [.opened(name)])
    }

    @Test(arguments: [HTTP2Failure.overloaded, .notSent(.closing), .unknownOutcome(.closing)])
    func `what is the relay's own doing is not held against the service`(_ failure: HTTP2Failure) async {
        let apple = ScriptedService.apple { _, _ in .failure(failure) }
        for phone in 0..<300 {
            let before = apple.pool.calls.count
            _ = await apple.push(to: phone)
            #expect(apple.pool.calls.count > before)
            apple.time.advance(by: .milliseconds(100))
        }
        #expect(apple.log.changes.isEmpty)
    }

    @Test func `an account that Google refuses costs one request a minute and opens it`() async {
        let google = ScriptedService.google { _, _ in answer(200) }
        google.endpoint.follow { _, _ in answer(400, #"{"error":"invalid_grant","error_description":"x"}"#) }
        for phone in 1...100 { _ = await google.push(to: phone) }
        #expect(google.endpoint.calls.count == 1)
        #expect(google.pool.calls.isEmpty)
        #expect(google.log.changes == [.opened(.credentials)])
    }

    @Test(
        arguments: [
            (nil, Goodbye.none), (#"{"reason":"BadCertificateEnvironment"}"#, .credentials),
            (#"{"reason":"TooManyProviderTokenUpdates"}"#, .credentials), (#"{"reason":"Shutdown"}"#, .shutdown),
            (#"{"reason":"IdleTimeout"}"#, .idle), (#"{"reason":"NeverHeardOf"}"#, .other), ("{", .other),
            ("Maximum active streams violated for this endpoint.", .tooManyStreams),
            ("exceeded_max_concurrent_streams", .tooManyStreams), ("too_many_pings", .tooManyPings),
            ("session_timed_out", .idle), ("server_shutting_down", .shutdown),
            ("Stream 5 of /3/device/0123456789abcdef does not exist", .other),
        ] as [(String?, Goodbye)])
    func `of a goodbye a known word is told, and nothing of its text`(_ text: String?, _ goodbye: Goodbye) {
        #expect(Goodbye(text) == goodbye)
    }

    @Test(arguments: [
        (#"{"reason":"BadCertificateEnvironment"}"#, Health.refusing(.credentials)),
        (#"{"reason":"InvalidProviderToken"}"#, .refusing(.credentials)),
        (#"{"reason":"Shutdown"}"#, .unknown), (#"{"reason":"IdleTimeout"}"#, .unknown), ("", .unknown),
        ("{", .unknown),
        ("Maximum active streams violated for this endpoint.", .unknown), (#"{"reason":"NeverHeardOf"}"#, .unknown),
    ])
    func `a goodbye for our credentials' sake counts as a refusal`(_ text: String, _ health: Health) {
        #expect(APNsGoodbye.health(text) == health)
        let log = BreakerLog()
        let breaker = ServiceBreaker(.apns, observer: log)
        for number in 1...3 {
            APNsGoodbye.note(
                .goAway(HTTP2ConnectionID(number: UInt64(number)), code: 0, debug: text), for: breaker,
                at: MonotonicInstant(nanoseconds: 0))
        }
        #expect(log.changes == (health == .unknown ? [] : [.opened(.credentials)]))
    }
}
