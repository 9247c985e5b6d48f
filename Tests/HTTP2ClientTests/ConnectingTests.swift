import COpenSSL
import Glibc
import HTTP2Client
import Testing

/// What becomes of a request when no connection can be made, or one is made against odds.
@Suite(.timeLimit(.minutes(1)))
struct ConnectingTests {
    private let authority = TestAuthority()

    /// A peer that answers every request with 200.
    @Sendable private static func answerAll(_ peer: PeerConnection) throws {
        try peer.begin()
        while true { try peer.answer(peer.nextRequest()) }
    }

    private func outcome(
        _ identity: TestAuthority.Identity, _ manner: ScriptedPeer.Manner = ScriptedPeer.Manner(),
        host: String = "localhost", trustsRoot: Bool = true,
        _ configuration: HTTP2PoolConfiguration = HTTP2PoolConfiguration(),
        script: @escaping @Sendable (PeerConnection) throws -> Void = answerAll
    ) async throws -> Result<Int, HTTP2Failure> {
        try await withPeer(identity, manner, script: script) { peer in
            try await PoolFixture.with(
                port: peer.port, host: host, rootFile: trustsRoot ? authority.rootFile : nil, configuration
            ) { fixture in await fixture.send().map(\.status) }
        }
    }

    @Test(arguments: ["localhost", "127.0.0.1"])
    func `a certificate for the name or the address is accepted`(host: String) async throws {
        #expect(try await outcome(authority.issue(), host: host) == .success(200))
    }

    @Test(arguments: ["localhost", "127.0.0.1"])
    func `a certificate for somebody else is not`(host: String) async throws {
        let identity = authority.issue(names: "DNS:other.example,IP:127.0.0.2")
        #expect(try await outcome(identity, host: host) == .failure(.unreachable(.certificateForAnotherHost)))
    }

    @Test func `a certificate of an unknown authority is not trusted`() async throws {
        let code = Int(X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY)
        let expected = HTTP2Failure.unreachable(.certificateNotTrusted(code: code))
        #expect(try await outcome(authority.issue(), trustsRoot: false) == .failure(expected))
    }

    @Test(arguments: [(-7200, -3600, X509_V_ERR_CERT_HAS_EXPIRED), (3600, 7200, X509_V_ERR_CERT_NOT_YET_VALID)])
    func `a certificate of another time is not valid now`(from: Int, to: Int, code: Int32) async throws {
        let expected = HTTP2Failure.unreachable(.certificateNotCurrent(code: Int(code)))
        #expect(try await outcome(authority.issue(from: from, to: to)) == .failure(expected))
    }

    @Test func `a peer that knows nothing newer than TLS 1_1 is refused`() async throws {
        let outcome = try await outcome(authority.issue(), .init(newestTLS: TLS1_1_VERSION))
        guard case .failure(.unreachable(.tlsFailed(let reason))) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(reason != 0)
    }

    @Test func `a peer that speaks TLS 1_2 is accepted`() async throws {
        #expect(try await outcome(authority.issue(), .init(newestTLS: TLS1_2_VERSION)) == .success(200))
    }

    @Test(arguments: ["http/1.1", "none"])
    func `a peer that chooses another protocol than HTTP2, or none of ours, is refused`(alpn: String) async throws {
        let outcome = try await outcome(authority.issue(), .init(alpn: alpn))
        #expect(outcome == .failure(.unreachable(.notHTTP2)))
    }

    @Test func `a peer without ALPN that speaks HTTP2 all the same is accepted`() async throws {
        #expect(try await outcome(authority.issue(), .init(alpn: nil)) == .success(200))
    }

    @Test func `a peer without ALPN that answers in HTTP1 is found out`() async throws {
        let outcome = try await outcome(authority.issue(), .init(alpn: nil)) { peer in
            _ = try peer.read(24)
            try peer.write(Array("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n".utf8))
            peer.readToEnd()
        }
        #expect(outcome == .failure(.unreachable(.notHTTP2)))
    }

    @Test func `a TLS handshake that hangs ends with its time`() async throws {
        var configuration = HTTP2PoolConfiguration()
        configuration.tlsTimeout = .milliseconds(50)
        let outcome = try await outcome(authority.issue(), .init(shakesHands: false), configuration)
        #expect(outcome == .failure(.unreachable(.tlsTimeout)))
    }

