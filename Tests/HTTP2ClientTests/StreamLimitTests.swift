import Glibc
import HTTP2Client
import Synchronization
import Testing

/// How many requests may be under way on a connection, and what becomes of those that are over it.
@Suite(.timeLimit(.minutes(1)))
struct StreamLimitTests: PeerSuite {
    let authority = TestAuthority()

    @Test func `one stream at first and a thousand later, and never one too many`() async throws {
        var settings = HTTP2PoolConfiguration(initialStreamLimit: 1)
        settings.maximumConnections = 1
        try await with(
            settings,
            script: { peer in
                try peer.begin([(3, 1)])
                for _ in 0..<5 {
                    let stream = try peer.nextRequest()
                    // Nothing else may come before the answer: the PING's answer is all there is to read.
                    try peer.write(Frame(kind: .ping, payload: [UInt8](repeating: 7, count: 8)))
                    let next = try peer.readFrame()
                    #expect(next.kind == .ping || next.kind == .settings)
                    if next.kind == .settings { #expect(try peer.readFrame().kind == .ping) }
                    try peer.answer(stream)
                }
                try peer.settings([(3, 1000)])
                while true { try peer.answer(peer.nextRequest()) }
            }
        ) { fixture in
            let statuses = await fixture.sendAtOnce(500)
            #expect(statuses.allSatisfy { $0 == 200 })
            #expect(await fixture.pool.snapshot().streamLimit == 1000)
        }
    }

    @Test func `a thousand requests over a limit of a hundred are all answered, whatever order the answers have`()
        async throws
    {
        let most = Mutex(0)
        var settings = HTTP2PoolConfiguration()
        settings.maximumConnections = 1
        try await with(
            settings,
            script: { peer in
                try peer.begin([(3, 100)])
                var open: [UInt32] = []
                var answered = 0
                while answered < 1000 {
                    open.append(try peer.nextRequest())
                    let count = open.count
                    most.withLock { $0 = max($0, count) }
                    guard open.count == 100 || answered + open.count == 1000 else { continue }
                    for stream in open.shuffled() { try peer.answer(stream) }
                    answered += open.count
                    open = []
                }
                peer.readToEnd()
            }
        ) { fixture in
            let statuses = await fixture.sendAtOnce(1000)
            #expect(statuses.count == 1000 && statuses.allSatisfy { $0 == 200 })
            #expect(most.withLock { $0 } == 100)
        }
    }

    @Test func `a limit that falls to one and to none, and rises again, is kept to at every moment`() async throws {
        let isLowered = Mutex(false)
        var settings = HTTP2PoolConfiguration()
        settings.maximumConnections = 1
        try await with(
            settings,
            script: { peer in
                try peer.begin([(3, 100)])
                try peer.answer(peer.nextRequest())
                try peer.settings([(3, 1)])
                try peer.expectSilence()
                isLowered.withLock { $0 = true }
                let first = try peer.nextRequest()
                try peer.expectSilence()
                try peer.answer(first)
                let second = try peer.nextRequest()
                try peer.settings([(3, 0)])
                try peer.answer(second)
                try peer.expectSilence()
                try peer.settings([(3, 100)])
                var rest: [UInt32] = []
                for _ in 0..<8 { rest.append(try peer.nextRequest()) }
                for stream in rest { try peer.answer(stream) }
                peer.readToEnd()
            }
        ) { fixture in
            #expect(await fixture.send().map(\.status) == .success(200))
            while !isLowered.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(2)) }
            #expect(await fixture.sendAtOnce(10).allSatisfy { $0 == 200 })
            #expect(await fixture.pool.snapshot().totals.opened == 1)
        }
    }

    @Test func `a connection that allows no stream for long is left for another`() async throws {
        var settings = HTTP2PoolConfiguration(initialStreamLimit: 0)
        settings.maximumConnections = 1
        settings.timeoutCountsAfter = .milliseconds(10)
        settings.backoffFirst = .zero
        try await with(
            settings,
            script: { peer in
                try peer.begin([(3, peer.number == 1 ? 0 : 100)])
                while true { try peer.answer(peer.nextRequest(), status: 200 + peer.number) }
            }
        ) { fixture in
            for _ in 0..<2 {
                let outcome = await fixture.send(timeout: .milliseconds(100)).map(\.status)
                #expect(outcome == .failure(.notSent(.waitedTooLong)))
            }
            #expect(await fixture.send().map(\.status) == .success(202))
        }
    }

    @Test func `connections grow in number while streams run out, and become fewer when they are idle`() async throws {
        let mayAnswer = Mutex(false)
        var settings = HTTP2PoolConfiguration(initialStreamLimit: 1)
        settings.maximumConnections = 3
        settings.minimumConnections = 1
        settings.growAfter = .milliseconds(5)
        settings.idleTimeout = .milliseconds(50)
        try await with(
            settings,
            script: { peer in
                try peer.begin([(3, 1)])
                while true {
                    let stream = try peer.nextRequest()
                    while !mayAnswer.withLock({ $0 }) { usleep(1000) }
                    try peer.answer(stream)
                }
            }
        ) { fixture in
            async let all = fixture.sendAtOnce(4)
            await fixture.waitUntil { $0.open == 3 && $0.inFlight == 3 && $0.waiting == 1 }
            mayAnswer.withLock { $0 = true }
            #expect(await all.allSatisfy { $0 == 200 })
            await fixture.waitUntil { $0.open == 1 && $0.draining == 0 }
            #expect(await fixture.pool.snapshot().totals.opened == 3)
            #expect(await fixture.send().map(\.status) == .success(200))
        }
    }

    @Test func `a peer that allows no stream keeps requests waiting no longer than their time`() async throws {
        var settings = HTTP2PoolConfiguration(initialStreamLimit: 0)
        settings.maximumConnections = 1
        try await with(
            settings,
            script: { peer in
                try peer.begin([(3, 0)])
                _ = try peer.nextRequest()
                Issue.record("a request came although none is allowed")
            }
        ) { fixture in
            #expect(
                await fixture.send(timeout: .milliseconds(100)).map(\.status) == .failure(.notSent(.waitedTooLong)))
        }
    }

    @Test func `a stream that stalls at a limit of one makes room on another connection`() async throws {
        var settings = HTTP2PoolConfiguration(initialStreamLimit: 1)
        settings.growAfter = .milliseconds(20)
        try await with(
            settings,
            script: { peer in
                try peer.begin([(3, 1)])
                if peer.number == 1 { peer.readToEnd() }
                while true { try peer.answer(peer.nextRequest()) }
            }
        ) { fixture in
            async let stalled = fixture.send()
            await fixture.waitUntil { $0.inFlight == 1 }
            for _ in 0..<20 { #expect(await fixture.send().map(\.status) == .success(200)) }
            await fixture.pool.close()
            #expect(await stalled.map(\.status) == .failure(.unknownOutcome(.closing)))
        }
    }

    @Test func `the waiting line has an end, and says so at once`() async throws {
        var settings = HTTP2PoolConfiguration(initialStreamLimit: 1)
        settings.maximumConnections = 1
        settings.waitingLimit = 2
        let mayAnswer = Mutex(false)
        try await with(
            settings,
            script: { peer in
                try peer.begin([(3, 1)])
                let first = try peer.nextRequest()
                while !mayAnswer.withLock({ $0 }) { usleep(1000) }
                try peer.answer(first)
                while true { try peer.answer(peer.nextRequest()) }
            }
        ) { fixture in
            await withTaskGroup { group in
                for count in 1...3 {
                    group.addTask { #expect(await fixture.send().map(\.status) == .success(200)) }
                    await fixture.waitUntil { $0.inFlight == 1 && $0.waiting == count - 1 }
                }
                #expect(await fixture.send().map(\.status) == .failure(.overloaded))
                mayAnswer.withLock { $0 = true }
            }
        }
    }
}
