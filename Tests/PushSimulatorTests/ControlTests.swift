import CNghttp2
import PushSimulator
import Testing

/// Orders over the control port, and what they lead to.
@Suite(.timeLimit(.minutes(1)))
struct ControlTests {
    /// A simulator and its control port.
    private struct Room {
        let fixture: Fixture
        let control: TestClient

        /// Gives an order; the answer's body.
        @discardableResult
        func order(_ text: String) throws -> JSON? {
            let answer = try control.exchange(TestRequest(path: "/simulator/" + text))
            return JSON(text: answer.body)
        }

        func ask(_ path: String) throws -> JSON? {
            JSON(text: try control.exchange(TestRequest(method: "GET", path: "/simulator/" + path)).body)
        }

        func push(_ token: String) throws -> TestAnswer {
            try fixture.client(.apnsProduction).exchange(fixture.apnsRequest(token))
        }
    }

    private static func with(_ test: (Room, String) async throws -> Void) async throws {
        let fixture = try await Fixture.start()
        try await test(Room(fixture: fixture, control: try fixture.client(.control)), SimulatedPhone(.ios).token)
        await fixture.simulator.stop()
    }

    @Test func `faults are forced with all that belongs to them, and cleared`() async throws {
        try await Self.with { room, token in
            try room.order("force?token=\(token)&status=429&reason=TooManyRequests&retry_after=9&times=1&skips=1")
            #expect(try room.push(token).status == 200)
            #expect(try room.push(token).headers["retry-after"] == "9")
            #expect(try room.push(token).status == 200)
            try room.order("force?token=\(token)&action=answer&status=502&body=%3Chtml%3E&content_type=text/html")
            let html = try room.push(token)
            #expect(html.status == 502 && html.body == "<html>" && html.headers["content-type"] == "text/html")
            try room.order("clear?token=\(token)")
            #expect(try room.push(token).status == 200)
            try room.order("force?token=\(token)&action=cut&status=200&body=abc&bytes=2&code=7&times=1&delivers=true")
            let cut = try room.push(token)
            #expect(cut.status == 200 && cut.body == "ab" && cut.closeCode == 7)
            #expect(room.fixture.simulator.deliveredCount(to: token, platform: .ios) == 4)
            try room.order("force?service=apns-production&action=reset&code=11&times=1")
            #expect(try room.push(token).closeCode == 11)
        }
    }

    @Test func `acts come with faults, by plan and at once`() async throws {
        try await Self.with { room, token in
            let fixture = room.fixture
            try room.order("force?token=\(token)&action=proceed&act=goaway&text=bye&offset=2&times=1")
            let client = try fixture.client(.apnsProduction)
            #expect(try client.exchange(fixture.apnsRequest(token)).status == 200)
            #expect(client.goAways == [TestGoAway(lastStreamID: 3, code: 0, text: "bye")])
            try room.order("behaviour?service=apns-production&when=request:1&act=flood&flood=ping&count=20&tls=no-alpn")
            let flooded = try fixture.client(.apnsProduction)
            #expect(flooded.negotiated.isEmpty)
            #expect(try flooded.exchange(fixture.apnsRequest(token)).status == 200)
            #expect(flooded.frames(ofType: 6).count == 20)
            #expect(
                try room.order("act?service=apns-production&act=frame&type=250&payload=0102&stream=0")?["ok"] == true)
            try flooded.wait { $0.frames.contains { $0.type == 250 && $0.payload == [1, 2] } }
            try room.order("behaviour?service=apns-production&usual=true")
            #expect(try fixture.client(.apnsProduction).negotiated == "h2")
        }
    }

    @Test func `connections are received otherwise on order`() async throws {
        try await Self.with { room, _ in
            let fixture = room.fixture
            func connects() -> Bool { (try? fixture.client(.fcm).negotiated) == "h2" }
            for (order, end) in [
                ("reception?service=fcm&how=reset", "reception?service=fcm&how=usual"),
                ("reception?service=fcm&how=close&beyond=0&seconds=60", "reception?service=fcm&how=usual"),
                ("listening?service=fcm&how=refuse", "listening?service=fcm&how=usual"),
                ("behaviour?service=fcm&tls=expired", "behaviour?service=fcm&usual=true"),
            ] {
                try room.order(order)
                #expect(!connects(), "\(order)")
                try room.order(end)
                #expect(connects(), "\(end)")
            }
        }
    }

    @Test func `the proxy obeys, and its books are there`() async throws {
        try await Self.with { room, _ in
            try room.order("proxy?answer=refuse&status=503&times=1")
            try room.order("proxy?user=u&password=p")
            func connect() throws -> String {
                let socket = try TestSocket(port: room.fixture.simulator.port(of: .proxy))
                socket.write("CONNECT fcm.googleapis.com:443 HTTP/1.1\r\nProxy-Authorization: Basic dTpw\r\n\r\n")
                return String(socket.read(until: "\r\n\r\n").prefix(12))
            }
            #expect(try connect() == "HTTP/1.1 503")
            #expect(try connect() == "HTTP/1.1 200")
            try room.order("proxy?user=other&password=p")
            #expect(try connect() == "HTTP/1.1 407")
            let proxy = try room.ask("books")?["proxy"]
            #expect(proxy?["connects"] == ["fcm.googleapis.com:443": 3] && proxy?["with_credentials"] == 3)
            #expect(proxy?["answers"] == ["200": 1, "407": 1, "503": 1])
        }
    }

    @Test(arguments: [
        ("dead", "token is missing"), ("force?token=ab&status=x", "status is no number from 200 to 599"),
        ("force?token=ab&action=x", "action is none of refuse"), ("act?service=fcm&act=x", "act is none of goaway"),
        ("act?service=fcm&act=flood&flood=x", "flood is none of ping"), ("act?act=disconnect", "service is missing"),
        ("behaviour?service=fcm&tls=x", "tls is none of usual"), ("behaviour?service=fcm&pings=x", "pings is neither"),
        ("behaviour?service=fcm&when=x&act=disconnect", "when is none of opened"),
        ("reception?service=fcm&how=x", "how is none of usual"),
        ("listening?service=fcm&how=x", "how is none of usual"),
        ("proxy?answer=x", "answer is none of usual"), ("act?service=fcm&act=bytes&payload=abc", "payload is no hex"),
        ("latency?service=control&ms=1", "service is missing"), ("nothing", "no such order"),
        ("books", "no such order"),
    ])
    func `an order that cannot be obeyed is answered with what is wrong`(order: String, complaint: String) async throws
    {
        try await Self.with { room, _ in
            let error = try room.order(order)?["error"]?.string
            #expect(error?.hasPrefix(complaint) == true, "\(error ?? "")")
        }
    }

    @Test func `every order is in the help`() {
        for order in [
            "books", "notifications", "dead", "alive", "forget", "force", "clear", "latency", "clock", "goaway",
            "disconnect", "act", "behaviour", "reception", "listening", "proxy",
        ] {
            #expect(SimulatorCommandLine.help.contains("/\(order)"), "\(order)")
        }
        for kind in Flood.Kind.allCases { #expect(SimulatorCommandLine.help.contains(kind.rawValue)) }
        for profile in TLSProfile.allCases { #expect(SimulatorCommandLine.help.contains(profile.rawValue)) }
        for silence in Silence.allCases { #expect(SimulatorCommandLine.help.contains(silence.rawValue)) }
    }
}
