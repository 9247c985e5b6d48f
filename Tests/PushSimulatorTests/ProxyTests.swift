import PushSimulator
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// The HTTP CONNECT proxy, by curl and by hand.
@Suite(.timeLimit(.minutes(1)))
struct ProxyTests {
    private static func connect(
        _ fixture: Fixture, to target: String? = nil, fields: String = ""
    ) throws -> TestSocket {
        let socket = try TestSocket(port: fixture.simulator.port(of: .proxy))
        let target = target ?? "localhost:\(fixture.simulator.port(of: .fcm))"
        socket.write("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\(fields)\r\n")
        return socket
    }

    /// A client of FCM through the proxy.
    private static func client(_ fixture: Fixture, to target: String, name: String = "localhost") throws -> TestClient {
        try TestClient(port: fixture.simulator.port(of: .proxy), rootPEM: fixture.rootPEM, verifyAs: name) {
            descriptor in
            let request = Array("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\r\n".utf8)
            unsafe _ = write(descriptor, request, request.count)
            var answer = ""
            var byte: UInt8 = 0
            while !answer.hasSuffix("\r\n\r\n"), unsafe read(descriptor, &byte, 1) == 1 {
                answer += String(decoding: [byte], as: UTF8.self)
            }
            guard answer.hasPrefix("HTTP/1.1 200 ") else { throw TestClientError(description: answer) }
        }
    }

    @Test(arguments: [
        ("api.push.apple.com:443", "api.push.apple.com", SimulatedService.apnsProduction),
        ("api.push.apple.com:2197", "api.push.apple.com", .apnsProduction),
        ("api.sandbox.push.apple.com:443", "api.sandbox.push.apple.com", .apnsSandbox),
        ("fcm.googleapis.com:443", "fcm.googleapis.com", .fcm),
        ("oauth2.googleapis.com:443", "oauth2.googleapis.com", .oauth),
    ])
    func `the real names lead to what stands for them`(target: String, name: String, service: SimulatedService)
        async throws
    {
        let fixture = try await Fixture.start()
        let client = try Self.client(fixture, to: target, name: name)
        _ = try client.exchange(TestRequest(method: "GET", path: "/nowhere"))
        let books = fixture.simulator.books()
        #expect(books[service].connectionsOpened == 1 && books[service].requests == 1)
        #expect(books.proxy.connects == [target: 1] && books.proxy.tunnels == [target: 1])
        #expect(books.proxy.tunnelsOpen == 1 && books.proxy.answers == [200: 1])
        #expect(await fixture.simulator.disconnect(.proxy) == 1)
        try client.waitForClose()
        #expect(fixture.simulator.books().proxy.tunnelsOpen == 0)
        await fixture.simulator.stop()
    }

    @Test func `many bytes go through both ways`() async throws {
        let fixture = try await Fixture.start()
        let client = try Self.client(fixture, to: "localhost:\(fixture.simulator.port(of: .apnsProduction))")
        let token = SimulatedPhone(.ios).token
        _ = try client.exchange(fixture.apnsRequest(token))
        let streams = try (0..<900).map { _ in try client.submit(fixture.apnsRequest(token)) }
        for stream in streams { #expect(try client.answer(on: stream).status == 200) }
        #expect(fixture.simulator.deliveredCount(to: token, platform: .ios) == 901)
        await fixture.simulator.stop()
    }

    @Test(arguments: ["Connection established", "OK", "", "Something else; entirely"])
    func `any reason phrase goes with success`(reason: String) async throws {
        let fixture = try await Fixture.shared()
        fixture.simulator.answerConnects(.connects(reason: reason), host: "127.0.0.1", times: 1)
        let socket = try Self.connect(fixture, to: "127.0.0.1:\(fixture.simulator.port(of: .fcm))")
        #expect(socket.read(until: "\r\n\r\n") == "HTTP/1.1 200 \(reason)\r\n\r\n")
    }

    @Test(arguments: [403, 407, 502, 503])
    func `a proxy refuses so often, and then no more`(status: Int) async throws {
        let fixture = try await Fixture.start()
        fixture.simulator.answerConnects(.refuses(status: status, reason: "No", body: "no"), times: 2)
        for _ in 0..<2 {
            let answer = try Self.connect(fixture).read()
            #expect(answer == .success("HTTP/1.1 \(status) No\r\nContent-Length: 2\r\n\r\nno"))
        }
        #expect(try Self.connect(fixture).read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200 "))
        #expect(fixture.simulator.books().proxy.answers == [status: 2, 200: 1])
        await fixture.simulator.stop()
    }

    @Test func `where nobody listens the proxy answers 502, and it may be received badly itself`() async throws {
        let fixture = try await Fixture.start()
        await fixture.simulator.setListening(.refuses, of: .fcm)
        #expect(try Self.connect(fixture).read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 502 "))
        await fixture.simulator.setListening(.usual, of: .fcm)
        #expect(try Self.connect(fixture).read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200 "))
        await fixture.simulator.receive(.proxy, with: .stall, times: 1)
        #expect(try !Self.connect(fixture).isReadable(withinMilliseconds: 150))
        #expect(try Self.connect(fixture).read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200 "))
        let proxy = fixture.simulator.books().proxy
        #expect(proxy.tunnels.values.reduce(0, +) == 2 && proxy.answers == [200: 2, 502: 1])
        await fixture.simulator.stop()
    }

    @Test func `one host is refused, others are not`() async throws {
        let fixture = try await Fixture.start()
        fixture.simulator.answerConnects(.refuses(status: 503), host: "fcm.googleapis.com")
        #expect(
            try Self.connect(fixture, to: "fcm.googleapis.com:443").read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 503"))
        #expect(
            try Self.connect(fixture, to: "oauth2.googleapis.com:443").read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200")
        )
        fixture.simulator.proxyAsUsual()
        #expect(
            try Self.connect(fixture, to: "fcm.googleapis.com:443").read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200"))
        await fixture.simulator.stop()
    }

