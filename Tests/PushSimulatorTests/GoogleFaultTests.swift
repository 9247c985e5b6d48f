import PushSimulator
import Testing

/// Google's refusals in all their shapes, quotas, and the life of access tokens.
@Suite(.timeLimit(.minutes(1)))
struct GoogleFaultTests {
    private static func message(_ token: String) -> String {
        #"{"message":{"token":"\#(token)","notification":{"title":"Gryt","body":"x"}}}"#
    }

    /// What came back, and the error in it.
    private static func push(_ fixture: Fixture, _ token: String, access: String? = nil) throws -> TestAnswer {
        try fixture.client(.fcm).exchange(
            fixture.fcmRequest(message(token), accessToken: access ?? fixture.accessToken()))
    }

    private static func details(_ answer: TestAnswer) -> [JSON] {
        guard case .array(let details) = JSON(text: answer.body)?["error"]?["details"] else { return [] }
        return details
    }

    @Test(arguments: FCMRefusal.allCases)
    func `every refusal goes out with its status, shape and Retry-After`(refusal: FCMRefusal) async throws {
        let fixture = try await Fixture.shared()
        let phone = SimulatedPhone(.android)
        fixture.simulator.force(.fcm(refusal, retryAfter: "7", times: 1), on: phone.token, platform: .android)
        let answer = try Self.push(fixture, phone.token)
        #expect(answer.status == refusal.status && answer.headers["retry-after"] == "7")
        let isJSON = answer.headers["content-type"]?.hasPrefix("application/json") == true
        switch refusal {
        case .notFoundPage, .badRequestPage, .unauthorizedPage, .forbiddenPage, .badGatewayPage, .unavailablePage,
            .gatewayTimeoutPage:
            #expect(!isJSON && answer.body.contains("<title>Error \(refusal.status) "))
        case .emptyInternal: #expect(answer.body.isEmpty)
        case .truncatedUnregistered:
            #expect(isJSON && answer.body.contains("NOT_FOUND") && JSON(text: answer.body) == nil)
        default:
            #expect(isJSON && JSON(text: answer.body)?["error"]?["code"]?.integer == Int64(refusal.status))
        }
        #expect(try Self.push(fixture, phone.token).status == 200)
    }

    @Test(
        arguments: [
            (.unregistered, "UNREGISTERED"), (.bareNotFound, nil), (.badTokenText, "INVALID_ARGUMENT"),
            (.badTokenFieldOnly, nil), (.thirdPartyAuth, "THIRD_PARTY_AUTH_ERROR"), (.tokenExpired, nil),
            (.senderIDMismatch, "SENDER_ID_MISMATCH"), (.callerDenied, nil), (.deviceQuota, "QUOTA_EXCEEDED"),
            (.bareQuota, nil), (.internal, "INTERNAL"), (.unavailable, "UNAVAILABLE"),
            (.unspecified, "UNSPECIFIED_ERROR"),
        ] as [(FCMRefusal, String?)])
    func `FCM's own word is there, or is not`(refusal: FCMRefusal, word: String?) async throws {
        let answer = refusal.answer()
        let errors = Self.details(TestAnswer(body: answer.body)).filter {
            $0["@type"]?.string?.hasSuffix(".FcmError") == true
        }
        #expect(errors.map { $0["errorCode"]?.string } == (word.map { [$0] } ?? []))
    }

    @Test func `details are written in every way`() {
        func details(_ form: FCMDetails) -> [JSON] {
            Self.details(TestAnswer(body: FCMRefusal.badTokenField.answer(details: form).body))
        }
        let usual = details(.usual)
        #expect(usual.count == 2 && usual[0]["errorCode"] == "INVALID_ARGUMENT")
        #expect(details(.missing).isEmpty)
        #expect(details(.reordered) == usual.reversed())
        #expect(details(.extra).count == 5 && details(.extra)[2] == usual[0])
        #expect(details(.snakeCase)[0]["error_code"] == "INVALID_ARGUMENT")
        #expect(details(.odd).count == 6 && details(.odd)[0] == "text")
    }

    @Test func `Retry-After is absent, seconds, a date, or huge`() async throws {
        let fixture = try await Fixture.start { $0.clock = { 784_111_777_000 } }
        #expect(fixture.simulator.httpDate(in: .seconds(60)) == "Sun, 06 Nov 1994 08:50:37 GMT")
        #expect(!FCMRefusal.bareQuota.answer().headers.contains { $0.name == "retry-after" })
        for text in ["30", fixture.simulator.httpDate(in: .seconds(60)), "99999999999999999999"] {
            let answer = FCMRefusal.unavailable.answer(retryAfter: text)
            #expect(answer.headers.contains(HeaderField("retry-after", text)))
        }
        await fixture.simulator.stop()
    }

