import HTTP2Client
import Synchronization
import Testing

/// What becomes of single requests on a connection that stands.
@Suite(.timeLimit(.minutes(1)))
struct StreamTests: PeerSuite {
    let authority = TestAuthority()

    /// A peer that treats the first request of a connection in its own way and answers those that follow with 200.
    private func with(
        _ configuration: HTTP2PoolConfiguration = HTTP2PoolConfiguration(),
        first: @escaping @Sendable (PeerConnection, UInt32) throws -> Void,
        body: @Sendable (PoolFixture) async throws -> Void
    ) async throws {
        try await with(
            configuration,
            script: { peer in
                try peer.begin()
                try first(peer, peer.nextRequest())
                while true { try peer.answer(peer.nextRequest()) }
            }, body: body)
    }

    @Test(arguments: [
        (UInt32(7), HTTP2Failure.notSent(.refusedStream)),
        (0, .unknownOutcome(.streamReset(code: 0))),
        (1, .unknownOutcome(.streamReset(code: 1))),
        (2, .unknownOutcome(.streamReset(code: 2))),
        (8, .unknownOutcome(.streamReset(code: 8))),
        (11, .unknownOutcome(.streamReset(code: 11))),
    ])
    func `a reset without a status is a failure of its request alone`(code: UInt32, failure: HTTP2Failure) async throws
    {
        try await with(first: { try $0.reset($1, code: code) }) { fixture in
            #expect(await fixture.send().map(\.status) == .failure(failure))
            #expect(await fixture.send().map(\.status) == .success(200))
            #expect(await fixture.pool.snapshot().totals.opened == 1)
        }
    }

    @Test(arguments: [UInt32(0), 2, 8])
    func `a reset after the status is an answer whose body was cut`(code: UInt32) async throws {
        try await with(first: { peer, stream in
            try peer.answer(stream, status: 410, body: "{\"rea", ends: false)
            try peer.reset(stream, code: code)
        }) { fixture in
            let response = try await fixture.send().get()
            #expect(response.status == 410)
            #expect(response.body == Array("{\"rea".utf8))
            #expect(response.bodyWasCut)
        }
    }

    @Test func `a reset right after the status is an answer too`() async throws {
        try await with(first: { peer, stream in
            try peer.answer(stream, status: 410, ends: false)
            try peer.reset(stream, code: 0)
        }) { fixture in
            let response = try await fixture.send().get()
            #expect(response.status == 410 && response.body.isEmpty && response.bodyWasCut)
            #expect(await fixture.send().map(\.status) == .success(200))
        }
    }

    @Test func `an answer without a body is whole`() async throws {
        try await with(first: { try $0.answer($1, status: 200) }) { fixture in
            let response = try await fixture.send().get()
            #expect(response.body.isEmpty)
            #expect(!response.bodyWasCut)
        }
    }

    @Test func `the configured header fields are kept, those of the answer and not of its trailers`() async throws {
        var settings = HTTP2PoolConfiguration()
        settings.retainedHeaders = ["apns-id", "retry-after"]
        try await with(
            settings,
            first: { peer, stream in
                try peer.answer(
                    stream, status: 429,
                    headers: [("apns-id", "A"), ("server", "x"), ("retry-after", "5"), ("apns-id", "B")], body: "{}",
                    ends: false)
                let trailers = headerBlock([("retry-after", "9")])
                try peer.write(
                    Frame(kind: .headers, flags: Frame.endHeaders | Frame.first, stream: stream, payload: trailers))
            }
        ) { fixture in
            let response = try await fixture.send().get()
            #expect(response.value(of: "apns-id") == "A")
            #expect(response.value(of: "retry-after") == "5")
            #expect(response.value(of: "server") == nil)
            #expect(!response.bodyWasCut)
        }
    }

    @Test func `interim answers are passed over`() async throws {
        try await with(first: { peer, stream in
            for _ in 0..<3 {
                let block = headerBlock([(":status", "103"), ("link", "x")])
                try peer.write(Frame(kind: .headers, flags: Frame.endHeaders, stream: stream, payload: block))
            }
            try peer.answer(stream, status: 200, body: "ok")
        }) { fixture in
            let response = try await fixture.send().get()
            #expect(response.status == 200)
            #expect(response.body == Array("ok".utf8))
        }
    }

