import HTTP2Client
import Synchronization
import Testing

/// GOAWAY in all its forms.
@Suite(.timeLimit(.minutes(1)))
struct GoodbyeTests: PeerSuite {
    let authority = TestAuthority()

    private func sendAtOnce(_ count: Int, _ fixture: PoolFixture) async -> [Result<Int, HTTP2Failure>] {
        await withTaskGroup(of: Result<Int, HTTP2Failure>.self) { group in
            for _ in 0..<count { group.addTask { await fixture.send().map(\.status) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test func `a goodbye leaves the requests up to its last, and gives back those above it`() async throws {
        try await with(script: { peer in
            try peer.begin()
            guard peer.number == 1 else {
                while true { try peer.answer(peer.nextRequest(), status: 202) }
            }
            var streams: [UInt32] = []
            for _ in 0..<6 { streams.append(try peer.nextRequest()) }
            try peer.goAway(last: streams[2], debug: "{\"reason\":\"Shutdown\"}\u{1}")
            for stream in streams.prefix(3) { try peer.answer(stream) }
            peer.readToEnd()
        }) { fixture in
            let outcomes = await withTaskGroup(of: Result<Int, HTTP2Failure>.self) { group in
                for _ in 0..<6 { group.addTask { await fixture.send().map(\.status) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.count { $0 == .success(200) } == 3)
            #expect(outcomes.count { $0 == .failure(.notSent(.aboveGoAway)) } == 3)
            #expect(await fixture.send().map(\.status) == .success(202))
            let text = fixture.events.compactMap { event -> String? in
                guard case .goAway(_, code: 0, let debug) = event else { return nil }
                return debug
            }
            #expect(text == ["{\"reason\":\"Shutdown\"}?"])
        }
    }

    @Test func `what a goodbye promised and never gave is an unknown outcome`() async throws {
        var settings = HTTP2PoolConfiguration()
        settings.drainTimeout = .milliseconds(50)
        try await with(
            settings,
            script: { peer in
                try peer.begin()
                try peer.goAway(last: peer.nextRequest())
                peer.readToEnd()
            }
        ) { fixture in
            #expect(await fixture.send().map(\.status) == .failure(.unknownOutcome(.drainExpired)))
        }
    }

    @Test(arguments: [(UInt32(0), false), (2, false), (1, true), (11, true)])
    func `a goodbye that finds fault with us is followed by a pause`(code: UInt32, pauses: Bool) async throws {
        var settings = HTTP2PoolConfiguration()
        settings.backoffFirst = .seconds(60)
        settings.backoffCap = .seconds(60)
        try await with(
            settings,
            script: { peer in
                try peer.begin()
                try peer.answer(peer.nextRequest())
                let last = try peer.nextRequest()
                try peer.goAway(last: last, code: code)
                try peer.answer(last)
                peer.readToEnd()
            }
        ) { fixture in
            #expect(await fixture.send().map(\.status) == .success(200))
            #expect(await fixture.send().map(\.status) == .success(200))
            await fixture.waitUntil { $0.open == 0 }
            let third = await fixture.send(timeout: .milliseconds(500)).map(\.status)
            #expect(third == (pauses ? .failure(.notSent(.waitedTooLong)) : .success(200)))
        }
    }

    @Test func `a goodbye in two steps answers what came between them`() async throws {
        try await with(script: { peer in
            try peer.begin()
            guard peer.number == 1 else {
                while true { try peer.answer(peer.nextRequest(), status: 202) }
            }
            let stream = try peer.nextRequest()
            try peer.goAway(last: 0x7FFF_FFFF)
            try peer.goAway(last: stream)
            try peer.answer(stream)
            peer.readToEnd()
        }) { fixture in
            #expect(await fixture.send().map(\.status) == .success(200))
            #expect(await fixture.send().map(\.status) == .success(202))
        }
    }

    @Test func `a second goodbye that promises more than the first breaks the protocol`() async throws {
        try await with(script: { peer in
            try peer.begin()
            let stream = try peer.nextRequest()
            try peer.goAway(last: stream)
            try peer.goAway(last: stream + 2)
            peer.readToEnd()
        }) { fixture in
            #expect(await fixture.send().map(\.status) == .failure(.unknownOutcome(.protocolViolation)))
        }
    }

    @Test func `a goodbye every ten requests loses none of them`() async throws {
        var settings = HTTP2PoolConfiguration()
        settings.openingInterval = .milliseconds(1)
        try await with(
            settings,
            script: { peer in
                try peer.begin()
                for _ in 0..<9 { try peer.answer(peer.nextRequest()) }
                let last = try peer.nextRequest()
                try peer.goAway(last: last)
                try peer.answer(last)
                peer.readToEnd()
            }
        ) { fixture in
            for _ in 0..<100 { #expect(await fixture.send().map(\.status) == .success(200)) }
            #expect(await fixture.pool.snapshot().totals.opened == 10)
        }
    }

    @Test func `a second goodbye may take back what the first promised, and its silence hides no reason`() async throws
    {
        try await with(script: { peer in
            try peer.begin()
            var streams: [UInt32] = []
            for _ in 0..<6 { streams.append(try peer.nextRequest()) }
            try peer.goAway(last: streams[3], debug: "{\"reason\":\"Shutdown\"}")
            try peer.goAway(last: streams[1])
            for stream in streams.prefix(2) { try peer.answer(stream) }
            peer.readToEnd()
        }) { fixture in
            let outcomes = await sendAtOnce(6, fixture)
            #expect(outcomes.count { $0 == .success(200) } == 2)
            #expect(outcomes.count { $0 == .failure(.notSent(.aboveGoAway)) } == 4)
            await fixture.waitUntil { $0.draining == 0 }
            let texts = fixture.events.compactMap { event -> String?? in
                guard case .goAway(_, _, let debug) = event else { return nil }
                return .some(debug)
            }
            #expect(texts == ["{\"reason\":\"Shutdown\"}", nil])
            #expect(fixture.events.count { if case .retired = $0 { true } else { false } } == 1)
        }
    }

    @Test func `a goodbye to everything with a reason of the operator's is followed by a pause and not by a loop`()
        async throws
    {
        var settings = HTTP2PoolConfiguration()
        settings.backoffFirst = .seconds(60)
        settings.backoffCap = .seconds(60)
        let accepted = Mutex(0)
        try await with(
            settings,
            script: { peer in
                accepted.withLock { $0 = peer.number }
                try peer.begin()
                _ = try peer.nextRequest()
                try peer.goAway(last: 0, debug: "{\"reason\":\"BadCertificateEnvironment\"}")
                peer.drop()
            }
        ) { fixture in
            // Once may be chance; twice is not.
            for _ in 0..<2 {
                #expect(await fixture.send().map(\.status) == .failure(.notSent(.aboveGoAway)))
                await fixture.waitUntil { $0.open + $0.draining == 0 }
            }
            for _ in 0..<20 {
                #expect(await fixture.send().map(\.status) == .failure(.unreachable(.backingOff(after: .noAnswer))))
            }
            #expect(accepted.withLock { $0 } == 2)
        }
    }

    @Test func `goodbyes after single answers bring no storm of connections`() async throws {
        var settings = HTTP2PoolConfiguration()
        settings.openingInterval = .seconds(3600)
        settings.openingBurst = 3
        let accepted = Mutex(0)
        try await with(
            settings,
            script: { peer in
                accepted.withLock { $0 = peer.number }
                try peer.begin()
                let stream = try peer.nextRequest()
                try peer.goAway(last: stream)
                try peer.answer(stream)
                peer.readToEnd()
            }
        ) { fixture in
            for _ in 0..<3 { #expect(await fixture.send().map(\.status) == .success(200)) }
            for _ in 0..<3 {
                let outcome = await fixture.send(timeout: .milliseconds(50)).map(\.status)
                #expect(outcome == .failure(.notSent(.waitedTooLong)))
            }
            #expect(accepted.withLock { $0 } == 3)
        }
    }

    @Test func `after a goodbye we close, although the peer leaves its socket open`() async throws {
        let hasClosed = Mutex(false)
        try await with(script: { peer in
            try peer.begin()
            try peer.answer(peer.nextRequest(), status: 200 + peer.number)
            guard peer.number == 1 else {
                while true { try peer.answer(peer.nextRequest(), status: 202) }
            }
            try peer.goAway(last: 1)
            peer.readToEnd()
            hasClosed.withLock { $0 = true }
        }) { fixture in
            #expect(await fixture.send().map(\.status) == .success(201))
            while !hasClosed.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(2)) }
            #expect(await fixture.send().map(\.status) == .success(202))
            #expect(await fixture.pool.snapshot().totals.closed == 1)
        }
    }

    @Test(arguments: [false, true])
    func `when the connection breaks after a goodbye only what was promised is in doubt`(withReset: Bool) async throws {
        try await with(script: { peer in
            try peer.begin()
            var streams: [UInt32] = []
            for _ in 0..<6 { streams.append(try peer.nextRequest()) }
            try peer.goAway(last: streams[1])
            // The client must have read the goodbye before the reset, which would overtake it.
            try peer.expectSilence()
            if withReset { peer.willReset() } else { peer.drop() }
        }) { fixture in
            let outcomes = await sendAtOnce(6, fixture)
            #expect(outcomes.count { $0 == .failure(.unknownOutcome(.connectionLost)) } == 2)
            #expect(outcomes.count { $0 == .failure(.notSent(.aboveGoAway)) } == 4)
        }
    }

    @Test func `a goodbye's text is cut and made harmless before anybody sees it`() async throws {
        try await with(script: { peer in
            try peer.begin()
            let stream = try peer.nextRequest()
            try peer.goAway(
                last: stream, debug: "a\nlevel=error \u{1B}[2J\u{E4}" + String(repeating: "x", count: 16_000))
            try peer.answer(stream)
            peer.readToEnd()
        }) { fixture in
            #expect(await fixture.send().map(\.status) == .success(200))
            guard
                case .goAway(_, code: 0, let debug) = fixture.events.first(where: {
                    if case .goAway = $0 { true } else { false }
                })
            else {
                Issue.record("no goodbye was told")
                return
            }
            #expect(debug?.utf8.count == 256)
            #expect(debug?.hasPrefix("a?level=error ?[2J??xxx") == true)
        }
    }
}