    @Test func `quotas of a device and of the project are kept`() async throws {
        let fixture = try await Fixture.start()
        let (phone, other) = (SimulatedPhone(.android), SimulatedPhone(.android))
        let access = try fixture.accessToken()
        fixture.simulator.limitPushes(to: .android, PushRate(1, per: .seconds(60)), PushRate(2, per: .seconds(3600)))
        fixture.simulator.limitProject(PushRate(5, per: .seconds(60)), retryAfter: "11")
        func subject(_ phone: SimulatedPhone) throws -> String? {
            let answer = try Self.push(fixture, phone.token, access: access)
            guard answer.status == 429 else { return nil }
            #expect(answer.headers["retry-after"] == "11")
            guard case .array(let violations) = Self.details(answer).compactMap({ $0["violations"] }).first else {
                return ""
            }
            return violations.first?["subject"]?.string
        }
        #expect(try subject(phone) == nil)
        #expect(try subject(phone) == "device")
        #expect(try subject(other) == nil)
        fixture.simulator.advanceClock(by: .seconds(61))
        #expect(try subject(phone) == nil)
        fixture.simulator.advanceClock(by: .seconds(61))
        // Two in this hour already.
        #expect(try subject(phone) == "device")
        for _ in 0..<4 { _ = try subject(other) }
        #expect(try subject(SimulatedPhone(.android)) == "project:gryt-simulated")
        #expect(fixture.simulator.books()[.fcm].refusals["QUOTA_EXCEEDED"] == 6)
        await fixture.simulator.stop()
    }

    @Test func `a message is delivered and never answered, or answered late`() async throws {
        let fixture = try await Fixture.start()
        let phone = SimulatedPhone(.android)
        fixture.simulator.force(
            Fault(.silence, delivers: true, times: 1), on: phone.token, platform: .android)
        let client = try fixture.client(.fcm)
        let request = fixture.fcmRequest(Self.message(phone.token), accessToken: try fixture.accessToken())
        let stream = try client.send(request)
        try await fixture.simulator.delivered(to: phone.token, platform: .android)
        #expect(client.answers[stream]?.status == nil)
        #expect(try client.exchange(request).status == 200)
        #expect(fixture.simulator.deliveredCount(to: phone.token, platform: .android) == 2)
        await fixture.simulator.stop()
    }

    @Test func `a token of another project is a mismatch, and a dead one may be noticed late`() async throws {
        let fixture = try await Fixture.shared()
        let phone = SimulatedPhone(.android)
        fixture.simulator.declareLive(phone.token, platform: .android, topic: "another-project")
        #expect(try Self.push(fixture, phone.token).body.contains("SENDER_ID_MISMATCH"))
        fixture.simulator.declareLive(phone.token, platform: .android)
        fixture.simulator.declareDead(phone.token, platform: .android, noticedAfter: .seconds(86_400))
        #expect(try Self.push(fixture, phone.token).status == 200)
        #expect(fixture.simulator.deliveredCount(to: phone.token, platform: .android) == 0)
        fixture.simulator.declareDead(phone.token, platform: .android)
        #expect(try Self.push(fixture, phone.token).body.contains("UNREGISTERED"))
    }

    @Test func `the right access token is refused once`() async throws {
        let fixture = try await Fixture.start()
        let phone = SimulatedPhone(.android)
        let access = try fixture.accessToken()
        fixture.simulator.force(.fcm(.tokenExpired, times: 1), on: .fcm)
        #expect(try Self.push(fixture, phone.token, access: access).status == 401)
        #expect(try Self.push(fixture, phone.token, access: access).status == 200)
        fixture.simulator.revokeAccessTokens()
        #expect(try Self.push(fixture, phone.token, access: access).status == 401)
        await fixture.simulator.stop()
    }

    // MARK: The token endpoint