    @Test func `a body over the bound is cut, and the connection goes on`() async throws {
        var settings = HTTP2PoolConfiguration()
        settings.maximumResponseBody = 1000
        try await with(
            settings,
            first: { peer, stream in
                try peer.answer(stream, status: 200, body: String(repeating: "x", count: 9000), ends: false)
                #expect(try peer.next(.resetStream).payload == big(8))
                try peer.answer(peer.nextRequest(), status: 201)
            }
        ) { fixture in
            let response = try await fixture.send().get()
            #expect(response.status == 200)
            #expect(response.body.count == 1000)
            #expect(response.bodyWasCut)
            #expect(await fixture.send().map(\.status) == .success(201))
        }
    }

    @Test func `a header list over the bound ends the stream and keeps the status`() async throws {
        try await with(first: { peer, stream in
            // One field in the table, then named by a byte each: what a small block can blow up to.
            var block = headerBlock([(":status", "200")])
            block += [0x40, 1, UInt8(ascii: "x"), 100] + [UInt8](repeating: UInt8(ascii: "y"), count: 100)
            block += [UInt8](repeating: 0xBE, count: 500)
            try peer.write(Frame(kind: .headers, flags: Frame.endHeaders, stream: stream, payload: block))
            #expect(try peer.next(.resetStream).payload == big(8))
            try peer.answer(peer.nextRequest(), status: 201)
        }) { fixture in
            let response = try await fixture.send().get()
            #expect(response.status == 200)
            #expect(response.bodyWasCut)
            #expect(await fixture.send().map(\.status) == .success(201))
        }
    }

    @Test func `a body that is not as long as it says leaves the status`() async throws {
        try await with(first: { peer, stream in
            try peer.answer(stream, status: 200, headers: [("content-length", "9")], body: "short")
        }) { fixture in
            let response = try await fixture.send().get()
            #expect(response.status == 200)
            #expect(response.bodyWasCut)
            #expect(await fixture.send().map(\.status) == .success(200))
        }
    }

