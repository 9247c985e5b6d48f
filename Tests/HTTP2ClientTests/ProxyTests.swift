import Glibc
import LoopbackProxy
import Testing

@testable import HTTP2Client

/// Connections through a proxy.
@Suite(.timeLimit(.minutes(1)))
struct ProxyTests {
    private let authority = TestAuthority()

    /// A name that no name server knows (RFC 6761), and that the origin's certificate is for.
    private static let hidden = "origin.invalid"

    /// A proxy, an origin behind it that answers everything, and a pool between which only the proxy can help.
    private func with(
        _ manner: LoopbackProxy.Manner, names: String = "DNS:\(hidden)", credentials: ProxyCredentials? = nil,
        _ change: (inout HTTP2PoolConfiguration) -> Void = { _ in },
        body: @Sendable (PoolFixture, LoopbackProxy, ScriptedPeer) async throws -> Void
    ) async throws {
        var configuration = HTTP2PoolConfiguration()
        change(&configuration)
        let settings = configuration
        let proxy = LoopbackProxy(manner)
        defer { proxy.stop() }
        let way = try #require(HTTPProxy(host: "127.0.0.1", port: proxy.port, credentials: credentials))
        try await withPeer(
            authority.issue(names: names),
            script: { peer in
                try peer.begin()
                while true { try peer.answer(peer.nextRequest()) }
            }
        ) { peer in
            try await PoolFixture.with(
                port: peer.port, host: Self.hidden, proxy: way, rootFile: authority.rootFile, settings,
                resolve: { _ in
                    Issue.record("a name was looked up that is the proxy's to look up")
                    return .failure(.nameTimeout)
                }
            ) { try await body($0, proxy, peer) }
        }
    }

