import PushSimulator
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// How connections are received that are not received well.
@Suite(.timeLimit(.minutes(1)))
struct ReceptionTests {
    @Test func `connections are refused by the kernel, and then taken on the same port`() async throws {
        let fixture = try await Fixture.start()
        let client = try fixture.client(.fcm)
        try client.wait { !$0.announcedStreams.isEmpty }
        for _ in 0..<2 {
            await fixture.simulator.setListening(.refuses, of: .fcm)
            let socket = try TestSocket(port: fixture.simulator.port(of: .fcm))
            #expect(socket.connectError == ECONNREFUSED)
            await fixture.simulator.setListening(.usual, of: .fcm)
            #expect(try fixture.client(.fcm).negotiated == "h2")
        }
        // What is open stays so.
        #expect(try client.exchange(TestRequest(path: "/")).status == 404)
        await fixture.simulator.stop()
    }

    @Test func `SYNs are dropped, and then taken`() async throws {
        let fixture = try await Fixture.start()
        let opened = fixture.simulator.books()[.fcm].connectionsOpened
        await fixture.simulator.setListening(.drops, of: .fcm)
        let socket = try TestSocket(port: fixture.simulator.port(of: .fcm), isBlocking: false)
        #expect(socket.connectError == EINPROGRESS)
        // The kernel would answer on loopback before connect returns.
        #expect(!socket.isWritable(withinMilliseconds: 200))
        await fixture.simulator.setListening(.usual, of: .fcm)
        #expect(try fixture.client(.fcm).negotiated == "h2")
        #expect(fixture.simulator.books()[.fcm].connectionsOpened == opened + 1)
        await fixture.simulator.stop()
    }

    @Test func `one address is dead, and the other is not`() async throws {
        let fixture = try await Fixture.start()
        let port = fixture.simulator.port(of: .fcm)
        await fixture.simulator.setListening(.refuses, of: .fcm, over: .v6)
        #expect(try fixture.client(.fcm).negotiated == "h2")
        await fixture.simulator.setListening(.refuses, of: .fcm, over: .v4)
        #expect(try TestSocket(port: port).connectError == ECONNREFUSED)
        await fixture.simulator.setListening(.usual, of: .fcm)
        #expect(try fixture.client(.fcm).negotiated == "h2")
        await fixture.simulator.stop()
    }

    @Test func `a connection is reset as soon as it is there, so often`() async throws {
        let fixture = try await Fixture.start()
        await fixture.simulator.receive(.fcm, with: .reset, times: 2)
        for _ in 0..<2 {
            let socket = try TestSocket(port: fixture.simulator.port(of: .fcm))
            #expect(socket.read() == .failure(TestSocketError(errno: ECONNRESET)))
        }
        #expect(try fixture.client(.fcm).negotiated == "h2")
        #expect(fixture.simulator.books()[.fcm].connectionsHeldBack == 2)
        await fixture.simulator.stop()
    }

    @Test func `a connection is closed as soon as it is there`() async throws {
        let fixture = try await Fixture.start()
        await fixture.simulator.receive(.fcm, with: .close, times: 1)
        #expect(try TestSocket(port: fixture.simulator.port(of: .fcm)).read() == .success(""))
        await fixture.simulator.stop()
    }

    @Test func `TLS is never answered, until all is as usual again`() async throws {
        let fixture = try await Fixture.start()
        await fixture.simulator.receive(.apnsSandbox, with: .stall)
        let socket = try TestSocket(port: fixture.simulator.port(of: .apnsSandbox))
        socket.write("\u{16}\u{3}\u{1}")
        #expect(!socket.isReadable(withinMilliseconds: 200))
        await fixture.simulator.receiveAsUsual(.apnsSandbox)
        #expect(try fixture.client(.apnsSandbox).negotiated == "h2")
        await fixture.simulator.stop()
        #expect(socket.read() == .success(""))
    }

    @Test func `TLS is answered late`() async throws {
        let fixture = try await Fixture.start()
        await fixture.simulator.receive(.fcm, with: .delay(.milliseconds(80)), times: 1)
        let start = ContinuousClock.now
        #expect(try fixture.client(.fcm).negotiated == "h2")
        #expect(ContinuousClock.now - start >= .milliseconds(60))
        await fixture.simulator.stop()
    }

    @Test func `something else than TLS is said`() async throws {
        let fixture = try await Fixture.start()
        await fixture.simulator.receive(.fcm, with: .noise("HTTP/1.1 400 Bad Request\r\n\r\n"), times: 1)
        let socket = try TestSocket(port: fixture.simulator.port(of: .fcm))
        socket.write("\u{16}\u{3}\u{1}")
        #expect(socket.read() == .success("HTTP/1.1 400 Bad Request\r\n\r\n"))
        await fixture.simulator.stop()
    }

    @Test func `whoever connects too often is treated as an attacker`() async throws {
        let fixture = try await Fixture.start()
        await fixture.simulator.limitConnections(of: .apnsProduction, to: 2, per: .seconds(3600), beyond: .reset)
        for _ in 0..<2 { #expect(try fixture.client(.apnsProduction).negotiated == "h2") }
        #expect(throws: TestClientError.self) { try fixture.client(.apnsProduction) }
        #expect(fixture.simulator.books()[.apnsProduction].connectionsHeldBack == 1)
        await fixture.simulator.receiveAsUsual(.apnsProduction)
        #expect(try fixture.client(.apnsProduction).negotiated == "h2")
        await fixture.simulator.stop()
    }
}