    @Test(arguments: OAuthRefusal.allCases)
    func `every answer without a token goes out`(refusal: OAuthRefusal) async throws {
        let fixture = try await Fixture.start()
        fixture.simulator.force(.oauth(refusal, retryAfter: "3", times: 1), on: .oauth)
        let expected = refusal.answer(retryAfter: "3")
        let answer = try fixture.client(.oauth).exchange(fixture.tokenRequest(fixture.assertion()))
        #expect(answer.status == expected.status && answer.body == expected.body)
        #expect(answer.headers["retry-after"] == "3")
        #expect(try !fixture.accessToken().isEmpty)
        #expect(fixture.simulator.books().oauthCalls == 2 && fixture.simulator.books().accessTokens == 1)
        await fixture.simulator.stop()
    }

    @Test(arguments: [.number("3599"), "3599", 60, 0, -1, .number("1e3"), .null, true, nil] as [JSON?])
    func `expires_in is of every kind`(expiresIn: JSON?) async throws {
        let fixture = try await Fixture.start()
        fixture.simulator.setAccessTokenLife(AccessTokenLife(expiresIn: expiresIn, lifetime: .seconds(10)))
        let answer = try fixture.client(.oauth).exchange(fixture.tokenRequest(fixture.assertion()))
        let json = try #require(JSON(text: answer.body))
        #expect(json["expires_in"] == expiresIn)
        let access = try #require(json["access_token"]?.string)
        let phone = SimulatedPhone(.android)
        #expect(try Self.push(fixture, phone.token, access: access).status == 200)
        fixture.simulator.advanceClock(by: .seconds(11))
        #expect(try Self.push(fixture, phone.token, access: access).body.contains("ACCESS_TOKEN_EXPIRED"))
        await fixture.simulator.stop()
    }

    @Test(arguments: [
        (ServiceAccountState.keyRevoked, "Invalid JWT Signature."), (.deleted, "Invalid grant: account not found"),
    ])
    func `an account whose key is revoked, or that is deleted, gets no token`(
        state: ServiceAccountState, text: String
    ) async throws {
        let fixture = try await Fixture.start()
        let (before, phone) = (try fixture.accessToken(), SimulatedPhone(.android))
        fixture.simulator.setServiceAccount(state)
        let answer = try fixture.client(.oauth).exchange(fixture.tokenRequest(fixture.assertion()))
        #expect(answer.status == 400 && JSON(text: answer.body)?["error_description"]?.string == text)
        // Tokens from before are good until their own end.
        #expect(try Self.push(fixture, phone.token, access: before).status == 200)
        fixture.simulator.setServiceAccount(.usual)
        #expect(try !fixture.accessToken().isEmpty)
        await fixture.simulator.stop()
    }

    @Test func `the token endpoint is slow, drops the connection and resets the stream`() async throws {
        let fixture = try await Fixture.start()
        let request = fixture.tokenRequest(fixture.assertion())
        fixture.simulator.force(Fault(.proceed, times: 1, delay: .milliseconds(60)), on: .oauth)
        let start = ContinuousClock.now
        #expect(try fixture.client(.oauth).exchange(request).status == 200)
        #expect(ContinuousClock.now - start >= .milliseconds(40))
        fixture.simulator.force(Fault(.disconnect, times: 1), on: .oauth)
        let dropped = try fixture.client(.oauth)
        _ = try dropped.send(request)
        try dropped.waitForClose()
        fixture.simulator.force(Fault(.reset(2), times: 1), on: .oauth)
        #expect(try fixture.client(.oauth).exchange(request).closeCode == 2)
        await fixture.simulator.stop()
    }

    // MARK: Google's connections

    @Test func `Google ends connections that idle, and those that ask too often whether it is there`() async throws {
        let fixture = try await Fixture.start()
        fixture.behave(.fcm) { behaviour in
            behaviour.plan = [
                PlannedAct(at: .idle(.milliseconds(50)), [.goAway(GoAway(text: "session_timed_out", closes: true))])
            ]
        }
        let idle = try fixture.client(.fcm)
        _ = try idle.exchange(TestRequest(path: "/"))
        try idle.waitForClose()
        #expect(idle.goAways.map(\.text) == ["session_timed_out"] && idle.goAways.map(\.lastStreamID) == [1])
        fixture.behave(.fcm) { behaviour in
            let calm = GoAway(code: 11, text: "too_many_pings", closes: true)
            behaviour.plan = [PlannedAct(at: .ping(3), [.goAway(calm)])]
        }
        let eager = try fixture.client(.fcm)
        for _ in 0..<3 { try eager.ping() }
        try eager.waitForClose()
        #expect(eager.goAways == [TestGoAway(lastStreamID: 0, code: 11, text: "too_many_pings")])
        await fixture.simulator.stop()
    }
}