    @Test func `one request that is never answered times out alone`() async throws {
        let isStalled = Mutex(false)
        try await with(first: { peer, stream in
            try peer.answer(stream)
            _ = try peer.nextRequest()
            isStalled.withLock { $0 = true }
        }) { fixture in
            #expect(await fixture.send().map(\.status) == .success(200))
            async let stalled = fixture.send(timeout: .milliseconds(500))
            while !isStalled.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(2)) }
            for _ in 0..<50 { #expect(await fixture.send().map(\.status) == .success(200)) }
            #expect(await stalled.map(\.status) == .failure(.unknownOutcome(.timeout)))
            #expect(await fixture.pool.snapshot().totals.opened == 1)
        }
    }

    @Test func `several requests that are never answered do not end a connection that answers others`() async throws {
        let stalled = Mutex(0)
        var settings = HTTP2PoolConfiguration()
        settings.timeoutCountsAfter = .milliseconds(10)
        try await with(
            settings,
            first: { peer, stream in
                try peer.answer(stream)
                for _ in 0..<3 {
                    _ = try peer.nextRequest()
                    stalled.withLock { $0 += 1 }
                }
            }
        ) { fixture in
            #expect(await fixture.send().map(\.status) == .success(200))
            // Given up in the same moment, with no answer between them.
            await withTaskGroup { group in
                for _ in 0..<3 {
                    group.addTask {
                        let outcome = await fixture.send(timeout: .milliseconds(400)).map(\.status)
                        #expect(outcome == .failure(.unknownOutcome(.timeout)))
                    }
                }
                while stalled.withLock({ $0 }) < 3 { try? await Task.sleep(for: .milliseconds(2)) }
                for _ in 0..<20 { #expect(await fixture.send().map(\.status) == .success(200)) }
            }
            #expect(await fixture.send().map(\.status) == .success(200))
            #expect(await fixture.pool.snapshot().totals.opened == 1)
        }
    }

    @Test func `a timed-out request is reset, and only then is its place free`() async throws {
        let isStalled = Mutex(false)
        var settings = HTTP2PoolConfiguration(initialStreamLimit: 1)
        settings.maximumConnections = 1
        try await with(
            settings,
            script: { peer in
                try peer.begin([(3, 1)])
                try peer.answer(peer.nextRequest())
                let stalled = try peer.nextRequest()
                isStalled.withLock { $0 = true }
                let reset = try peer.next(.resetStream)
                #expect(reset.stream == stalled)
                #expect(reset.payload == big(8))
                while true { try peer.answer(peer.nextRequest()) }
            }
        ) { fixture in
            #expect(await fixture.send().map(\.status) == .success(200))
            async let stalled = fixture.send(timeout: .milliseconds(200))
            while !isStalled.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(2)) }
            #expect(await fixture.send().map(\.status) == .success(200))
            #expect(await stalled.map(\.status) == .failure(.unknownOutcome(.timeout)))
        }
    }

    @Test func `the status counts when the time is over before the body is whole`() async throws {
        let isAnswered = Mutex(false)
        try await with(first: { peer, stream in
            try peer.answer(stream)
            try peer.answer(peer.nextRequest(), status: 503, body: "{", ends: false)
            isAnswered.withLock { $0 = true }
        }) { fixture in
            #expect(await fixture.send().map(\.status) == .success(200))
            // Long enough that the part of an answer is there by then, on a machine however slow.
            let response = try await fixture.send(timeout: .seconds(2)).get()
            #expect(isAnswered.withLock { $0 })
            #expect(response.status == 503)
            #expect(response.bodyWasCut)
        }
    }

    @Test func `a large body leaves whole, as the peer's windows allow`() async throws {
        let body = String(repeating: "0123456789", count: 30_000)
        try await with(script: { peer in
            try peer.begin([(4, 1000)])
            var count = 0
            var wasEnd = false
            while !wasEnd {
                let frame = try peer.next(.data)
                count += frame.payload.count
                wasEnd = frame.flags & Frame.first != 0
                guard !frame.payload.isEmpty, !wasEnd else { continue }
                for stream in [0, frame.stream] {
                    try peer.write(
                        Frame(kind: .windowUpdate, stream: stream, payload: big(UInt32(frame.payload.count))))
                }
            }
            try peer.answer(1, status: count == 300_000 ? 200 : 400)
            peer.readToEnd()
        }) { fixture in
            #expect(await fixture.send(body: body).map(\.status) == .success(200))
        }
    }

    @Test func `a body that the peer gives no window for is an unknown outcome`() async throws {
        try await with(script: { peer in
            try peer.begin([(4, 0)])
            try peer.answer(peer.nextRequest())
            peer.readToEnd()
        }) { fixture in
            #expect(await fixture.send(body: "").map(\.status) == .success(200))
            #expect(
                await fixture.send(timeout: .milliseconds(200)).map(\.status) == .failure(.unknownOutcome(.timeout)))
        }
    }

    @Test func `a peer that takes its header table away is obeyed in the next header block`() async throws {
        let isTaken = Mutex(false)
        try await with(script: { peer in
            try peer.begin()
            try peer.answer(peer.nextRequest())
            try peer.settings([(1, 0)])
            try peer.expectSilence()
            isTaken.withLock { $0 = true }
            // A dynamic table size update to 0 (RFC 7541, section 6.3) comes first.
            let head = try peer.next(.headers)
            #expect(head.payload.first == 0x20)
            try peer.answer(head.stream)
            while true { try peer.answer(peer.nextRequest()) }
        }) { fixture in
            #expect(await fixture.send().map(\.status) == .success(200))
            while !isTaken.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(2)) }
            for _ in 0..<2 { #expect(await fixture.send(body: "").map(\.status) == .success(200)) }
        }
    }

    @Test func `hundreds of requests one after the other use the same places again`() async throws {
        try await with(first: { try $0.answer($1) }) { fixture in
            for _ in 0..<300 { #expect(await fixture.send().map(\.status) == .success(200)) }
            #expect(await fixture.pool.snapshot().inFlight == 0)
        }
    }
}
