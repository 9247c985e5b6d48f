import Glibc
import HTTP2Client
import Synchronization
import Testing

/// Bodies and windows.
@Suite(.timeLimit(.minutes(1)))
struct FlowControlTests {
    private let authority = TestAuthority()
    /// Fifteen of them fit into the window of 65,535 bytes that every connection begins with, and 4095 bytes are left.
    private static let body = String(repeating: "x", count: 4096)

    private func with(
        _ change: (inout HTTP2PoolConfiguration) -> Void = { _ in },
        script: @escaping @Sendable (PeerConnection) throws -> Void,
        body: @Sendable (PoolFixture) async throws -> Void
    ) async throws {
        var configuration = HTTP2PoolConfiguration()
        configuration.maximumConnections = 1
        change(&configuration)
        let settings = configuration
        try await withPeer(authority.issue(), script: script) { peer in
            try await PoolFixture.with(
                port: peer.port, host: "127.0.0.1", rootFile: authority.rootFile, settings, body: body)
        }
    }

    private func sendAtOnce(_ count: Int, _ fixture: PoolFixture) async -> [Result<Int, HTTP2Failure>] {
        await withTaskGroup(of: Result<Int, HTTP2Failure>.self) { group in
            for _ in 0..<count { group.addTask { await fixture.send(body: Self.body).map(\.status) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test func `no headers leave for a body that does not fit into the window`() async throws {
        try await with(script: { peer in
            try peer.begin()
            var streams: [UInt32] = []
            for _ in 0..<15 { streams.append(try peer.nextRequest()) }
            try peer.expectSilence()
            #expect(peer.begun == 15)
            try peer.write(Frame(kind: .windowUpdate, payload: big(4096)))
            streams.append(try peer.nextRequest())
            try peer.expectSilence()
            #expect(peer.begun == 16)
            try peer.write(Frame(kind: .windowUpdate, payload: big(14 * 4096)))
            for _ in 0..<14 { streams.append(try peer.nextRequest()) }
            for stream in streams { try peer.answer(stream) }
            peer.readToEnd()
        }) { fixture in
            #expect(await sendAtOnce(30, fixture).allSatisfy { $0 == .success(200) })
        }
    }

    @Test func `bodies of many frames leave whole and unmixed, more at once than one write takes`() async throws {
        // The first letter tells whose it is. Of lengths that fill the buffer to another place each time.
        let sent = (0..<12).map { number in
            (0..<80_000 + 7001 * number).map { UInt8(65 + number + $0 / 7 % 32) }
        }
        try await with(script: { peer in
            try peer.begin([(3, 100), (4, 8 << 20)])
            try peer.write(Frame(kind: .windowUpdate, payload: big(8 << 20)))
            var bodies: [UInt32: [UInt8]] = [:]
            var answered = 0
            while answered < sent.count {
                let frame = try peer.readFrame()
                guard frame.kind == .data else { continue }
                bodies[frame.stream, default: []] += frame.payload
                guard frame.flags & Frame.first != 0, let whole = bodies[frame.stream] else { continue }
                let number = Int(whole[0]) - 65
                try peer.answer(frame.stream, status: sent[number] == whole ? 200 + number : 500)
                answered += 1
            }
            peer.readToEnd()
        }) { fixture in
            let statuses = await withTaskGroup(of: Int?.self) { group in
                for body in sent {
                    let text = String(decoding: body, as: UTF8.self)
                    group.addTask { try? await fixture.send(body: text).get().status }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.compactMap { $0 }.sorted() == (0..<sent.count).map { 200 + $0 })
        }
    }

    @Test func `what did not fit was surely not sent when the connection breaks`() async throws {
        let mayBreak = Mutex(false)
        try await with(script: { peer in
            try peer.begin()
            if peer.number > 1 { while true { try peer.answer(peer.nextRequest(), status: 202) } }
            for _ in 0..<15 { _ = try peer.nextRequest() }
            while !mayBreak.withLock({ $0 }) { usleep(1000) }
            peer.drop()
        }) { fixture in
            async let all = sendAtOnce(20, fixture)
            await fixture.waitUntil { $0.inFlight == 15 && $0.waiting == 5 }
            mayBreak.withLock { $0 = true }
            let outcomes = await all
            #expect(outcomes.count { $0 == .failure(.unknownOutcome(.connectionLost)) } == 15)
            // The connection had answered nothing, so whoever waited is told so, or is sent by the next.
            #expect(outcomes.count { $0.isSurelyUnprocessedOr202 } == 5)
        }
    }

    @Test func `bodies without room open another connection`() async throws {
        try await with({
            $0.maximumConnections = 2
            $0.growAfter = .milliseconds(5)
        }) { peer in
            try peer.begin()
            for _ in 0..<15 { _ = try peer.nextRequest() }
            try peer.expectSilence()
            #expect(peer.begun == 15)
            peer.readToEnd()
        } body: { fixture in
            async let all = sendAtOnce(31, fixture)
            await fixture.waitUntil { $0.inFlight == 30 && $0.waiting == 1 && $0.open == 2 }
            await fixture.pool.close()
            #expect(await all.count { $0 == .failure(.notSent(.closing)) } == 1)
        }
    }

    @Test func `one request goes out whatever the window, and is whole once the peer takes more`() async throws {
        try await with(script: { peer in
            try peer.begin()
            for _ in 0..<15 { try peer.answer(peer.nextRequest()) }
            // 4095 bytes of the sixteenth, then the last one.
            _ = try peer.next(.headers)
            var count = 0
            while count < 4095 { count += try peer.next(.data).payload.count }
            try peer.expectSilence()
            try peer.write(Frame(kind: .windowUpdate, payload: big(1)))
            try peer.answer(peer.nextRequest(), status: 201)
            peer.readToEnd()
        }) { fixture in
            for _ in 0..<15 { #expect(await fixture.send(body: Self.body).map(\.status) == .success(200)) }
            #expect(await fixture.send(body: Self.body).map(\.status) == .success(201))
        }
    }

    @Test func `a peer that never opens its window again is left for another connection`() async throws {
        try await with({ $0.timeoutCountsAfter = .milliseconds(10) }) { peer in
            try peer.begin()
            while true { try peer.answer(peer.nextRequest(), status: 200 + peer.number) }
        } body: { fixture in
            for _ in 0..<15 { #expect(await fixture.send(body: Self.body).map(\.status) == .success(201)) }
            for _ in 0..<2 {
                let outcome = await fixture.send(body: Self.body, timeout: .milliseconds(50)).map(\.status)
                #expect(outcome == .failure(.unknownOutcome(.timeout)))
            }
            #expect(await fixture.send(body: Self.body).map(\.status) == .success(202))
        }
    }

    @Test func `a body that never left holds nobody back once its request is given up`() async throws {
        let isGivenUp = Mutex(false)
        try await with(script: { peer in
            try peer.begin([(4, 0)])
            try peer.answer(peer.nextRequest())
            let stalled = try peer.next(.headers).stream
            while try peer.next(.resetStream).stream != stalled {}
            try peer.settings([(4, 65_535)])
            try peer.expectSilence()
            isGivenUp.withLock { $0 = true }
            let streams = [try peer.nextRequest(), try peer.nextRequest()]
            for stream in streams { try peer.answer(stream) }
            peer.readToEnd()
        }) { fixture in
            #expect(await fixture.send(body: "").map(\.status) == .success(200))
            let large = String(repeating: "x", count: 65_000)
            let outcome = await fixture.send(body: large, timeout: .milliseconds(100)).map(\.status)
            #expect(outcome == .failure(.unknownOutcome(.timeout)))
            while !isGivenUp.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(2)) }
            #expect(await sendAtOnce(2, fixture).allSatisfy { $0 == .success(200) })
        }
    }

    @Test func `a whole answer counts although the body could not leave, which is not sent any more`() async throws {
        // Longer than the test may take: at the end of its time it would be an answer anyhow.
        try await with({ $0.requestTimeout = .seconds(600) }) { peer in
            try peer.begin([(4, 0)])
            try peer.answer(peer.nextRequest())
            let refused = try peer.next(.headers).stream
            try peer.answer(refused, status: 403, body: "no")
            let reset = try peer.next(.resetStream)
            #expect(reset.stream == refused && reset.payload == big(8))
            try peer.settings([(4, 65_535)])
            try peer.answer(peer.nextRequest(), status: 201)
            peer.readToEnd()
        } body: { fixture in
            #expect(await fixture.send(body: "").map(\.status) == .success(200))
            let answer = try await fixture.send(body: Self.body, timeout: .seconds(600)).get()
            #expect(answer.status == 403 && answer.body == Array("no".utf8) && !answer.bodyWasCut)
            #expect(await fixture.send(body: Self.body).map(\.status) == .success(201))
        }
    }

    @Test func `answers that are cut give their room in our window back`() async throws {
        let long = String(repeating: "y", count: 16_000)
        try await with({ $0.maximumResponseBody = 1000 }) { peer in
            try peer.begin()
            while true { try peer.answer(peer.nextRequest(), body: long, ends: false) }
        } body: { fixture in
            for _ in 0..<40 {
                let response = try await fixture.send().get()
                #expect(response.status == 200 && response.bodyWasCut && response.body.count == 1000)
            }
            #expect(await fixture.pool.snapshot().totals.opened == 1)
        }
    }
}

extension Result<Int, HTTP2Failure> {
    fileprivate var isSurelyUnprocessedOr202: Bool {
        switch self {
        case .success(let status): status == 202
        case .failure(let failure): failure.isSurelyUnprocessed
        }
    }
}
