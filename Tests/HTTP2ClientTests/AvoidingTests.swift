import Glibc
import HTTP2Client
import Synchronization
import Testing

/// Requests that must not go by one connection.
@Suite(.timeLimit(.minutes(1)))
struct AvoidingTests {
    private let authority = TestAuthority()

    /// A peer of which every connection answers with 200 and its number.
    private func with(
        _ configuration: HTTP2PoolConfiguration = HTTP2PoolConfiguration(),
        _ body: @Sendable (PoolFixture) async throws -> Void
    ) async throws {
        try await withPeer(
            authority.issue(),
            script: { peer in
                try peer.begin()
                while true { try peer.answer(peer.nextRequest(), status: 200 + peer.number) }
            }
        ) { peer in
            try await PoolFixture.with(
                port: peer.port, host: "127.0.0.1", rootFile: authority.rootFile, configuration, body: body)
        }
    }

    private func send(
        _ fixture: PoolFixture, avoiding avoided: HTTP2ConnectionID?, leavingWithin: Duration? = nil
    ) async -> Result<HTTP2Response, HTTP2Failure> {
        do throws(HTTP2Failure) {
            return .success(
                try await fixture.pool.send(
                    HTTP2Request(path: "/"), timeout: .seconds(20), leavingWithin: leavingWithin, avoiding: avoided))
        } catch {
            return .failure(error)
        }
    }

    @Test func `a request goes by another connection, which is opened for it, and the first one goes on`() async throws
    {
        try await with { fixture in
            let first = try await fixture.send().get().connection
            let second = try await send(fixture, avoiding: first).get()
            #expect(second.status == 202)
            #expect(second.connection != first)
            // Now that there are two, each is the other's alternative.
            #expect(try await send(fixture, avoiding: second.connection).get().connection == first)
            #expect(await fixture.pool.snapshot().open == 2)
            #expect(await fixture.pool.snapshot().totals.opened == 2)
        }
    }

    @Test func `while it waits for a connection nobody else does, and when none comes in time it has not left`()
        async throws
    {
        var settings = HTTP2PoolConfiguration()
        settings.openingBurst = 1
        settings.openingInterval = .seconds(600)
        try await with(settings) { fixture in
            let first = try await fixture.send().get().connection
            async let repeated = send(fixture, avoiding: first, leavingWithin: .seconds(1))
            await fixture.waitUntil { $0.waiting == 1 }
            #expect(await fixture.sendAtOnce(200).allSatisfy { $0 == 201 })
            #expect(await repeated.map(\.status) == .failure(.notSent(.waitedTooLong)))
            #expect(await fixture.send().map(\.status) == .success(201))
        }
    }

    @Test func `it waits in vain where there may be only one connection`() async throws {
        var settings = HTTP2PoolConfiguration()
        settings.maximumConnections = 1
        try await with(settings) { fixture in
            let first = try await fixture.send().get().connection
            let repeated = await send(fixture, avoiding: first, leavingWithin: .milliseconds(200))
            #expect(repeated.map(\.status) == .failure(.notSent(.waitedTooLong)))
            #expect(await fixture.pool.snapshot().totals.opened == 1)
        }
    }

    @Test func `a pool that is closed answers it`() async throws {
        var settings = HTTP2PoolConfiguration()
        settings.maximumConnections = 1
        try await with(settings) { fixture in
            let first = try await fixture.send().get().connection
            async let repeated = send(fixture, avoiding: first)
            await fixture.waitUntil { $0.waiting == 1 }
            await fixture.pool.close()
            #expect(await repeated.map(\.status) == .failure(.notSent(.closing)))
        }
    }

    @Test func `what has left in time has all of its time for the answer`() async throws {
        try await withPeer(
            authority.issue(),
            script: { peer in
                // No stream at first, so that the request waits; then one, and an answer after its time to leave.
                try peer.begin([(3, 0)])
                try peer.settings([(3, 1)])
                let stream = try peer.nextRequest()
                usleep(2_300_000)
                try peer.answer(stream, status: 204)
                while true { _ = try peer.readFrame() }
            }
        ) { peer in
            var settings = HTTP2PoolConfiguration(initialStreamLimit: 0)
            settings.maximumConnections = 1
            try await PoolFixture.with(
                port: peer.port, host: "127.0.0.1", rootFile: authority.rootFile, settings
            ) { fixture in
                let answer = await send(fixture, avoiding: nil, leavingWithin: .seconds(2))
                #expect(answer.map(\.status) == .success(204))
            }
        }
    }

    @Test func `what becomes possible only after its time to leave does not leave, though no timer has told`()
        async throws
    {
        let mayOpen = Mutex(false)
        try await withPeer(
            authority.issue(),
            script: { peer in
                try peer.begin([(3, 0)])
                while !mayOpen.withLock({ $0 }) { usleep(1000) }
                try peer.settings([(3, 1)])
                try peer.expectSilence()
                #expect(peer.begun == 0)
                try peer.answer(peer.nextRequest(), status: 204)
                peer.readToEnd()
            }
        ) { peer in
            var settings = HTTP2PoolConfiguration(initialStreamLimit: 0)
            settings.maximumConnections = 1
            try await PoolFixture.with(
                port: peer.port, host: "127.0.0.1", rootFile: authority.rootFile, settings
            ) { fixture in
                async let late = send(fixture, avoiding: nil, leavingWithin: .seconds(1))
                await fixture.waitUntil { $0.open == 1 }
                // The loop stands still, as on a machine that is suspended, until the stream is there and the time over.
                let standStill: @Sendable () -> Void = {
                    mayOpen.withLock { $0 = true }
                    usleep(1_200_000)
                }
                await Task(executorPreference: fixture.loop) { standStill() }.value
                #expect(await late.map(\.status) == .failure(.notSent(.waitedTooLong)))
                #expect(await fixture.send().map(\.status) == .success(204))
            }
        }
    }

    // MARK: Replacing

    @Test func `a connection that is to be replaced serves until another stands`() async throws {
        var settings = HTTP2PoolConfiguration()
        settings.openingBurst = 1
        settings.openingInterval = .seconds(1)
        try await with(settings) { fixture in
            let first = try await fixture.send().get().connection
            await fixture.pool.replace(first)
            await fixture.pool.replace(first)
            // The pace of openings lets no other be opened yet.
            #expect(await fixture.send().map(\.status) == .success(201))
            await fixture.waitUntil { $0.totals.closed == 1 }
            #expect(await fixture.send().map(\.status) == .success(202))
            #expect(await fixture.pool.snapshot().totals.opened == 2)
        }
    }

    @Test func `where there is another already, it goes at once`() async throws {
        try await with { fixture in
            let first = try await fixture.send().get().connection
            let second = try await send(fixture, avoiding: first).get().connection
            await fixture.pool.replace(first)
            await fixture.waitUntil { $0.totals.closed == 1 }
            for _ in 0..<10 { #expect(try await fixture.send().get().connection == second) }
            // The last one stays until there is one more.
            await fixture.pool.replace(second)
            await fixture.waitUntil { $0.totals.closed == 2 }
            #expect(await fixture.send().map(\.status) == .success(203))
        }
    }
}
