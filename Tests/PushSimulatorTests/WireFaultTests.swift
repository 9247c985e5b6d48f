import CNghttp2
import PushSimulator
import Testing

/// Faults that are frames no session would send.
@Suite(.timeLimit(.minutes(1)))
struct WireFaultTests {
    private static func with(_ test: (Fixture, TestClient, String) async throws -> Void) async throws {
        let fixture = try await Fixture.start()
        let client = try fixture.client(.apnsProduction)
        _ = try client.exchange(fixture.apnsRequest(SimulatedPhone(.ios).token))
        try await test(fixture, client, SimulatedPhone(.ios).token)
        await fixture.simulator.stop()
    }

    // MARK: GOAWAY

    @Test(arguments: [
        #"{"reason":"Shutdown"}"#, #"{"reason":"IdleTimeout"}"#, #"{"reason":"BadCertificateEnvironment"}"#, "",
        "Stream 5 does not exist", #"{"reason":"#,
    ])
    func `GOAWAY says what was asked for, and the connection stays open and answers nothing new`(text: String)
        async throws
    {
        try await Self.with { fixture, client, token in
            fixture.simulator.force(
                Fault(.proceed, times: 1, before: [.goAway(GoAway(code: 1, text: text))]), on: token, platform: .ios)
            #expect(try client.exchange(fixture.apnsRequest(token)).status == 200)
            #expect(client.goAways == [TestGoAway(lastStreamID: 3, code: 1, text: text)])
            try client.sendRaw(rawHeaders(stream: 5))
            #expect(try client.staysSilent(milliseconds: 100))
            #expect(fixture.simulator.books()[.apnsProduction].unanswered == 1)
        }
    }

    @Test(arguments: [(0, 0, 0), (nil, -2, 1), (nil, 2, 5), (nil, 0, 3)] as [(Int32?, Int32, Int32)])
    func `the last stream of a GOAWAY is below, at or above the request`(
        absolute: Int32?, offset: Int32, expected: Int32
    ) async throws {
        try await Self.with { fixture, client, token in
            let frame = GoAway(lastStreamID: absolute, lastStreamOffset: offset)
            fixture.simulator.force(Fault(.proceed, times: 1, before: [.goAway(frame)]), on: token, platform: .ios)
            _ = try client.send(fixture.apnsRequest(token))
            try client.wait { !$0.goAways.isEmpty }
            #expect(client.goAways[0].lastStreamID == expected)
        }
    }