    @Test func `a request whose time ends before there is a connection says what was late`() async throws {
        try await withPeer(authority.issue(), .init(shakesHands: false), script: { _ in }) { peer in
            try await PoolFixture.with(port: peer.port, host: "127.0.0.1", rootFile: nil) { fixture in
                #expect(
                    await fixture.send(timeout: .milliseconds(300)).map(\.status)
                        == .failure(.unreachable(.tlsTimeout)))
            }
        }
    }

    @Test func `a peer that ends the connection before its first word has dropped us`() async throws {
        try await withPeer(authority.issue(), script: { _ in }) { peer in
            try await PoolFixture.with(port: peer.port, rootFile: authority.rootFile) { fixture in
                // Whether the request had left by then is a matter of luck.
                let outcomes: [Result<Int, HTTP2Failure>] = [
                    .failure(.unknownOutcome(.connectionLost)), .failure(.notSent(.neverLeft)),
                ]
                #expect(await outcomes.contains(fixture.send().map(\.status)))
                #expect(await fixture.pool.snapshot().lastFault == .noAnswer)
            }
        }
    }

    @Test func `a peer that never sends its SETTINGS is given up`() async throws {
        var configuration = HTTP2PoolConfiguration()
        configuration.settingsTimeout = .milliseconds(50)
        let outcome = try await outcome(authority.issue(), .init(), configuration) { $0.readToEnd() }
        #expect(outcome == .failure(.unknownOutcome(.connectionDead)))
    }

    @Test func `a name that nobody knows is told at once`() async throws {
        try await PoolFixture.with(port: 443, host: "nothing.invalid", rootFile: nil) { fixture in
            guard case .failure(.unreachable(.nameNotResolved)) = await fixture.send() else {
                Issue.record("a name under .invalid was resolved (RFC 6761 says that none is)")
                return
            }
        }
    }

    @Test func `an address of the other family is tried when the first refuses`() async throws {
        // The name has an IPv4 address and the peer listens on the IPv6 one, or the other way round, whatever the
        // resolver makes of it; where it knows one address only, that one is refused.
        let resolved = SocketAddressCount.of("localhost")
        try await withPeer(authority.issue(), .init(isIPv6: true), script: Self.answerAll) { peer in
            try await PoolFixture.with(port: peer.port, rootFile: authority.rootFile) { fixture in
                let outcome = await fixture.send().map(\.status)
                #expect(outcome == (resolved.six ? .success(200) : .failure(.unreachable(.connectFailed(errno: 111)))))
            }
        }
    }

    @Test func `a refusal is told to all who wait, and to those who come during the pause`() async throws {
        var settings = HTTP2PoolConfiguration()
        settings.backoffFirst = .seconds(60)
        settings.backoffCap = .seconds(60)
        let configuration = settings
        try await withPeer(authority.issue(), .init(listensLater: true), script: Self.answerAll) { peer in
            try await PoolFixture.with(
                port: peer.port, host: "127.0.0.1", rootFile: authority.rootFile, configuration
            ) { fixture in
                let refused = Unreachable.connectFailed(errno: ECONNREFUSED)
                #expect(await fixture.send().map(\.status) == .failure(.unreachable(refused)))
                #expect(await fixture.send().map(\.status) == .failure(.unreachable(.backingOff(after: refused))))
                let snapshot = await fixture.pool.snapshot()
                #expect(snapshot.lastFault == refused)
                #expect(snapshot.totals.failedAttempts == 1)
            }
        }
    }

    @Test func `the pool finds back by itself when the peer is there again`() async throws {
        var settings = HTTP2PoolConfiguration()
        settings.backoffFirst = .milliseconds(20)
        settings.openingInterval = .milliseconds(1)
        let configuration = settings
        try await withPeer(authority.issue(), .init(listensLater: true), script: Self.answerAll) { peer in
            try await PoolFixture.with(
                port: peer.port, host: "127.0.0.1", rootFile: authority.rootFile, configuration
            ) { fixture in
                #expect(await fixture.send().map(\.status) != .success(200))
                peer.beginToListen()
                while await fixture.send().map(\.status) != .success(200) { try Task.checkCancellation() }
                #expect(await fixture.pool.snapshot().lastFault == nil)
            }
        }
    }

    @Test func `new roots count for the next connection`() async throws {
        var settings = HTTP2PoolConfiguration()
        settings.backoffFirst = .zero
        let configuration = settings
        try await withPeer(authority.issue(), script: Self.answerAll) { peer in
            try await PoolFixture.with(port: peer.port, host: "127.0.0.1", rootFile: nil, configuration) { fixture in
                guard case .failure(.unreachable(.certificateNotTrusted)) = await fixture.send() else {
                    Issue.record("an unknown root was trusted")
                    return
                }
                await fixture.pool.use(try TLSTrust(additionalRootsFile: authority.rootFile))
                #expect(await fixture.send().map(\.status) == .success(200))
            }
        }
    }

    @Test(arguments: ["/nonexistent.pem", "/etc/hostname"])
    func `a file without certificates is no trust`(path: String) {
        #expect(throws: TrustError.unreadableRoots) { try TLSTrust(additionalRootsFile: path) }
    }
}

/// Which families the resolver knows for a name.
private enum SocketAddressCount {
    static func of(_ name: String) -> (four: Bool, six: Bool) {
        func has(_ family: Int32) -> Bool {
            var hints = unsafe addrinfo()
            unsafe hints.ai_family = family
            var list: UnsafeMutablePointer<addrinfo>?
            defer { unsafe freeaddrinfo(list) }
            return unsafe getaddrinfo(name, nil, &hints, &list) == 0
        }
        return (has(AF_INET), has(AF_INET6))
    }
}