    @Test func `who has no credentials is asked for them`() async throws {
        let fixture = try await Fixture.start()
        fixture.simulator.requireProxyCredentials(ProxyCredentials(user: "user", password: "pass:word"))
        let wrong = "Proxy-Authorization: Basic dXNlcjp3cm9uZw==\r\n"
        let right = "proxy-authorization: Basic dXNlcjpwYXNzOndvcmQ=\r\n"
        for fields in ["", wrong] {
            let answer = try Self.connect(fixture, fields: fields).read(until: "\r\n\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 407 ") && answer.contains("Proxy-Authenticate: Basic "))
        }
        #expect(try Self.connect(fixture, fields: right).read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200"))
        #expect(fixture.simulator.books().proxy.withCredentials == 2)
        #expect(
            fixture.simulator.proxyURL(ProxyCredentials(user: "u", password: "p"))
                == "http://u:p@localhost:\(fixture.simulator.port(of: .proxy))")
        await fixture.simulator.stop()
    }

    @Test func `a proxy hangs, closes, resets, drips and talks too much`() async throws {
        let fixture = try await Fixture.start()
        let simulator = fixture.simulator
        simulator.answerConnects(.hangs, times: 1)
        #expect(try !Self.connect(fixture).isReadable(withinMilliseconds: 150))
        simulator.answerConnects(.closes, times: 1)
        #expect(try Self.connect(fixture).read() == .success(""))
        simulator.answerConnects(.resets, times: 1)
        #expect(try Self.connect(fixture).read() == .failure(TestSocketError(errno: ECONNRESET)))
        simulator.answerConnects(.says("HTTP/2 garbage"), times: 1)
        #expect(try Self.connect(fixture).read() == .success("HTTP/2 garbage"))
        simulator.answerConnects(.connectsWithHeaders(bytes: 200_000), times: 1)
        #expect(try Self.connect(fixture).read(until: "\r\n\r\n").utf8.count > 200_000)
        simulator.answerConnects(.connectsSlowly(pause: .milliseconds(1)), times: 1)
        let slow = try Self.connect(fixture).read(until: "\r\n\r\n")
        #expect(slow == "HTTP/1.1 200 OK\r\nVia: 1.1 simulator\r\n\r\n")
        await simulator.stop()
    }

    @Test(arguments: [
        ("GET http://localhost/ HTTP/1.1", 405), ("CONNECT localhost HTTP/1.1", 400),
        ("CONNECT localhost:0 HTTP/1.1", 400),
        ("CONNECT push.example:443 HTTP/1.1", 502), ("nonsense", 400),
    ])
    func `what is no CONNECT to this machine is refused`(line: String, status: Int) async throws {
        let fixture = try await Fixture.shared()
        let socket = try TestSocket(port: fixture.simulator.port(of: .proxy))
        socket.write(line + "\r\n\r\n")
        #expect(socket.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 \(status) "))
    }
}
