import HTTPServer
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1)))
struct BodyTests {
    private static let chunkedHead = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"

    @Test func `a chunked body is whole wherever it is cut, and the connection goes on after it`() async throws {
        let request = Array((Self.chunkedHead + "5\r\nhello\r\nA;x=y\r\n, world...\r\n0\r\nTrailer: t\r\n\r\n").utf8)
        try await talking { port in
            let client = try RawClient(port: port)
            for cut in 1..<request.count {
                try client.send(Array(request[..<cut]))
                try client.send(Array(request[cut...]))
                let response = try #require(try client.response())
                #expect(response.body == "post / hello, world...")
                #expect(response["connection"] == nil)
            }
        }
    }

    @Test func `a chunked body may come byte by byte`() async throws {
        try await talking { port in
            let client = try RawClient(port: port)
            for byte in Array((Self.chunkedHead + "5\r\nhello\r\n0\r\n\r\n").utf8) { try client.send([byte]) }
            #expect(try client.response()?.body == "post / hello")
        }
    }

    /// A proxy that takes a bare LF for the end of a line, or takes it for none, sees another request behind it.
    @Test(arguments: [
        "0\n\n", "0\r\n\n", "0\n\r\n", "5\nhello\r\n0\r\n\r\n", "5\r\nhello\n0\r\n\r\n", "0\r\nX: y\n\r\n",
    ])
    func `a bare LF ends no line of a chunked body`(_ body: String) async throws {
        let handler = TestHandler()
        try await talking(to: handler) { port in
            let client = try RawClient(port: port)
            try client.send(Self.chunkedHead + body + "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try client.response()?.status == 400)
            #expect(try client.isAtEnd())
        }
        #expect(handler.seen.withLock { $0.count } == 0)
        #expect(handler.refused.withLock { $0 } == [.malformed(.chunks)])
    }

    @Test func `a body of just the bound passes`() async throws {
        try await talking { port in
            let body = String(repeating: "z", count: 8192)
            let client = try RawClient(port: port)
            try client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 8192\r\n\r\n" + body)
            #expect(try client.response()?.body == "post / " + body)
            try client.send(
                Self.chunkedHead + "1000\r\n" + body.prefix(4096) + "\r\n1000\r\n" + body.prefix(4096) + "\r\n0\r\n\r\n"
            )
            #expect(try client.response()?.body == "post / " + body)
        }
    }

    @Test(arguments: [0, 1, 9000, 60_000])
    func `a body that says it is too large is refused at once, however much of it comes`(_ sent: Int) async throws {
        let handler = TestHandler()
        try await talking(to: handler) { port in
            let client = try RawClient(port: port)
            try client.send(
                "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n" + String(repeating: "z", count: sent))
            let response = try #require(try client.response())
            #expect(response.status == 413)
            #expect(response.body == #"{"error":"refused"}"#)
            #expect(response["connection"] == "close")
            #expect(try client.isAtEnd())
        }
        #expect(handler.seen.withLock { $0.count } == 0)
        #expect(handler.refused.withLock { $0 } == [.bodyTooLarge])
    }

    /// Without the pause that ``Linger`` makes, the first bytes after the close draw a reset, and the next cannot be
    /// sent.
    @Test func `a sender that has not finished writing can still read its refusal`() async throws {
        try await talking { port in
            let client = try RawClient(port: port)
            try client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n")
            #expect(client.hasNews(within: 10_000))
            for _ in 0..<20 { try client.send(String(repeating: "z", count: 1000)) }
            #expect(try client.response()?.status == 413)
            #expect(try client.isAtEnd())
        }
    }

    @Test(arguments: [1, 50, 4000])
    func `a chunked body that passes the bound is refused in the middle`(_ chunk: Int) async throws {
        let handler = TestHandler()
        try await talking(to: handler) { port in
            let client = try RawClient(port: port)
            try client.send(Self.chunkedHead)
            let piece = String(chunk, radix: 16) + "\r\n" + String(repeating: "z", count: chunk) + "\r\n"
            try client.send(String(repeating: piece, count: 9000 / chunk + 1))
            let response = try #require(try client.response())
            #expect(response.status == 413)
            #expect(response.body == #"{"error":"refused"}"#)
            #expect(response["connection"] == "close")
            #expect(response["date"]?.utf8.count == 29)
            #expect(try client.isAtEnd())
        }
        #expect(handler.seen.withLock { $0.count } == 0)
        #expect(handler.refused.withLock { $0 } == [.bodyTooLarge])
    }

    @Test func `a body is invited where it is expected and will be taken`() async throws {
        try await talking { port in
            let client = try RawClient(port: port)
            try client.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nContent-Length: 5\r\n\r\n")
            #expect(try client.response()?.status == 100)
            try client.send("hello")
            #expect(try client.response()?.body == "post / hello")
        }
    }

    @Test(arguments: [
        ("1;", "x", 20_000), ("", "1;abcdefghijklmnopqrst\r\nz\r\n", 400), ("0\r\nX: ", "x", 20_000),
        ("0\r\n", "X: y\r\n", 1000), ("", "0", 20_000),
    ])
    func `extensions and trailers without end are refused`(start: String, piece: String, count: Int) async throws {
        let handler = TestHandler()
        try await talking(to: handler) { port in
            let client = try RawClient(port: port)
            try client.send(Self.chunkedHead + start + String(repeating: piece, count: count))
            #expect(try client.response()?.status == 400)
            #expect(try client.isAtEnd())
        }
        #expect(handler.seen.withLock { $0.count } == 0)
    }
}