    @Test(arguments: [
        "HTTP/1.1 200 Connection established\r\n\r\n", "HTTP/1.0 200 OK\r\nVia: x\r\n\r\n", "HTTP/1.1 299\r\n\r\n",
    ])
    func `requests go through the tunnel, whose name the proxy looks up`(words: String) async throws {
        try await with(.opens(words)) { fixture, proxy, peer in
            for _ in 0..<10 { #expect(await fixture.send().map(\.status) == .success(200)) }
            let target = "\(Self.hidden):\(peer.port)"
            #expect(proxy.requests == ["CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\r\n"])
            #expect(proxy.tunnels == 1)
        }
    }

    @Test func `a user name and a password are handed over, and do not print`() async throws {
        let credentials = ProxyCredentials(user: "gryt", password: "p:ä%")
        try await with(LoopbackProxy.established, credentials: credentials) { fixture, proxy, _ in
            #expect(await fixture.send().map(\.status) == .success(200))
            // As `printf 'gryt:p:ä%%' | base64` has it.
            #expect(proxy.requests.first?.contains("\r\nProxy-Authorization: Basic Z3J5dDpwOsOkJQ==\r\n\r\n") == true)
        }
        var dumped = ""
        dump(HTTPProxy(host: "proxy", port: 3128, credentials: credentials), to: &dumped)
        dump(credentials, to: &dumped)
        dumped += "\(credentials) \(String(reflecting: credentials))"
        #expect(!dumped.contains("Z3J5") && !dumped.contains("gryt"))
    }

    @Test(arguments: [
        (407, true, "proxy_wants_credentials"), (403, true, "proxy_forbids"), (502, false, "proxy_refused"),
        (503, false, "proxy_refused"), (504, false, "proxy_refused"), (429, false, "proxy_refused"),
        (404, true, "proxy_refused"), (302, true, "proxy_refused"),
    ])
    func `a refusal is told with its status, and whether somebody must act`(
        status: Int, needsOperator: Bool, label: String
    ) async throws {
        try await with(.says("HTTP/1.1 \(status) No\r\nContent-Length: 0\r\n\r\n")) { fixture, _, peer in
            let refused = Unreachable.proxyRefused(status: status)
            #expect(await fixture.send().map(\.status) == .failure(.unreachable(refused)))
            #expect(refused.needsOperator == needsOperator)
            #expect(String(describing: refused.metricLabel) == label)
            #expect(refused.description.hasPrefix("proxy refused with status \(status)"))
            #expect(peer.accepted == 0)
        }
    }

    @Test func `what is no answer is told as such`() async throws {
        let endless = "HTTP/1.1 200 OK" + String(repeating: "x", count: 30_000)
        for words in ["\u{15}\u{3}\u{1}\u{0}\u{2}\u{2}\u{28}", "SSH-2.0-OpenSSH\r\n", endless] {
            try await with(.says(words)) { fixture, _, _ in
                #expect(await fixture.send().map(\.status) == .failure(.unreachable(.proxyAnswerInvalid)))
            }
        }
    }

    @Test func `a proxy that hangs up without a word is told`() async throws {
        try await with(.hangsUp) { fixture, _, _ in
            #expect(await fixture.send().map(\.status) == .failure(.unreachable(.proxyHungUp)))
        }
    }

    @Test func `a proxy that never answers ends with its time`() async throws {
        try await with(.isSilent, { $0.tunnelTimeout = .milliseconds(50) }) { fixture, _, _ in
            #expect(await fixture.send().map(\.status) == .failure(.unreachable(.proxyTimeout)))
        }
    }

    @Test func `a request whose time ends before the proxy has answered says what was late`() async throws {
        try await with(.isSilent) { fixture, _, _ in
            let outcome = await fixture.send(timeout: .milliseconds(200)).map(\.status)
            #expect(outcome == .failure(.unreachable(.proxyTimeout)))
        }
    }

    @Test func `a tunnel that is late is used all the same, and closing the pool meanwhile hurts nobody`() async throws
    {
        try await with(.holdsBack) { fixture, proxy, _ in
            async let first = fixture.send()
            while proxy.requests.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
            proxy.release()
            #expect(await first.map(\.status) == .success(200))
        }
        try await with(.holdsBack) { fixture, proxy, _ in
            async let first = fixture.send()
            while proxy.requests.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
            await fixture.pool.close()
            #expect(await first.map(\.status) == .failure(.notSent(.closing)))
        }
    }

    @Test func `the certificate must be the origin's, whatever the proxy's name is`() async throws {
        try await with(LoopbackProxy.established, names: "IP:127.0.0.1,DNS:localhost") { fixture, _, _ in
            #expect(await fixture.send().map(\.status) == .failure(.unreachable(.certificateForAnotherHost)))
        }
    }

    @Test func `a proxy that cannot be reached is not taken for the origin`() async throws {
        let port = try #require(LoopbackPort(isIPv6: false))
        defer { close(port.socket) }
        for (host, answer) in [
            ("127.0.0.1", nil), ("proxy.invalid", Unreachable.nameNotResolved(code: EAI_NONAME)),
        ] {
            let proxy = HTTPProxy(host: host, port: port.port)
            try await PoolFixture.with(
                port: 443, host: Self.hidden, proxy: proxy, rootFile: nil,
                resolve: { endpoint in
                    #expect(endpoint.host == host)
                    return .failure(answer ?? .nameTimeout)
                }
            ) { fixture in
                let within = answer ?? .connectFailed(errno: ECONNREFUSED)
                #expect(await fixture.send().map(\.status) == .failure(.unreachable(.proxyUnreachable(within))))
                #expect(Unreachable.proxyUnreachable(within).description.hasPrefix("no way to the proxy: "))
            }
        }
    }

    @Test func `a proxy with several addresses is raced like any other host`() async throws {
        let proxy = LoopbackProxy()
        defer { proxy.stop() }
        let dead = try #require(LoopbackPort(isIPv6: true))
        defer { close(dead.socket) }
        let way = try #require(HTTPProxy(host: "proxy.invalid", port: proxy.port))
        try await withPeer(
            authority.issue(),
            script: { peer in
                try peer.begin()
                while true { try peer.answer(peer.nextRequest()) }
            }
        ) { peer in
            try await PoolFixture.with(
                port: peer.port, host: "127.0.0.1", proxy: way, rootFile: authority.rootFile,
                resolve: { _ in addresses(("::1", dead.port), ("127.0.0.1", proxy.port)) }
            ) { fixture in
                #expect(await fixture.send().map(\.status) == .success(200))
                #expect(proxy.requests.first?.hasPrefix("CONNECT 127.0.0.1:\(peer.port) HTTP/1.1\r\n") == true)
            }
        }
    }

    @Test func `a proxy that takes connections and hangs is asked beside these, and found back before they end`()
        async throws
    {
        let change: (inout HTTP2PoolConfiguration) -> Void = { settings in
            settings.besideAfter = .milliseconds(20)
            settings.attemptsAtOnce = 1000
            settings.openingBurst = 1000
        }
        try await with(.isSilent, change) { fixture, proxy, _ in
            async let answer = fixture.send()
            while proxy.requests.count < 2 { try await Task.sleep(for: .milliseconds(2)) }
            proxy.manner = LoopbackProxy.established
            #expect(await answer.map(\.status) == .success(200))
            // Those that hung are let go of with it.
            let snapshot = await fixture.pool.snapshot()
            #expect(snapshot.connecting == 0 && snapshot.open == 1)
            #expect(snapshot.totals.opened == 1 && snapshot.totals.failedAttempts == 0)
        }
    }

    @Test func `a proxy that refuses for a while and then works is found back by itself`() async throws {
        let change: (inout HTTP2PoolConfiguration) -> Void = { settings in
            settings.backoffFirst = .milliseconds(5)
            settings.backoffCap = .milliseconds(5)
            settings.openingInterval = .milliseconds(1)
        }
        try await with(.says("HTTP/1.1 503 Later\r\n\r\n"), change) { fixture, proxy, peer in
            while proxy.requests.count < 20 {
                try Task.checkCancellation()
                guard case .failure(.unreachable(let reason)) = await fixture.send().map(\.status) else {
                    Issue.record("a request was answered through a proxy that refuses")
                    return
                }
                let refused = Unreachable.proxyRefused(status: 503)
                #expect(reason == refused || reason == .backingOff(after: refused))
            }
            #expect(peer.accepted == 0)
            proxy.manner = LoopbackProxy.established
            while await fixture.send().map(\.status) != .success(200) { try Task.checkCancellation() }
            #expect(await fixture.pool.snapshot().lastFault == nil)
            // Started anew under a connection that stands.
            proxy.cut()
            await fixture.waitUntil { $0.open == 0 }
            #expect(await fixture.send().map(\.status) == .success(200))
            #expect(proxy.tunnels == 2)
        }
    }
}

/// These addresses, as a name server would give them.
func addresses(_ pairs: (host: String, port: UInt16)...) -> Result<[SocketAddress], Unreachable> {
    .success(pairs.flatMap { (try? SocketAddress.all(of: $0.host, port: $0.port, onlyLiteral: true).get()) ?? [] })
}
