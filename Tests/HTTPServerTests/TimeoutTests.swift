import HTTPServer
import Synchronization
import Testing

#if canImport(Glibc)
    import Glibc
#endif

@Suite(.timeLimit(.minutes(1)))
struct TimeoutTests {
    /// Where a request may stop short, and what is heard then.
    @Test(arguments: [
        "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: x\r\nX: y",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhell",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
    ])
    func `a request that does not end is refused, and the connection closed`(_ start: String) async throws {
        let handler = TestHandler()
        try await talking(to: handler, configure: { $0.requestTimeout = .milliseconds(200) }) { port in
            let client = try RawClient(port: port)
            try client.send(start)
            let response = try #require(try client.response())
            #expect(response.status == 408)
            #expect(response.body == #"{"error":"refused"}"#)
            #expect(response["connection"] == "close")
            #expect(try client.isAtEnd())
        }
        #expect(handler.seen.withLock { $0.count } == 0)
        #expect(handler.refused.withLock { $0 } == [.requestTimeout])
    }

    @Test(arguments: ["GET / HTTP/1.1\r\nX: ", "GET /", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"])
    func `a drip of bytes does not hold a connection`(_ start: String) async throws {
        let handler = TestHandler()
        try await talking(
            to: handler,
            configure: {
                $0.requestTimeout = .milliseconds(200)
                $0.idleTimeout = .seconds(1)
            }
        ) { port in
            let client = try RawClient(port: port)
            try client.send(start)
            // Each byte is activity to the library; only the time since the start counts.
            while !client.hasNews(within: 50) { try client.send("y") }
            #expect(try client.response()?.status == 408)
        }
        #expect(handler.seen.withLock { $0.count } == 0)
    }

    @Test func `a silent connection is closed without a word`() async throws {
        let handler = TestHandler()
        try await talking(to: handler, configure: { $0.idleTimeout = .seconds(1) }) { port in
            let fresh = try RawClient(port: port)
            let used = try RawClient(port: port)
            try used.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try used.response()?.status == 200)
            #expect(try fresh.isAtEnd())
            #expect(try used.isAtEnd())
        }
        #expect(handler.refused.withLock { $0 } == [])
    }

    @Test func `a handler may take longer than any time-out`() async throws {
        let gate = Gate()
        let handler = TestHandler { request, _ in
            await gate.pass()
            return .echo(request)
        }
        try await withServer(
            handler,
            configure: {
                $0.requestTimeout = .milliseconds(100)
                $0.idleTimeout = .seconds(1)
            }
        ) { port, server in
            async let body = onOwnThread {
                let client = try RawClient(port: port)
                try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                let body = try client.response()?.body
                try client.send("GET /b HTTP/1.1\r\nHost: x\r\n\r\n")
                return try (body ?? "") + (client.response()?.body ?? "")
            }
            await gate.arrivals(1)
            // A silent connection beside it shows that the time-outs have passed.
            try await onOwnThread { _ = try RawClient(port: port).isAtEnd() }
            gate.open()
            #expect(try await body == "get / get /b ")
        }
    }

    @Test func `connections of one address are bounded where that is asked for`() async throws {
        let handler = TestHandler()
        try await talking(to: handler, configure: { $0.addressCensus = AddressCensus(limit: 2) }) { port in
            let first = try RawClient(port: port)
            var second: RawClient? = try RawClient(port: port)
            for client in [first, second] {
                try client?.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(try client?.response()?.status == 200)
            }
            let third = try RawClient(port: port)
            try third.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try third.response()?.status == 503)
            #expect(try third.isAtEnd())
            second = nil
            // The place is free once the server has noticed; until then the refusal is the right answer.
            var status: Int?
            while status != 200 {
                let next = try RawClient(port: port)
                try next.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                status = try next.response()?.status
            }
        }
        #expect(handler.refused.withLock { $0.allSatisfy { $0 == .tooManyConnections } })
    }
}
