import CNghttp2
import PushSimulator
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// HEADERS of a GET that end their stream, past any session: literals without indexing (RFC 7541 section 6.2.2).
func rawHeaders(stream: UInt8, literal: UInt8 = 0x00) -> [UInt8] {
    let fields = [(":method", "GET"), (":scheme", "https"), (":authority", "localhost"), (":path", "/")]
    let block = fields.flatMap { (name, value) -> [UInt8] in
        [literal, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
    }
    return [0, 0, UInt8(block.count), 1, 0x05, 0, 0, 0, stream] + block
}

@Suite(.timeLimit(.minutes(1)))
struct ConnectionTests {
    @Test func `Apple allows one stream until a provider token is accepted, then a thousand`() async throws {
        let fixture = try await Fixture.shared()
        let client = try fixture.client(.apnsProduction)
        try client.wait { !$0.announcedStreams.isEmpty }
        #expect(client.settings == [1: 4096, 3: 1, 4: 65_535, 5: 16_384, 6: 8000])
        let phone = SimulatedPhone(.ios)
        _ = try client.exchange(fixture.apnsRequest(phone.token, changing: ["authorization": nil]))
        #expect(client.announcedStreams == [1])
        _ = try client.exchange(fixture.apnsRequest(phone.token))
        #expect(client.announcedStreams == [1, 1000])
    }

    @Test(arguments: [SimulatedService.fcm, .oauth])
    func `Google allows a hundred streams`(service: SimulatedService) async throws {
        let client = try await Fixture.shared().client(service)
        try client.wait { !$0.announcedStreams.isEmpty }
        #expect(client.announcedStreams == [100])
    }

    @Test func `streams opened before the limit is known are refused and may be sent again`() async throws {
        let fixture = try await Fixture.start()
        fixture.simulator.force(Fault(.silence, times: 1), on: .apnsProduction)
        let client = try fixture.client(.apnsProduction)
        let streams = try (0..<3).map { _ in try client.submit(fixture.apnsRequest(SimulatedPhone(.ios).token)) }
        #expect(try client.answer(on: streams[1]).closeCode == NGHTTP2_REFUSED_STREAM.rawValue)
        #expect(try client.answer(on: streams[2]).closeCode == NGHTTP2_REFUSED_STREAM.rawValue)
        #expect(client.answers[streams[0]]?.closeCode == nil)
        // Its answer says that the first request's body has come as well.
        try client.ping()
        try client.wait { $0.frames.contains { $0.type == 6 } }
        #expect(fixture.simulator.books()[.apnsProduction].overLimitStreams == 2)
        #expect(fixture.simulator.books()[.apnsProduction].requests == 1)
        await fixture.simulator.stop()
    }

    @Test func `a stream too many ends the connection with Apple's words`() async throws {
        let fixture = try await Fixture.start()
        fixture.simulator.force(Fault(.silence), on: .apnsProduction)
        let client = try fixture.client(.apnsProduction)
        try client.wait { !$0.announcedStreams.isEmpty }
        _ = try client.send(fixture.apnsRequest(SimulatedPhone(.ios).token))
        try client.sendRaw(rawHeaders(stream: 3))
        try client.wait { !$0.goAways.isEmpty }
        #expect(client.goAways[0].text == "Maximum active streams violated for this endpoint.")
        #expect(client.goAways[0].code == NGHTTP2_PROTOCOL_ERROR.rawValue)
        #expect(fixture.simulator.books()[.apnsProduction].overLimitStreams == 1)
        await fixture.simulator.stop()
    }

    @Test func `with the switch on, a refusal but a 410 lowers the limit to one until a push is accepted`() async throws
    {
        let fixture = try await Fixture.start()
        var behaviour = ConnectionBehaviour.usual(of: .apnsProduction)
        behaviour.dropsToOneAfterRefusal = true
        fixture.simulator.setBehaviour(behaviour, of: .apnsProduction)
        let client = try fixture.client(.apnsProduction)
        let (live, dead) = (SimulatedPhone(.ios).token, SimulatedPhone(.ios).token)
        fixture.simulator.declareDead(dead, platform: .ios)
        _ = try client.exchange(fixture.apnsRequest(live))
        _ = try client.exchange(fixture.apnsRequest(dead))
        #expect(client.announcedStreams == [1, 1000])
        _ = try client.exchange(fixture.apnsRequest(live, changing: ["apns-priority": "7"]))
        // A refusal before the provider token is looked at counts as well.
        #expect(client.announcedStreams == [1, 1000, 1])
        _ = try client.exchange(fixture.apnsRequest(live))
        #expect(client.announcedStreams == [1, 1000, 1, 1000])
        await fixture.simulator.stop()
    }

    @Test func `a GOAWAY goes out at once, with its text, code and last stream`() async throws {
        let fixture = try await Fixture.start()
        let client = try fixture.client(.apnsProduction)
        _ = try client.exchange(fixture.apnsRequest(SimulatedPhone(.ios).token))
        let silent = SimulatedPhone(.ios).token
        fixture.simulator.force(Fault(.silence), on: silent, platform: .ios)
        let stream = try client.send(fixture.apnsRequest(silent))
        try await fixture.simulator.attempted(on: silent, platform: .ios)
        let text = #"{"reason":"Shutdown"}"#
        let count = await fixture.simulator.goAway(
            GoAway(code: 2, text: text, lastStreamID: 1), on: .apnsProduction)
        #expect(count == 1)
        #expect(try client.answer(on: stream).closeCode == NGHTTP2_REFUSED_STREAM.rawValue)
        #expect(client.goAways == [TestGoAway(lastStreamID: 1, code: 2, text: text)])
        #expect(await fixture.simulator.goAway(on: .fcm) == 0)
        await fixture.simulator.stop()
    }

    @Test func `a GOAWAY that closes takes the connection down with it`() async throws {
        let fixture = try await Fixture.start()
        let client = try fixture.client(.apnsSandbox)
        _ = try client.exchange(fixture.apnsRequest(SimulatedPhone(.ios).token))
        await fixture.simulator.goAway(GoAway(text: "x", closes: true), on: .apnsSandbox)
        try client.waitForClose()
        #expect(client.goAways.map(\.text) == ["x"])
        // Its books are closed on the simulator's own loop, which stopping it waits for.
        await fixture.simulator.stop()
        #expect(fixture.simulator.books()[.apnsSandbox].connectionsOpen == 0)
    }

    @Test(arguments: [
        "localhost", "api.push.apple.com", "api.sandbox.push.apple.com", "fcm.googleapis.com", "oauth2.googleapis.com",
    ])
    func `the certificate is good for the real names too`(name: String) async throws {
        let client = try await Fixture.shared().client(.fcm, verifyAs: name)
        try client.wait { !$0.announcedStreams.isEmpty }
    }

    @Test func `the certificate is good for no other name`() async throws {
        let fixture = try await Fixture.shared()
        #expect(throws: TestClientError.self) { try fixture.client(.fcm, verifyAs: "push.gryt.chat") }
    }

    @Test func `a client that offers no HTTP/2 is turned away`() async throws {
        try await Fixture.shared().client(.apnsProduction, offersHTTP2: false).waitForClose()
    }

    @Test func `bytes that are no TLS end their own connection only`() async throws {
        let fixture = try await Fixture.start()
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = fixture.simulator.port(of: .fcm).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        unsafe withUnsafeBytes(of: &address) { bytes in
            unsafe _ = connect(
                descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
        let garbage = Array("GET / HTTP/1.1\r\n\r\n".utf8)
        unsafe _ = write(descriptor, garbage, garbage.count)
        var answer = [UInt8](repeating: 0, count: 1024)
        // An alert, and then the end.
        while unsafe read(descriptor, &answer, answer.count) > 0 {}
        #expect(try !fixture.accessToken().isEmpty)
        await fixture.simulator.stop()
    }

    @Test func `headers beyond the announced size are not taken`() async throws {
        let fixture = try await Fixture.shared()
        var request = fixture.apnsRequest(SimulatedPhone(.ios).token)
        request.headers.append(("x-filler", String(repeating: "x", count: 8000)))
        let answer = try fixture.client(.apnsProduction).exchange(request)
        #expect(answer.status == nil)
        #expect(answer.closeCode == NGHTTP2_INTERNAL_ERROR.rawValue)
    }

    @Test func `a thousand pushes at once on one connection all arrive`() async throws {
        let fixture = try await Fixture.start()
        let client = try fixture.client(.apnsProduction)
        let phone = SimulatedPhone(.ios)
        _ = try client.exchange(fixture.apnsRequest(phone.token))
        let streams = try (0..<1000).map { _ in try client.submit(fixture.apnsRequest(phone.token)) }
        try client.wait { client in streams.allSatisfy { client.answers[$0]?.closeCode != nil } }
        #expect(streams.allSatisfy { client.answers[$0]?.status == 200 })
        #expect(fixture.simulator.deliveredCount(to: phone.token, platform: .ios) == 1001)
        let books = fixture.simulator.books()[.apnsProduction]
        #expect(books.overLimitStreams == 0 && books.doubles == 0 && books.connectionsOpened == 1)
        await fixture.simulator.stop()
    }

    @Test func `stopping ends connections and refuses new ones, and a simulator starts once`() async throws {
        let fixture = try await Fixture.start()
        let client = try fixture.client(.fcm)
        try client.wait { !$0.announcedStreams.isEmpty }
        await #expect(throws: SimulatorError.startedTwice) { try await fixture.simulator.start() }
        await fixture.simulator.stop()
        try client.waitForClose()
        #expect(throws: TestClientError.self) { try fixture.client(.fcm) }
        await fixture.simulator.stop()
        await #expect(throws: SimulatorError.startedTwice) { try await fixture.simulator.start() }
    }

    @Test func `a simulator that is let go while it runs takes its connections and ports along`() async throws {
        var fixture: Fixture? = try await Fixture.start()
        let client = try #require(try fixture?.client(.fcm))
        try client.wait { !$0.announcedStreams.isEmpty }
        let port = try #require(fixture?.simulator.port(of: .fcm))
        fixture = nil
        try client.waitForClose()
        #expect(throws: TestClientError.self) { try TestClient(port: port, rootPEM: "") }
    }

    @Test func `a port that is taken is an error that names it`() async throws {
        let fixture = try await Fixture.shared()
        let port = fixture.simulator.port(of: .fcm)
        var configuration = SimulatorConfiguration(directory: temporaryDirectory())
        configuration.ports = [.fcm: port]
        #expect(throws: SimulatorError.port(port, errno: EADDRINUSE)) {
            try PushSimulator(configuration: configuration)
        }
    }
}
