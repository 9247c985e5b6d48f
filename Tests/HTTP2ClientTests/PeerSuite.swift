import HTTP2Client

/// Tests of a pool against one scripted peer whose certificate it trusts.
protocol PeerSuite: Sendable {
    var authority: TestAuthority { get }
}

extension PeerSuite {
    /// Runs a peer by the script, and beside it what asks by a pool of that configuration.
    func with(
        _ configuration: HTTP2PoolConfiguration = HTTP2PoolConfiguration(),
        script: @escaping @Sendable (PeerConnection) throws -> Void,
        body: @Sendable (PoolFixture) async throws -> Void
    ) async throws {
        let authority = authority
        try await withPeer(authority.issue(), script: script) { peer in
            try await PoolFixture.with(
                port: peer.port, host: "127.0.0.1", rootFile: authority.rootFile, configuration, body: body)
        }
    }
}
