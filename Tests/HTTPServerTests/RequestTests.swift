import HTTPServer
import Testing

@Suite(.timeLimit(.minutes(1)))
struct RequestTests {
    @Test func `a request is answered by an async handler over the loop`() async throws {
        let handler = TestHandler { request, _ in
            await Task.yield()
            return .echo(request)
        }
        try await talking(to: handler) { port in
            let client = try RawClient(port: port)
            try client.send("POST /a/b?c=%20d HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")
            let response = try #require(try client.response())
            #expect(response.status == 200)
            #expect(response.body == "post /a/b?c=%20d hello")
            #expect(response["date"] != nil)
        }
    }

    @Test func `an answer that needs no waiting is given at once`() async throws {
        try await talking { port in
            let client = try RawClient(port: port)
            for _ in 0..<3 {
                try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(try client.response()?.body == "get / ")
            }
        }
    }
}
