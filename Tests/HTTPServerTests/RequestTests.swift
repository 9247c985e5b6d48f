import HTTPServer
import Synchronization
import Testing

#if canImport(Glibc)
    import Glibc
#endif

@Suite(.timeLimit(.minutes(1)))
struct RequestTests {
    /// Answers after the loop has gone round, as most handlers do.
    static func waiting() -> TestHandler {
        TestHandler { request, _ in
            await Task.yield()
            return .echo(request)
        }
    }

    @Test func `a request is answered by an async handler over the loop`() async throws {
        try await talking(to: Self.waiting()) { port in
            let client = try RawClient(port: port)
            try client.send("POST /a/b?c=%20d HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")
            let response = try #require(try client.response())
            #expect(response.status == 200)
            #expect(response.body == "post /a/b?c=%20d hello")
            #expect(response["content-type"] == "text/plain")
            #expect(response["date"]?.hasSuffix(" GMT") == true)
            #expect(response["connection"] == nil)
        }
    }

    @Test(arguments: [true, false]) func `a connection is kept for further requests`(_ waits: Bool) async throws {
        try await talking(to: waits ? Self.waiting() : TestHandler()) { port in
            let client = try RawClient(port: port)
            for number in 0..<5 {
                try client.send("GET /\(number) HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(try client.response()?.body == "get /\(number) ")
            }
        }
    }

    @Test(arguments: [true, false]) func `a hundred pipelined requests are answered in order`(_ waits: Bool)
        async throws
    {
        try await talking(to: waits ? Self.waiting() : TestHandler()) { port in
            let client = try RawClient(port: port)
            let requests = (0..<100).map {
                "POST /\($0) HTTP/1.1\r\nHost: x\r\nX: \(String(repeating: "y", count: 150))\r\nContent-Length: 3\r\n\r\nabc"
            }
            try client.send(requests.joined())
            for number in 0..<100 { #expect(try client.response()?.body == "post /\(number) abc") }
        }
    }

    @Test func `two requests in one segment are two, the first with a body`() async throws {
        try await talking(to: Self.waiting()) { port in
            let client = try RawClient(port: port)
            try client.send(
                "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nGET GET /b HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try client.response()?.body == "post /a GET ")
            #expect(try client.response()?.body == "get /b ")
        }
    }

    @Test func `a request is the same wherever it is cut in two`() async throws {
        let request = Array("POST /a?b HTTP/1.1\r\nHost: x\r\nX:\t y \r\nContent-Length: 5\r\n\r\nhello".utf8)
        try await talking { port in
            let client = try RawClient(port: port)
            for cut in 1..<request.count {
                try client.send(Array(request[..<cut]))
                try client.send(Array(request[cut...]))
                #expect(try client.response()?.body == "post /a?b hello")
            }
        }
    }

    @Test func `a request may come byte by byte`() async throws {
        let handler = TestHandler()
        try await talking(to: handler, configure: { $0.retainedHeaders = ["x"] }) { port in
            let client = try RawClient(port: port)
            for byte in Array("POST /a HTTP/1.1\r\nHost: x\r\nX: y\r\nContent-Length: 5\r\n\r\nhello".utf8) {
                try client.send([byte])
            }
            #expect(try client.response()?.body == "post /a hello")
        }
        #expect(handler.seen.withLock { $0.first?.values(of: "x") } == ["y"])
    }

    @Test func `a head just below its bound passes, whatever it is made of`() async throws {
        try await talking(to: Self.waiting()) { port in
            let client = try RawClient(port: port)
            let start = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 8192\r\nX: "
            let filler = String(repeating: "y", count: 8192 - start.utf8.count - 4)
            let body = String(repeating: "z", count: 8192)
            for _ in 0..<3 {
                try client.send(start + filler + "\r\n\r\n" + body)
                #expect(try client.response()?.body == "post / " + body)
            }
            try client.send("GET / HTTP/1.1\r\nHost: x\r\n" + String(repeating: "A: b\r\n", count: 80) + "\r\n")
            #expect(try client.response()?.status == 200)
        }
    }

    @Test func `fields are kept by name, in order, without blanks, and others are not`() async throws {
        let handler = TestHandler()
        try await talking(to: handler, configure: { $0.retainedHeaders = ["authorization", "x-forwarded-for"] }) {
            port in
            let client = try RawClient(port: port)
            try client.send(
                "GET / HTTP/1.1\r\nHost: x\r\nAUTHORIZATION:Bearer p_\r\nX-Forwarded-For:  1.2.3.4 \t\r\nSecret: s\r\n"
                    + "x-forwarded-for: \r\n\r\n")
            #expect(try client.response()?.status == 200)
        }
        let request = try #require(handler.seen.withLock { $0.first })
        #expect(request.values(of: "authorization") == ["Bearer p_"])
        #expect(request.values(of: "x-forwarded-for") == ["1.2.3.4", ""])
        #expect(request.values(of: "secret") == [])
        #expect(request.values(of: "host") == [])
    }

    @Test func `of a field that is only noted nothing is kept but that it came`() async throws {
        let handler = TestHandler()
        try await talking(to: handler, configure: { $0.notedHeaders = ["x-forwarded-for"] }) { port in
            let client = try RawClient(port: port)
            for field in ["X-FORWARDED-FOR: 1.2.3.4", "X-Forwarded: 1.2.3.4"] {
                try client.send("GET / HTTP/1.1\r\nHost: x\r\n\(field)\r\n\r\n")
                #expect(try client.response()?.status == 200)
            }
        }
        let requests = handler.seen.withLock { $0 }
        #expect(requests.map(\.hasNotedHeader) == [true, false])
        #expect(requests.allSatisfy { $0.values(of: "x-forwarded-for").isEmpty })
    }

    @Test func `methods are case-sensitive and unknown ones are handed on`() async throws {
        let handler = TestHandler()
        try await talking(to: handler) { port in
            let client = try RawClient(port: port)
            for method in ["GET", "get", "DELETE", "BREW", "PUT", "PATCH", "OPTIONS"] {
                try client.send("\(method) / HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(try client.response()?.status == 200)
            }
        }
        #expect(
            handler.seen.withLock { $0.map(\.method) }
                == [.get, .other("get"), .delete, .other("BREW"), .put, .patch, .options])
    }

    @Test func `the target comes as it was sent`() async throws {
        let handler = TestHandler()
        try await talking(to: handler) { port in
            let client = try RawClient(port: port)
            for target in ["//x", "/%2e%2E/%00", "/a?", "/a?b?c&d=e+f", "/?"] {
                try client.send("GET \(target) HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(try client.response()?.status == 200)
            }
        }
        let seen = handler.seen.withLock { $0.map { [$0.path, $0.query] } }
        #expect(seen == [["//x", nil], ["/%2e%2E/%00", nil], ["/a", ""], ["/a", "b?c&d=e+f"], ["/", ""]])
    }

    @Test func `empty lines before a request are skipped`() async throws {
        try await talking { port in
            let client = try RawClient(port: port)
            try client.send("\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try client.response()?.body == "get / ")
            #expect(try client.response()?.body == "get /b ")
        }
    }

    @Test func `HTTP 1.0 closes, unless it is asked to keep the connection`() async throws {
        try await talking(to: Self.waiting()) { port in
            let client = try RawClient(port: port)
            try client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            #expect(try client.response()?["connection"]?.lowercased() == "keep-alive")
            try client.send("GET / HTTP/1.0\r\n\r\n")
            #expect(try client.response()?["connection"] == "close")
            #expect(try client.isAtEnd())
        }
    }

    @Test func `a connection closes where the sender asks for it`() async throws {
        try await talking(to: Self.waiting()) { port in
            let client = try RawClient(port: port)
            try client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            #expect(try client.response()?["connection"] == "close")
            #expect(try client.isAtEnd())
        }
    }

    @Test func `HEAD is told the length and gets no body, 204 gets neither`() async throws {
        let handler = TestHandler { request, _ in
            request.method == .delete ? HTTPResponse(status: 204).prepared() : .text("hello")
        }
        try await talking(to: handler) { port in
            let client = try RawClient(port: port)
            try client.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\nDELETE / HTTP/1.1\r\nHost: x\r\n\r\n")
            let head = try #require(try client.response(toHead: true))
            #expect(head.status == 200)
            #expect(head["content-length"] == "5")
            let empty = try #require(try client.response())
            #expect(empty.status == 204)
            #expect(empty["content-length"] == nil)
            try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try client.response()?.body == "hello")
        }
    }

    @Test func `a prepared answer is given again and again, open and closing`() async throws {
        let answer = HTTPResponse(status: 201, headers: [("x", "y")], body: Array("made".utf8)).prepared()
        try await talking(to: TestHandler { _, _ in answer }) { port in
            for _ in 0..<3 {
                let client = try RawClient(port: port)
                for connection in ["keep-alive", "close"] {
                    try client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: \(connection)\r\n\r\n")
                    let response = try #require(try client.response())
                    #expect(response.status == 201)
                    #expect(response["x"] == "y")
                    #expect(response.body == "made")
                }
                #expect(try client.isAtEnd())
            }
        }
    }

    @Test func `an answer may be larger than a socket takes at once`() async throws {
        let page = String(repeating: "metric 1\n", count: 500_000)
        try await talking(to: TestHandler { _, _ in .text(page) }) { port in
            let client = try RawClient(port: port)
            for _ in 0..<2 {
                try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(try client.response()?.body == page)
            }
        }
    }

    @Test func `pipelined requests are answered to a sender that has ended its side`() async throws {
        try await talking { port in
            let client = try RawClient(port: port)
            try client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n")
            client.endWriting()
            #expect(try client.response()?.body == "get /a ")
            #expect(try client.response()?.body == "get /b ")
        }
    }

    @Test(.enabled(if: hasCurl)) func `curl is served`() async throws {
        try await talking(to: Self.waiting()) { port in
            let large = String(repeating: "z", count: 3000)
            // Several on one connection, the second with an expectation, the third chunked.
            let output = shell(
                "curl -s -m 10 http://127.0.0.1:\(port)/a -d hello --next -s -m 10 http://127.0.0.1:\(port)/b "
                    + "-H 'Expect: 100-continue' -d \(large) --next -s -m 10 http://127.0.0.1:\(port)/c "
                    + "-H 'Transfer-Encoding: chunked' -d chunks --next -s -m 10 -I -o /dev/null -w '%{http_code}' "
                    + "http://127.0.0.1:\(port)/d")
            #expect(output == "post /a hellopost /b \(large)post /c chunks200")
        }
    }

    @Test(arguments: ["GET", "POST", "HEAD"], [true, false])
    func `an expectation without a body is answered, whatever follows it`(
        _ method: String, _ isAtOnce: Bool
    ) async throws {
        for length in ["", "Content-Length: 0\r\n"] {
            let handler = isAtOnce ? TestHandler() : TestHandler { request, _ in .echo(request) }
            try await talking(to: handler) { port in
                let client = try RawClient(port: port)
                let first = "\(method) /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\(length)\r\n"
                try client.send(first + "GET /b HTTP/1.1\r\nHost: x\r\n\r\n")
                // Nor is it told to go on: there is nothing to go on with.
                #expect(try client.response(toHead: method == "HEAD")?.status == 200)
                #expect(try client.response()?.body == "get /b ")
            }
            #expect(handler.seen.withLock { $0.map(\.path) } == ["/a", "/b"])
        }
    }

    @Test func `the peer's address is known in IPv6 form and does not print`() async throws {
        let handler = TestHandler()
        try await withServer(handler, host: "::") { port, _ in
            for family in [AddressFamily.four, .six] {
                _ = try await onOwnThread {
                    let client = try RawClient(port: port, family: family)
                    try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                    return try client.response()?.status
                }
            }
        }
        let peers = handler.seen.withLock { $0.map(\.peer) }
        #expect(peers == [PeerAddress(high: 0, low: 0xffff_7f00_0001), PeerAddress(high: 0, low: 1)])
        #expect(peers.map(\.isIPv4) == [true, false])
        #expect("\(peers[0])" == "(address)")
        #expect(String(reflecting: peers[0]) == "(address)")
    }
}

private let hasCurl = unsafe access("/usr/bin/curl", X_OK) == 0

/// What a command prints.
private func shell(_ command: String) -> String {
    guard let stream = unsafe popen(command, "r") else { return "" }
    var output: [UInt8] = []
    while case let byte = unsafe getc(stream), byte >= 0 { output.append(UInt8(byte)) }
    unsafe pclose(stream)
    return String(decoding: output, as: UTF8.self)
}
