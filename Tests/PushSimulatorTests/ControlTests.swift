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
            try room.order("force?token=\(token)&action=apns&status=410&reason=Unregistered&form=array&times=1")
            let array = try room.push(token)
            #expect(array.status == 410 && array.body == #"["Unregistered"]"#)
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

    @Test func `tokens, quotas and keys are changed on order`() async throws {
        try await Self.with { room, token in
            let (fixture, simulator) = (room.fixture, room.fixture.simulator)
            try room.order("dead?token=\(token)&since=7000&timestamp=seconds&noticed_after=60")
            #expect(try room.push(token).status == 200)
            try room.order("clock?seconds=61")
            #expect(try room.push(token).body == #"{"reason":"Unregistered","timestamp":7}"#)
            try room.order("alive?token=\(token)")
            try room.order("online?token=\(token)&online=false")
            #expect(try room.push(token).status == 200)
            #expect(try room.ask("shown?token=\(token)") == [])
            try room.order("online?token=\(token)&online=true")
            guard case .array(let shown) = try room.ask("shown?token=\(token)") else {
                Issue.record("no list")
                return
            }
            #expect(shown.count == 1)
            try room.order("rate?platform=ios&count=0")
            #expect(try room.push(token).body == #"{"reason":"TooManyRequests"}"#)
            try room.order("rate?platform=ios")
            try room.order("key?id=\(simulator.apnsKeyID)&environment=sandbox")
            #expect(try room.push(token).body == #"{"reason":"BadEnvironmentKeyIdInToken"}"#)
            try room.order("key?id=\(simulator.apnsKeyID)")
            try room.order("topic?name=other.topic")
            let client = try fixture.client(.apnsProduction)
            #expect(
                try client.exchange(fixture.apnsRequest(token, changing: ["apns-topic": "other.topic"])).status == 200)
            try room.order("key?id=\(simulator.apnsKeyID)&revoked=true")
            #expect(try room.push(token).body == #"{"reason":"InvalidProviderToken"}"#)
        }
    }

    @Test func `Google's refusals and access tokens are changed on order`() async throws {
        try await Self.with { room, _ in
            let fixture = room.fixture
            try room.order("access-tokens?expires_in=%2260%22&lifetime=5")
            let answer = try fixture.client(.oauth).exchange(fixture.tokenRequest(fixture.assertion()))
            #expect(JSON(text: answer.body)?["expires_in"] == "60")
            try room.order("access-tokens?expires_in=missing")
            let access = try fixture.accessToken()
            let phone = SimulatedPhone(.android)
            func push() throws -> TestAnswer {
                let body = #"{"message":{"token":"\#(phone.token)"}}"#
                return try fixture.client(.fcm).exchange(fixture.fcmRequest(body, accessToken: access))
            }
            try room.order(
                "force?token=\(phone.token)&platform=android&action=fcm&kind=bad-token-field&details=snake-case&times=1"
            )
            #expect(try push().body.contains("error_code"))
            try room.order("rate?project=true&count=1&seconds=60&retry_after=4")
            #expect(try push().status == 200)
            #expect(try push().headers["retry-after"] == "4")
            try room.order("access-tokens?revoke=true")
            #expect(try push().status == 401)
            try room.order("force?service=oauth&action=oauth&kind=page&times=1")
            #expect(try fixture.client(.oauth).exchange(TestRequest(path: "/token")).body.contains("<title>"))
            try room.order("access-tokens?account=deleted")
            #expect(try fixture.accessToken().isEmpty)
            try room.order("access-tokens?account=usual")
            try room.order("behaviour?service=fcm&next=true&action=fcm&kind=internal")
            let sick = try fixture.client(.fcm)
            #expect(try sick.exchange(TestRequest(path: "/")).status == 500)
            #expect(try sick.exchange(TestRequest(path: "/")).status == 500)
            #expect(try fixture.client(.fcm).exchange(TestRequest(path: "/")).status == 404)
        }
    }

    @Test(arguments: [
        ("force?service=fcm&action=fcm&kind=x", "kind is none of unregistered"),
        ("access-tokens?expires_in=x", "expires_in is neither"), ("key", "id is missing"), ("topic", "name is missing"),
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
            "disconnect", "act", "behaviour", "reception", "listening", "proxy", "online", "shown", "rate", "key",
            "topic",
            "access-tokens",
        ] {
            #expect(SimulatorCommandLine.help.contains("/\(order)"), "\(order)")
        }
        for kind in Flood.Kind.allCases { #expect(SimulatorCommandLine.help.contains(kind.rawValue)) }
        for profile in TLSProfile.allCases { #expect(SimulatorCommandLine.help.contains(profile.rawValue)) }
        for silence in Silence.allCases { #expect(SimulatorCommandLine.help.contains(silence.rawValue)) }
    }
}
