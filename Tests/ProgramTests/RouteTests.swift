import PushSimulator
import Testing

/// Paths, methods and the ways in which a request may come over a connection.
@Suite(.stage(), .timeLimit(.minutes(3)))
struct RouteTests {
    static let registration = #"{"platform":"ios","token":"\#(RegistrationTests.ios)"}"#
    static let registrationRequest = request("POST", "/v1/devices", body: Array(registration.utf8))

    @Test(arguments: [
        "/", "/v1", "/v1/", "/v1/push/", "/v1/pushes", "/V1/push", "/v1/devices/x", "//healthz", "/healthz/",
        "/metrics",
        "/stats", "/v1/../healthz", "/%68ealthz", "/openapi", "/openapi.json/", "/favicon.ico", "/.env",
    ])
    func `another path is not found, whatever the method`(path: String) async throws {
        for method in ["GET", "POST", "DELETE", "PUT"] {
            let answer = try await Stage.current.relay.ask(method, path, body: method == "POST" ? [] : nil)
            expectForm(of: answer)
            #expect(answer.summary == "404 not_found")
        }
    }

    @Test(arguments: [
        ("/v1/devices", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "FOO"], ["POST"]),
        ("/v1/push", ["GET", "PUT", "PATCH", "OPTIONS", "FOO"], ["DELETE", "POST"]),
        ("/healthz", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "FOO"], ["GET", "HEAD"]),
        ("/openapi.json", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "FOO"], ["GET", "HEAD"]),
    ])
    func `another method of a known path is told which there are`(
        path: String, methods: [String], allowed: [String]
    ) async throws {
        for method in methods {
            let answer = try await Stage.current.relay.ask(method, path)
            expectForm(of: answer)
            #expect(answer.summary == "405 method_not_allowed")
            #expect(answer["allow"]?.split(separator: ", ").map { String($0) }.sorted() == allowed)
        }
    }

    @Test func `HEAD is GET without the body, and nothing of it is left on the connection`() async throws {
        let port = try Stage.current.relay.port
        try await onOwnThread {
            let client = try RawClient(port: port)
            try client.send(request("HEAD", "/healthz") + request("HEAD", "/v1/push") + request("GET", "/healthz"))
            let head = try client.nextAnswer(toHead: true)
            #expect(head.status == 200)
            #expect(head["content-type"] == "application/json; charset=utf-8")
            #expect(try client.nextAnswer(toHead: true).status == 405)
            let get = try client.nextAnswer()
            #expect(get.body == #"{"ok":true,"version":"1.2.3-test"}"#)
            #expect(head["content-length"] == get["content-length"])
        }
    }

    @Test func `a query is none of the path`() async throws {
        #expect(try await Stage.current.relay.ask("GET", "/healthz?now=1&x=%2F").status == 200)
        #expect(try await Stage.current.relay.ask("POST", "/v1/devices?", body: Self.registration).status == 201)
    }

    @Test func `requests that are sent ahead are answered in their order, refused ones too`() async throws {
        let (phone, capability) = try await Stage.current.newPhone()
        let port = try Stage.current.relay.port
        let statuses = try await onOwnThread {
            let client = try RawClient(port: port)
            try client.send(
                request("GET", "/healthz") + pushRequest(capability) + request("GET", "/nowhere")
                    + Self.registrationRequest + request("DELETE", "/v1/push", headers: [bearer(capability)])
                    + pushRequest(capability) + request("POST", "/v1/devices", body: Array("{".utf8))
                    + request("GET", "/healthz"))
            return try (0..<8).map { _ in try client.nextAnswer().status }
        }
        #expect(statuses == [200, 202, 404, 201, 204, 404, 400, 200])
        #expect(try Stage.current.notifications(for: phone).count == 1)
    }

    @Test func `a request may come byte by byte`() async throws {
        let (_, capability) = try await Stage.current.newPhone()
        let port = try Stage.current.relay.port
        let statuses = try await onOwnThread {
            let client = try RawClient(port: port)
            for byte in pushRequest(capability) { try client.send([byte]) }
            let first = try client.nextAnswer().status
            for byte in Self.registrationRequest { try client.send([byte]) }
            return [first, try client.nextAnswer().status]
        }
        #expect(statuses == [202, 201])
    }

    @Test func `who waits for leave to send a body gets it, unless the head is refused already`() async throws {
        let (_, capability) = try await Stage.current.newPhone()
        let port = try Stage.current.relay.port
        try await onOwnThread {
            let client = try RawClient(port: port)
            let body = #"{"kind":"dm"}"#
            let head = "POST /v1/push HTTP/1.1\r\nHost: relay.test\r\nExpect: 100-continue\r\n"
            try client.send(
                head + "Authorization: Bearer \(capability)\r\nContent-Length: \(body.utf8.count)\r\n\r\n")
            #expect(try client.nextAnswer().status == 100)
            try client.send(body)
            #expect(try client.nextAnswer().status == 202)

            let other = try RawClient(port: port)
            try other.send(head + "Authorization: Bearer \(capability)\r\nContent-Length: 8193\r\n\r\n")
            #expect(try other.nextAnswer().summary == "413 body_too_large")
        }
    }

    @Test func `HTTP/1.0 is served, and closed after unless it asks to be kept`() async throws {
        let port = try Stage.current.relay.port
        try await onOwnThread {
            let body = Self.registration
            let head = "POST /v1/devices HTTP/1.0\r\nContent-Length: \(body.utf8.count)\r\n"
            let client = try RawClient(port: port)
            try client.send(head + "\r\n" + body)
            #expect(try client.nextAnswer().status == 201)
            #expect(try client.isAtEnd())

            let kept = try RawClient(port: port)
            for _ in 0..<2 {
                try kept.send(head + "Connection: keep-alive\r\n\r\n" + body)
                #expect(try kept.nextAnswer().status == 201)
            }
        }
    }

    @Test func `a connection serves on, and ends when that is asked for`() async throws {
        let port = try Stage.current.relay.port
        try await onOwnThread {
            let client = try RawClient(port: port)
            for _ in 0..<50 {
                try client.send(Self.registrationRequest)
                #expect(try client.nextAnswer().status == 201)
            }
            try client.send(request("GET", "/healthz", headers: [("Connection", "close")]))
            let last = try client.nextAnswer()
            #expect(last.status == 200)
            #expect(last["connection"]?.lowercased() == "close")
            #expect(try client.isAtEnd())
        }
    }

    @Test(arguments: [
        "GET /healthz HTTP/1.1\r\n\r\n", "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a\r\n: empty\r\n\r\n", "GET /healthz HTTP/1.1\r\nHost: a\r\nnothing\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a\r\nName : x\r\n\r\n", "GET /healthz HTTP/3.0\r\nHost: a\r\n\r\n",
        "GET  /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST /v1/devices HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        "POST /v1/devices HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        "POST /v1/devices HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /v1/devices HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: y\r\n", count: 101) + "\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "y", count: 65_536) + "\r\n\r\n",
        "GET /" + String(repeating: "y", count: 65_536) + " HTTP/1.1\r\nHost: a\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ])
    func `what is not HTTP as it should be is refused, and the program lives`(text: String) async throws {
        let port = try Stage.current.relay.port
        try await onOwnThread {
            let client = try RawClient(port: port)
            // It may hang up while it is still being written to, but not without a word.
            try? client.send(text)
            client.endWriting()
            let answer = try client.nextAnswer()
            #expect((400..<600).contains(answer.status) && answer.status != 500)
        }
        #expect(try await Stage.current.relay.health().status == 200)
    }

    @Test(arguments: [
        "", "\r\n", "\u{0}", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}", "GET /heal",
    ])
    func `who says no more than this hurts nobody by hanging up`(text: String) async throws {
        let port = try Stage.current.relay.port
        try await onOwnThread {
            for resets in [false, true] {
                let client = try RawClient(port: port)
                try client.send(text)
                if resets { client.willReset() }
            }
        }
        #expect(try await Stage.current.relay.health().status == 200)
    }

    @Test func `no request leaves a line in the log, at any level`() async throws {
        try await Stage.run { stage in
            let (_, capability) = try await stage.newPhone()
            for _ in 0..<20 {
                #expect(try await stage.relay.push(capability).status == 202)
                #expect(try await stage.relay.health().status == 200)
                #expect(try await stage.relay.push(unknownCapability()).status == 404)
                #expect(try await stage.relay.ask("GET", "/x").status == 404)
                #expect(try await stage.relay.ask("POST", "/v1/devices", body: "{").status == 400)
            }
            let events = await stage.relay.end().outputText.split(separator: "\n").compactMap { line in
                line.split(separator: " ").first { $0.hasPrefix("event=") }
            }
            // Whatever is written for each request of a kind would be there twenty times.
            let counts = events.reduce(into: [:]) { $0[$1, default: 0] += 1 }
            #expect(events.count > 3)
            #expect(counts.filter { $0.value >= 20 } == [:])
        }
    }
}
