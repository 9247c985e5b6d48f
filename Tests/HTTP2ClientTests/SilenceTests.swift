import Glibc
import Synchronization
import Testing

@testable import HTTP2Client

/// Connections that confirm PINGs, open windows, and answer no request.
///
/// With no time to be patient for, a connection is silent as soon as one request is under way on it.
@Suite(.timeLimit(.minutes(1)))
struct SilenceTests {
    private let authority = TestAuthority()

    private func settings(_ change: (inout HTTP2PoolConfiguration) -> Void = { _ in }) -> HTTP2PoolConfiguration {
        var settings = HTTP2PoolConfiguration()
        settings.silentAfter = .zero
        settings.silenceBackoffFirst = .seconds(1000)
        settings.silenceBackoffCap = .seconds(1000)
        settings.openingBurst = 1000
        change(&settings)
        return settings
    }

    /// A peer of which connections answer with 200 and their number, those that are named here the first request only.
    private func with(
        silent: @escaping @Sendable (Int) -> Bool, answersFirst: Bool = true, _ settings: HTTP2PoolConfiguration,
        _ body: @Sendable (PoolFixture) async throws -> Void
    ) async throws {
        try await withPeer(
            authority.issue(),
            script: { peer in
                try peer.begin()
                if answersFirst { try peer.answer(peer.nextRequest(), status: 200 + peer.number) }
                while true {
                    let stream = try peer.nextRequest()
                    if !silent(peer.number) { try peer.answer(stream, status: 200 + peer.number) }
                }
            }
        ) { peer in
            try await PoolFixture.with(
                port: peer.port, host: "127.0.0.1", rootFile: authority.rootFile, settings, body: body)
        }
    }

    @Test func `one among healthy ones costs what was under way on it, and nobody else anything`() async throws {
        try await with(silent: { $0 == 1 }, settings()) { fixture in
            #expect(await fixture.send().map(\.status) == .success(201))
            async let lost = fixture.send()
            await fixture.waitUntil { $0.inFlight == 1 }
            for _ in 0..<20 { #expect(await fixture.send().map(\.status) == .success(202)) }
            let snapshot = await fixture.pool.snapshot()
            #expect(snapshot.totals.opened == 2)
            // It takes no more, and what is under way is followed to its end.
            #expect(snapshot.open == 1 && snapshot.draining == 1 && snapshot.inFlight == 1)
            #expect(fixture.events.contains { if case .retired(_, .unresponsive) = $0 { true } else { false } })
            await fixture.pool.close()
            #expect(await lost.map(\.status) == .failure(.unknownOutcome(.closing)))
        }
    }

    @Test func `a late answer is heard all the same`() async throws {
        let mayAnswer = Mutex(false)
        try await withPeer(
            authority.issue(),
            script: { peer in
                try peer.begin()
                let first = try peer.nextRequest()
                guard peer.number == 1 else {
                    try peer.answer(first, status: 202)
                    return peer.readToEnd()
                }
                while !mayAnswer.withLock({ $0 }) { usleep(1000) }
                try peer.answer(first, status: 201)
                peer.readToEnd()
            }
        ) { peer in
            try await PoolFixture.with(
                port: peer.port, host: "127.0.0.1", rootFile: authority.rootFile, settings()
            ) { fixture in
                async let late = fixture.send()
                await fixture.waitUntil { $0.inFlight == 1 }
                #expect(await fixture.send().map(\.status) == .success(202))
                mayAnswer.withLock { $0 = true }
                #expect(await late.map(\.status) == .success(201))
            }
        }
    }

    @Test func `where all are silent the replacement is not replaced, and requests go out without waiting`()
        async throws
    {
        try await with(silent: { _ in true }, answersFirst: false, settings()) { fixture in
            let requests = 50
            async let answers = fixture.sendAtOnce(requests)
            await fixture.waitUntil { $0.inFlight == requests }
            #expect(await fixture.pool.snapshot().totals.opened == 2)
            await fixture.pool.close()
            #expect(await answers == Array(repeating: nil, count: requests))
        }
    }

    @Test func `requests that wait for a stream of a silent connection get one of another`() async throws {
        // One stream each, as Apple gives a connection that has not seen a good token yet.
        let one = settings {
            $0.silentAfter = .milliseconds(50)
            $0.initialStreamLimit = 1
            $0.maximumConnections = 1
        }
        try await withPeer(
            authority.issue(),
            script: { peer in
                try peer.begin([(3, 1)])
                while true {
                    let stream = try peer.nextRequest()
                    if peer.number > 1 { try peer.answer(stream, status: 202) }
                }
            }
        ) { peer in
            try await PoolFixture.with(
                port: peer.port, host: "127.0.0.1", rootFile: authority.rootFile, one
            ) { fixture in
                async let stuck = fixture.send()
                await fixture.waitUntil { $0.inFlight == 1 }
                #expect(await fixture.sendAtOnce(10) == Array(repeating: 202, count: 10))
                await fixture.pool.close()
                #expect(await stuck.map(\.status) == .failure(.unknownOutcome(.closing)))
            }
        }
    }

    @Test func `what takes over goes to another address`() async throws {
        let script: @Sendable (Int) -> @Sendable (PeerConnection) throws -> Void = { status in
            { peer in
                try peer.begin()
                try peer.answer(peer.nextRequest(), status: status)
                while true { _ = try peer.nextRequest() }
            }
        }
        try await withPeer(authority.issue(), script: script(201)) { first in
            try await withPeer(authority.issue(1), script: script(202)) { second in
                // The addresses are shuffled: what is right by luck is wrong in one of these.
                for _ in 0..<8 {
                    try await PoolFixture.with(
                        port: 443, host: "localhost", rootFile: authority.rootFile, settings(),
                        resolve: { _ in addresses(("127.0.0.1", first.port), ("127.0.0.1", second.port)) }
                    ) { fixture in
                        let before = try await fixture.send().get().status
                        async let lost = fixture.send()
                        await fixture.waitUntil { $0.inFlight == 1 }
                        #expect(try await fixture.send().get().status == 403 - before)
                        await fixture.pool.close()
                        _ = await lost
                    }
                }
            }
        }
    }
}
