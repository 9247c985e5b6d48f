import Glibc
import HTTP2Client
import Synchronization
import Testing

/// What becomes of requests when a whole connection behaves in an unusual way.
@Suite(.timeLimit(.minutes(1)))
struct ConnectionTests: PeerSuite {
    let authority = TestAuthority()

    // MARK: Broken peers

    @Test(arguments: [false, true])
    func `a connection that breaks leaves every outcome unknown, and the next request takes a new one`(
        withReset: Bool
    ) async throws {
        try await with(script: { peer in
            try peer.begin()
            guard peer.number == 2 else {
                try peer.answer(peer.nextRequest())
                for _ in 0..<5 { _ = try peer.nextRequest() }
                if withReset { peer.willReset() } else { peer.drop() }
                return
            }
            while true { try peer.answer(peer.nextRequest(), status: 202) }
        }) { fixture in
            #expect(await fixture.send().map(\.status) == .success(200))
            let outcomes = await withTaskGroup(of: Result<Int, HTTP2Failure>.self) { group in
                for _ in 0..<5 { group.addTask { await fixture.send().map(\.status) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.allSatisfy { $0 == .failure(.unknownOutcome(.connectionLost)) })
            #expect(await fixture.send().map(\.status) == .success(202))
        }
    }

    @Test(arguments: ProtocolBreach.allCases)
    func `frames that break the protocol end the connection`(breach: ProtocolBreach) async throws {
        try await with(script: { peer in
            try peer.begin()
            _ = try peer.nextRequest()
            for frame in breach.frames { try peer.write(frame) }
            peer.readToEnd()
        }) { fixture in
            #expect(await fixture.send().map(\.status) == .failure(.unknownOutcome(.protocolViolation)))
        }
    }

    enum ProtocolBreach: CaseIterable {
        case continuationFlood, pushPromise, brokenCompression, dataOnNoStream, settingsFlood

        var frames: [Frame] {
            let block = headerBlock([(":status", "200")])
            let more = Frame(kind: .continuation, stream: 1, payload: headerBlock([("a", "b")]))
            return switch self {
            case .continuationFlood:
                [Frame(kind: .headers, stream: 1, payload: block)] + [Frame](repeating: more, count: 20)
            case .pushPromise:
                [Frame(kind: .pushPromise, flags: Frame.endHeaders, stream: 1, payload: big(2) + block)]
            case .brokenCompression:
                [Frame(kind: .headers, flags: Frame.endHeaders, stream: 1, payload: [0xFF, 0xFF, 0xFF])]
            case .dataOnNoStream: [Frame(kind: .data, stream: 0, payload: [1])]
            case .settingsFlood: [Frame(kind: .settings, payload: [UInt8](repeating: 0, count: 6 * 64))]
            }
        }
    }

    @Test(arguments: [Frame.Kind.ping, .settings])
    func `a peer that asks without end and reads nothing is given up`(kind: Frame.Kind) async throws {
        try await with(script: { peer in
            try peer.begin()
            _ = try peer.nextRequest()
            let one = Frame(kind: kind, payload: kind == .ping ? [UInt8](repeating: 0, count: 8) : []).bytes
            let many = Array([[UInt8]](repeating: one, count: 1000).joined())
            while true { try peer.write(many) }
        }) { fixture in
            #expect(await fixture.send().map(\.status) == .failure(.unknownOutcome(.protocolViolation)))
        }
    }

    @Test func `a peer that is gone without a word is found out by a PING with a request, and left`() async throws {
        var settings = HTTP2PoolConfiguration()
        settings.atRiskPingAfter = .zero
        settings.pingTimeout = .milliseconds(50)
        try await with(
            settings,
            script: { peer in
                try peer.begin()
                try peer.answer(peer.nextRequest())
                if peer.number == 1 { peer.readToEnd() }
                while true { try peer.answer(peer.nextRequest()) }
            }
        ) { fixture in
            #expect(await fixture.send().map(\.status) == .success(200))
            #expect(await fixture.send().map(\.status) == .failure(.unknownOutcome(.connectionDead)))
            // What was lost is repeated by whoever sent it: RepeatTests, `connection dead`.
            #expect(await fixture.send().map(\.status) == .success(200))
        }
    }

    @Test func `while a PING is unanswered further requests go elsewhere`() async throws {
        var settings = HTTP2PoolConfiguration()
        settings.atRiskPingAfter = .zero
        settings.pingTimeout = .seconds(50)
        settings.growAfter = .milliseconds(20)
        try await with(
            settings,
            script: { peer in
                try peer.begin()
                try peer.answer(peer.nextRequest(), status: 201)
                if peer.number == 1 { peer.readToEnd() }
                while true { try peer.answer(peer.nextRequest(), status: 202) }
            }
        ) { fixture in
            #expect(await fixture.send().map(\.status) == .success(201))
            async let doubtful = fixture.send()
            await fixture.waitUntil { $0.inFlight == 1 }
            #expect(await fixture.send().map(\.status) == .success(201))
            #expect(await fixture.send().map(\.status) == .success(202))
            await fixture.pool.close()
            #expect(await doubtful.map(\.status) == .failure(.unknownOutcome(.closing)))
        }
    }

    @Test func `after two requests without an answer the next one takes another connection`() async throws {
        var settings = HTTP2PoolConfiguration()
        settings.timeoutCountsAfter = .milliseconds(10)
        settings.atRiskPingAfter = .seconds(1000)
        try await with(
            settings,
            script: { peer in
                try peer.begin()
                try peer.answer(peer.nextRequest(), status: 200 + peer.number)
                peer.readToEnd()
            }
        ) { fixture in
            #expect(await fixture.send().map(\.status) == .success(201))
            for _ in 0..<2 {
                let outcome = await fixture.send(timeout: .milliseconds(50)).map(\.status)
                #expect(outcome == .failure(.unknownOutcome(.timeout)))
            }
            #expect(fixture.events.contains { if case .retired(_, .unresponsive) = $0 { true } else { false } })
            #expect(await fixture.send().map(\.status) == .success(202))
        }
    }

    // MARK: Changing over

    @Test func `a connection that its caller found bad is not used again`() async throws {
        try await with(script: { peer in
            try peer.begin()
            while true { try peer.answer(peer.nextRequest(), status: 200 + peer.number) }
        }) { fixture in
            let response = try await fixture.send().get()
            #expect(response.status == 201)
            await fixture.pool.retire(response.connection)
            await fixture.pool.retire(response.connection)
            #expect(await fixture.send().map(\.status) == .success(202))
        }
    }

    @Test func `connections that have met something too lately make way for what comes, others go on`() async throws {
        try await with(script: { peer in
            try peer.begin()
            while true { try peer.answer(peer.nextRequest(), status: 200 + peer.number) }
        }) { fixture in
            #expect(await fixture.send().map(\.status) == .success(201))
            await fixture.pool.retire(usedForLessThan: .zero)
            #expect(await fixture.send().map(\.status) == .success(201))
            await fixture.pool.retire(usedForLessThan: .seconds(600))
            #expect(await fixture.send().map(\.status) == .success(202))
            #expect(await fixture.pool.snapshot().totals.opened == 2)
        }
    }

    @Test func `what waits while connections make way is given back as not sent, and can go anew`() async throws {
        var settings = HTTP2PoolConfiguration(initialStreamLimit: 1)
        settings.maximumConnections = 1
        let mayAnswer = Mutex(false)
        try await with(
            settings,
            script: { peer in
                try peer.begin([(3, 1)])
                let stream = try peer.nextRequest()
                while peer.number == 1, !mayAnswer.withLock({ $0 }) { usleep(1000) }
                try peer.answer(stream, status: 200 + peer.number)
                while true { try peer.answer(peer.nextRequest(), status: 200 + peer.number) }
            }
        ) { fixture in
            async let first = fixture.send()
            await fixture.waitUntil { $0.inFlight == 1 }
            async let second = fixture.send()
            await fixture.waitUntil { $0.waiting == 1 }
            await fixture.pool.retire(usedForLessThan: .seconds(600))
            #expect(await second.map(\.status) == .failure(.notSent(.neverLeft)))
            mayAnswer.withLock { $0 = true }
            #expect(await first.map(\.status) == .success(201))
            #expect(await fixture.send().map(\.status) == .success(202))
        }
    }

    @Test func `a connection that has carried enough is replaced, and nothing is lost`() async throws {
        var settings = HTTP2PoolConfiguration()
        settings.maximumStreamsEver = 100
        settings.openingInterval = .milliseconds(1)
        try await with(
            settings,
            script: { peer in
                try peer.begin()
                while true { try peer.answer(peer.nextRequest()) }
            }
        ) { fixture in
            // As many rounds as it takes: how soon a replacement stands is up to the machine.
            while await fixture.pool.snapshot().totals.opened <= 2 {
                #expect(await fixture.sendAtOnce(50).allSatisfy { $0 == 200 })
            }
        }
    }

    @Test func `an idle connection is closed with a goodbye, and opened again when needed`() async throws {
        var settings = HTTP2PoolConfiguration()
        settings.idleTimeout = .milliseconds(30)
        let goodbyes = Mutex(0)
        try await with(
            settings,
            script: { peer in
                try peer.begin()
                try peer.answer(peer.nextRequest(), status: 200 + peer.number)
                _ = try peer.next(.goAway)
                goodbyes.withLock { $0 += 1 }
            }
        ) { fixture in
            #expect(await fixture.send().map(\.status) == .success(201))
            await fixture.waitUntil { $0.open <= 0 }
            #expect(await fixture.send().map(\.status) == .success(202))
            while goodbyes.withLock({ $0 }) < 2 { try await Task.sleep(for: .milliseconds(2)) }
        }
    }

    @Test func `a quiescing pool finishes what it has and takes no more`() async throws {
        let mayAnswer = Mutex(false)
        try await with(script: { peer in
            try peer.begin()
            let streams = [try peer.nextRequest(), try peer.nextRequest()]
            while !mayAnswer.withLock({ $0 }) { usleep(1000) }
            for stream in streams { try peer.answer(stream) }
            peer.readToEnd()
        }) { fixture in
            async let first = fixture.send()
            async let second = fixture.send()
            await fixture.waitUntil { $0.inFlight == 2 }
            async let quiesced: Void = fixture.pool.quiesce()
            await fixture.waitUntil { $0.isQuiescing }
            #expect(await fixture.send().map(\.status) == .failure(.notSent(.closing)))
            mayAnswer.withLock { $0 = true }
            await quiesced
            #expect(await first.map(\.status) == .success(200))
            #expect(await second.map(\.status) == .success(200))
        }
    }

    @Test func `a pool that is closed answers everybody`() async throws {
        var settings = HTTP2PoolConfiguration(initialStreamLimit: 1)
        settings.maximumConnections = 1
        try await with(
            settings,
            script: { peer in
                try peer.begin([(3, 1)])
                peer.readToEnd()
            }
        ) { fixture in
            async let first = fixture.send()
            await fixture.waitUntil { $0.inFlight >= 1 }
            async let second = fixture.send()
            await fixture.waitUntil { $0.waiting >= 1 }
            await fixture.pool.close()
            #expect(await first.map(\.status) == .failure(.unknownOutcome(.closing)))
            #expect(await second.map(\.status) == .failure(.notSent(.closing)))
        }
    }
}