    @Test func `a GOAWAY may leave out the newest request and close without close_notify`() async throws {
        try await Self.with { fixture, client, token in
            let frame = GoAway(text: #"{"reason":"Shutdown"}"#, lastStreamID: 0, closes: true)
            fixture.simulator.force(Fault(.silence, times: 1, before: [.goAway(frame)]), on: token, platform: .ios)
            let stream = try client.send(fixture.apnsRequest(token))
            try client.waitForClose()
            #expect(client.goAways.map(\.lastStreamID) == [0])
            #expect(client.answers[stream]?.status == nil && !client.sawCloseNotify)
        }
    }

    @Test func `GOAWAY comes twice, gracefully at first, and answers follow`() async throws {
        try await Self.with { fixture, client, token in
            let acts: [ConnectionAct] = [
                .goAway(GoAway(lastStreamID: .max)), .goAway(GoAway(text: #"{"reason":"Shutdown"}"#)),
                .goAway(GoAway()),
            ]
            fixture.simulator.force(
                Fault(.proceed, times: 1, delay: .milliseconds(20), before: acts), on: token, platform: .ios)
            let received = try client.exchange(fixture.apnsRequest(token))
            #expect(received.status == 200)
            #expect(client.goAways.map(\.lastStreamID) == [.max, 3, 3])
            #expect(client.goAways.map(\.text) == ["", #"{"reason":"Shutdown"}"#, ""])
        }
    }

    @Test func `answers come before the GOAWAY too, and its last stream may grow`() async throws {
        try await Self.with { fixture, client, token in
            let acts: [ConnectionAct] = [.goAway(GoAway(lastStreamID: 1)), .goAway(GoAway(lastStreamID: 9))]
            fixture.simulator.force(Fault(.proceed, times: 1, after: acts), on: token, platform: .ios)
            _ = try client.send(fixture.apnsRequest(token))
            try client.wait { $0.frames(ofType: 7).count == 2 }
            let types = client.frames.map(\.type)
            let (answered, gone) = (try #require(types.lastIndex(of: 1)), try #require(types.firstIndex(of: 7)))
            #expect(answered < gone)
            #expect(client.frames(ofType: 7).map { $0.payload[3] } == [1, 9])
        }
    }

    // MARK: RST_STREAM

    @Test(
        arguments: [
            NGHTTP2_REFUSED_STREAM, NGHTTP2_INTERNAL_ERROR, NGHTTP2_CANCEL, NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_NO_ERROR,
        ].map(\.rawValue), [-1, 0, 5])
    func `a stream is reset before, after the headers, and in the middle of the body`(code: UInt32, bytes: Int)
        async throws
    {
        try await Self.with { fixture, client, token in
            let answer = SimulatedAnswer(
                status: 400, headers: [HeaderField("content-type", "application/json")],
                body: #"{"reason":"BadDeviceToken"}"#)
            let action: Fault.Action = bytes < 0 ? .reset(code) : .cut(answer, bodyBytes: bytes, code: code)
            fixture.simulator.force(Fault(action, times: 1), on: token, platform: .ios)
            let got = try client.exchange(fixture.apnsRequest(token))
            #expect(got.closeCode == code && got.status == (bytes < 0 ? nil : 400))
            #expect(got.body == String(answer.body.prefix(max(bytes, 0))))
            // The connection and its count of streams are none the worse for it.
            #expect(try client.exchange(fixture.apnsRequest(token)).status == 200)
            #expect(client.goAways.isEmpty)
        }
    }

    // MARK: Answers that are none

    @Test func `1xx comes before the answer`() async throws {
        try await Self.with { fixture, client, token in
            let early: [ConnectionAct] = [.frames([.status(100), .status(103)])]
            fixture.simulator.force(Fault(.proceed, times: 1, before: early), on: token, platform: .ios)
            let received = try client.exchange(fixture.apnsRequest(token))
            #expect(received.status == 200)
            #expect(client.frames.filter { $0.type == 1 && $0.stream == 3 }.count == 3)
        }
    }

    @Test func `only 1xx comes`() async throws {
        try await Self.with { fixture, client, token in
            fixture.simulator.force(Fault(.frames([.status(103)]), times: 1), on: token, platform: .ios)
            let stream = try client.send(fixture.apnsRequest(token))
            try client.wait { $0.frames.contains { $0.type == 1 && $0.stream == 3 } }
            #expect(client.answers[stream]?.closeCode == nil)
        }
    }

    @Test func `a body is shorter than its content-length`() async throws {
        try await Self.with { fixture, client, token in
            let answer = SimulatedAnswer(status: 200, headers: [HeaderField("content-length", "99")], body: "{}")
            fixture.simulator.force(Fault(.answer(answer), times: 1), on: token, platform: .ios)
            // nghttp2 sees to it that such an answer is an error (RFC 9113 section 8.1.1).
            let got = try client.exchange(fixture.apnsRequest(token))
            #expect(got.closeCode == NGHTTP2_PROTOCOL_ERROR.rawValue)
            #expect(client.frames.contains { $0.type == 0 && $0.stream == 3 && $0.payload == Array("{}".utf8) })
        }
    }

    @Test func `a push is promised`() async throws {
        try await Self.with { fixture, client, token in
            let promise = WireFrame.pushPromise(
                of: 2,
                [
                    HeaderField(":method", "GET"), HeaderField(":scheme", "https"),
                    HeaderField(":authority", "localhost"), HeaderField(":path", "/"),
                ])
            fixture.simulator.force(
                Fault(.proceed, times: 1, before: [.frames([promise])]), on: token, platform: .ios)
            _ = try client.send(fixture.apnsRequest(token))
            try client.wait { !$0.frames(ofType: 5).isEmpty }
            #expect(client.frames(ofType: 5)[0].stream == 3)
        }
    }

    @Test(arguments: [
        ("no status", WireFrame.headers([HeaderField("x", "y")], endsStream: true)),
        ("status of letters", .headers([HeaderField(":status", "abc")], endsStream: true)),
        ("upper case", .headers([HeaderField(":status", "200"), HeaderField("X-Y", "z")], endsStream: true)),
        (
            "connection field",
            .headers([HeaderField(":status", "200"), HeaderField("connection", "close")], endsStream: true)
        ),
        ("bad HPACK", WireFrame(type: 1, flags: 5, stream: .request, payload: [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])),
        ("stream 0", WireFrame(type: 1, flags: 5, stream: .connection, payload: [0x88])),
        ("even stream", WireFrame(type: 1, flags: 5, stream: .number(2), payload: [0x88])),
        ("body first", .data("x")),
        ("too long a frame", WireFrame(type: 0, stream: .request, payload: [UInt8](repeating: 0, count: 16_385))),
        ("a window beyond all bounds", .windowUpdate(0x7FFF_FFFF)),
        ("an empty window update", .windowUpdate(0)),
        ("SETTINGS of five bytes", WireFrame(type: 4, stream: .connection, payload: [0, 3, 0, 0, 0])),
        ("a PING of seven bytes", WireFrame(type: 6, stream: .connection, payload: [0, 0, 0, 0, 0, 0, 0])),
        ("DATA that is padded to more than itself", WireFrame(type: 0, flags: 8, stream: .request, payload: [9, 1])),
    ])
    func `frames go out as they were written`(name: String, frame: WireFrame) async throws {
        try await Self.with { fixture, client, token in
            fixture.simulator.force(Fault(.frames([frame]), times: 1), on: token, platform: .ios)
            _ = try client.send(fixture.apnsRequest(token))
            try client.wait { $0.frames.contains { $0.type == frame.type && $0.payload == frame.payload } }
        }
    }

    @Test func `bytes that are no frames go out too`() async throws {
        try await Self.with { fixture, client, token in
            let act = ConnectionAct.bytes(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))
            fixture.simulator.force(Fault(.silence, times: 1, before: [act, .disconnect]), on: token, platform: .ios)
            _ = try client.send(fixture.apnsRequest(token))
            try client.waitForClose()
            #expect(client.leftover.hasPrefix("HTTP/1.1 400"))
        }
    }

    @Test(arguments: Flood.Kind.allCases)
    func `a flood is as long as was asked for`(kind: Flood.Kind) async throws {
        try await Self.with { fixture, client, token in
            let count = 300
            let flood = ConnectionAct.flood(Flood(kind, count: count))
            fixture.simulator.force(Fault(.silence, times: 1, before: [flood]), on: token, platform: .ios)
            let before = client.frames.count
            _ = try client.send(fixture.apnsRequest(token))
            let type: UInt8 =
                switch kind {
                case .ping: 6
                case .settings: 4
                case .continuation, .headers: 9
                case .reset: 3
                case .emptyData: 0
                case .priority: 2
                case .windowUpdate: 8
                case .unknown: 0xFA
                case .earlyHints: 1
                }
            try client.wait { $0.frames.dropFirst(before).count { $0.type == type && $0.flags != 1 } >= count }
        }
    }

    @Test func `a flood ends somewhere`() {
        #expect(Flood.largestCount * 1024 <= 17_000_000)
    }
}
