import CNghttp2
import PushSimulator
import Testing

/// What connections do that no good server does, as it shows on the wire.
@Suite(.timeLimit(.minutes(1)))
struct HostileConnectionTests {
    private static func with(
        _ change: (inout ConnectionBehaviour) -> Void = { _ in },
        _ test: (Fixture, TestClient, String) async throws -> Void
    ) async throws {
        let fixture = try await Fixture.start()
        fixture.behave(.apnsProduction, change)
        try await test(fixture, try fixture.client(.apnsProduction), SimulatedPhone(.ios).token)
        await fixture.simulator.stop()
    }

    // MARK: SETTINGS

    @Test(arguments: [UInt32(0), 1, 100, 500, 1500])
    func `the first limit of streams is what was asked for`(limit: UInt32) async throws {
        try await Self.with({ $0.firstConcurrentStreams = limit }) { _, client, _ in
            try client.wait { !$0.announcedStreams.isEmpty }
            #expect(client.announcedStreams == [limit])
        }
    }

    @Test func `SETTINGS that are never sent are not sent, and answers are`() async throws {
        try await Self.with({ $0.firstSettings = .never }) { fixture, client, token in
            _ = try client.send(fixture.apnsRequest(token))
            try client.wait { !$0.frames(ofType: 1).isEmpty }
            #expect(client.frames(ofType: 4).allSatisfy { $0.flags == 1 })
            #expect(fixture.simulator.deliveredCount(to: token, platform: .ios) == 1)
        }
    }

    @Test func `late SETTINGS hold everything back, and then come first`() async throws {
        try await Self.with({ $0.firstSettings = .after(.milliseconds(60)) }) { fixture, client, token in
            let answer = try client.exchange(fixture.apnsRequest(token))
            #expect(answer.status == 200)
            #expect(client.frames[0].type == 4 && client.frames[0].flags == 0)
            #expect(fixture.simulator.deliveredCount(to: token, platform: .ios) == 1)
        }
    }

    @Test func `a stream too many is refused always, with the switch`() async throws {
        try await Self.with({ $0.overLimit = .refuses }) { fixture, client, token in
            fixture.simulator.force(Fault(.silence, times: 1), on: .apnsProduction)
            try client.wait { !$0.announcedStreams.isEmpty }
            _ = try client.send(fixture.apnsRequest(token))
            try client.sendRaw(rawHeaders(stream: 3))
            try client.wait { !$0.frames(ofType: 3).isEmpty }
            #expect(client.frames(ofType: 3)[0].stream == 3)
            #expect(client.frames(ofType: 3)[0].payload == [0, 0, 0, UInt8(NGHTTP2_REFUSED_STREAM.rawValue)])
            #expect(client.goAways.isEmpty)
            #expect(fixture.simulator.books()[.apnsProduction].overLimitStreams == 1)
        }
    }

    @Test func `streams opened before the limit is known end the connection, with the switch`() async throws {
        try await Self.with({ $0.overLimit = .goesAway }) { fixture, client, token in
            fixture.simulator.force(Fault(.silence, times: 1), on: .apnsProduction)
            for _ in 0..<2 { _ = try client.submit(fixture.apnsRequest(token)) }
            try client.waitForClose()
            #expect(client.announcedStreams == [1])
            #expect(client.goAways.map(\.text) == ["Maximum active streams violated for this endpoint."])
            #expect(client.goAways.map(\.lastStreamID) == [1])
            #expect(!client.sawCloseNotify)
        }
    }

    @Test func `a stream too many is answered, with the switch`() async throws {
        try await Self.with({ $0.overLimit = .serves }) { fixture, client, token in
            let streams = try (0..<3).map { _ in try client.submit(fixture.apnsRequest(token)) }
            for stream in streams { #expect(try client.answer(on: stream).status == 200) }
            #expect(client.announcedStreams == [1, 1000])
        }
    }

    @Test(
        arguments: [
            (.initialWindowSize(1), 4, 1), (.headerTableSize(0), 1, 0),
            (.concurrentStreams(7), 3, 7),
            (.maxFrameSize(20_000), 5, 20_000), (.maxHeaderListSize(1), 6, 1),
        ] as [(ConnectionSetting, Int32, UInt32)])
    func `SETTINGS change in the middle of a connection`(setting: ConnectionSetting, id: Int32, value: UInt32)
        async throws
    {
        try await Self.with { fixture, client, token in
            _ = try client.exchange(fixture.apnsRequest(token))
            #expect(await fixture.simulator.perform(.settings([setting]), on: .apnsProduction) == 1)
            try client.wait { $0.settings[id] == value }
        }
    }

    @Test func `without a stream's window no body comes, and the connection's window is not opened again`() async throws
    {
        try await Self.with({ $0.streamWindow = 0 }) { fixture, client, token in
            try client.wait { $0.settings[4] == 0 }
            _ = try client.send(fixture.apnsRequest(token))
            try client.ping()
            try client.wait { $0.frames.contains { $0.type == 6 && $0.flags == 1 } }
            #expect(fixture.simulator.books()[.apnsProduction].requests == 0)
        }
        try await Self.with({ $0.windowUpdates = .streamsOnly }) { fixture, client, token in
            let body = [UInt8](repeating: UInt8(ascii: " "), count: 5000)
            for _ in 0..<12 {
                var request = fixture.apnsRequest(token)
                request.body = body
                _ = try client.exchange(request)
            }
            #expect(!client.frames(ofType: 8).contains { $0.stream == 0 })
            // The 14th body does not fit into what is left of 65,535 bytes.
            for _ in 0..<2 {
                var request = fixture.apnsRequest(token)
                request.body = body
                _ = try client.send(request)
            }
            try client.ping()
            try client.wait { $0.frames.contains { $0.type == 6 && $0.flags == 1 } }
            #expect(fixture.simulator.books()[.apnsProduction].requests == 13)
        }
    }

    // MARK: Silence

    @Test func `a half-dead connection takes bytes and says nothing`() async throws {
        let dead = PlannedAct(at: .request(2), [.fallSilent(.halfDead)])
        try await Self.with({ $0.plan = [dead] }) { fixture, client, token in
            _ = try client.exchange(fixture.apnsRequest(token))
            let stream = try client.send(fixture.apnsRequest(token))
            try client.ping()
            #expect(try client.staysSilent(milliseconds: 200))
            #expect(client.answers[stream]?.status == nil)
            #expect(fixture.simulator.attemptedCount(on: token, platform: .ios) == 1)
            #expect(fixture.simulator.books()[.apnsProduction].unanswered == 1)
        }
    }

    @Test func `a connection may answer PINGs and nothing else`() async throws {
        let plan = PlannedAct(at: .opened, [.fallSilent(.pingsOnly)])
        try await Self.with({ $0.plan = [plan] }) { fixture, client, token in
            let stream = try client.send(fixture.apnsRequest(token))
            try client.ping()
            try client.wait { $0.frames.contains { $0.type == 6 && $0.flags == 1 } }
            #expect(client.answers[stream]?.status == nil && client.goAways.isEmpty)
            #expect(fixture.simulator.books()[.apnsProduction].pings == 1)
        }
    }

    @Test func `a connection may answer everything but PINGs`() async throws {
        try await Self.with({ $0.answersPings = false }) { fixture, client, token in
            try client.ping()
            _ = try client.exchange(fixture.apnsRequest(token))
            #expect(client.frames(ofType: 6).isEmpty)
        }
    }

    @Test func `a connection that is not read fills up`() async throws {
        let plan = PlannedAct(at: .request(1), [.fallSilent(.unread)])
        try await Self.with({ $0.plan = [plan] }) { fixture, client, token in
            _ = try client.send(fixture.apnsRequest(token))
            #expect(try client.staysSilent(milliseconds: 100) || client.answers.values.allSatisfy { $0.status == nil })
        }
    }

    @Test func `SETTINGS of the client are not confirmed, with the switch`() async throws {
        try await Self.with({ $0.acknowledgesSettings = false }) { fixture, client, token in
            _ = try client.exchange(fixture.apnsRequest(token))
            #expect(!client.frames(ofType: 4).contains { $0.flags == 1 })
        }
    }

    // MARK: The end

    @Test func `too many bad tokens end the connection after the last answer`() async throws {
        let plan = PlannedAct(at: .refusal("BadDeviceToken", 3), [.disconnect])
        try await Self.with({ $0.plan = [plan] }) { fixture, client, token in
            let (bad, dead) = (SimulatedPhone(.ios).token, SimulatedPhone(.ios).token)
            fixture.simulator.declareLive(bad, platform: .ios, environment: .sandbox)
            fixture.simulator.declareDead(dead, platform: .ios)
            for _ in 0..<2 {
                #expect(try client.exchange(fixture.apnsRequest(bad)).status == 400)
                #expect(try client.exchange(fixture.apnsRequest(dead)).status == 410)
                #expect(try client.exchange(fixture.apnsRequest(token)).status == 200)
            }
            let stream = try client.send(fixture.apnsRequest(bad))
            try client.waitForClose()
            #expect(client.answers[stream]?.status == 400)
            #expect(!client.sawCloseNotify)
        }
    }

    @Test(arguments: [(ConnectionAct.disconnect, false), (.closeNotify, true), (.resetTCP, false)])
    func `a connection ends with and without close_notify`(act: ConnectionAct, hasNotify: Bool) async throws {
        try await Self.with { fixture, client, token in
            _ = try client.exchange(fixture.apnsRequest(token))
            // By its answer the server has read all that we sent. What is left unread when a socket is closed becomes a
            // reset, which may overtake the close_notify.
            try client.ping()
            try client.wait { !$0.frames(ofType: 6).isEmpty }
            #expect(await fixture.simulator.perform(act, on: .apnsProduction) == 1)
            try client.waitForClose()
            #expect(client.sawCloseNotify == hasNotify)
        }
    }

    @Test func `each n-th request meets the plan`() async throws {
        let plan = PlannedAct(at: .everyRequest(2), [.frames([.ping(7)])])
        try await Self.with({ $0.plan = [plan] }) { fixture, client, token in
            for _ in 0..<5 { _ = try client.exchange(fixture.apnsRequest(token)) }
            #expect(client.frames(ofType: 6).count == 2)
        }
    }

    // MARK: TLS

    @Test(arguments: [TLSProfile.expired, .wrongName, .unknownRoot])
    func `a certificate that is not to be believed is not`(profile: TLSProfile) async throws {
        let fixture = try await Fixture.start()
        fixture.behave(.fcm) { $0.tls = profile }
        #expect(throws: TestClientError.self) { try fixture.client(.fcm) }
        fixture.behave(.fcm) { $0.tls = .usual }
        #expect(try fixture.client(.fcm).negotiated == "h2")
        await fixture.simulator.stop()
    }

    @Test func `TLS 1.1 is all that is offered`() async throws {
        let fixture = try await Fixture.start()
        fixture.behave(.fcm) { $0.tls = .tls11 }
        #expect(throws: TestClientError.self) { try fixture.client(.fcm) }
        await fixture.simulator.stop()
    }

    @Test func `without a word about protocols HTTP/2 is spoken all the same`() async throws {
        try await Self.with({ $0.tls = .noProtocol }) { fixture, client, token in
            #expect(client.negotiated.isEmpty)
            let answer = try client.exchange(fixture.apnsRequest(token))
            #expect(answer.status == 200)
        }
    }

    @Test(arguments: [(TLSProfile.http11, "http/1.1"), (.http11AfterH2, "h2")])
    func `HTTP/1.1 is answered`(profile: TLSProfile, name: String) async throws {
        let fixture = try await Fixture.start()
        fixture.behave(.fcm) { $0.tls = profile }
        let client = try TestClient(
            port: fixture.simulator.port(of: .fcm), rootPEM: fixture.rootPEM, protocols: ["h2", "http/1.1"])
        #expect(client.negotiated == name)
        try client.waitForClose()
        #expect(client.leftover.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
        await fixture.simulator.stop()
    }
}
