import HTTPServer
import Synchronization
import Testing

/// Senders that take more than they give: that never read, send ahead without end, or break off.
@Suite(.timeLimit(.minutes(1)))
struct GreedTests {
    private static let request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    private static let hostless = "GET / HTTP/1.1\r\n\r\n"

    @Test(arguments: [true, false])
    func `a sender that never reads its answers is served no further, and cut`(_ waits: Bool) async throws {
        let page = String(repeating: "x", count: 100_000)
        let handler = TestHandler { _, _ in
            if waits { await Task.yield() }
            return .text(page)
        }
        try await withServer(handler, configure: { $0.idleTimeout = .seconds(1) }) { port, server in
            let clients = try await onOwnThread {
                let clients = try Clients(count: 2, port: port)
                try clients.all[0].send(String(repeating: Self.request, count: 1000))
                // Another one is served meanwhile.
                try clients.all[1].send(Self.request)
                #expect(try clients.all[1].response()?.body == page)
                return clients
            }
            while await server.openConnections > 0 { try await turn() }
            #expect(await server.exchangesInFlight == 0)
            // All of it would be a hundred megabytes.
            #expect(handler.seen.withLock { $0.count } < 500)
            _ = clients
        }
    }

    @Test func `what is sent ahead of an answer stays with its sender`() async throws {
        let gate = Gate()
        let handler = TestHandler { request, _ in
            await gate.pass()
            return .echo(request)
        }
        try await withServer(handler) { port, server in
            let clients = try await onOwnThread { try Clients(count: 1, port: port) }
            let ahead = Array(String(repeating: Self.request, count: 1_000_000).utf8)
            let sent = try await onOwnThread { clients.all[0].sendUntilStuck(ahead) }
            #expect(sent < ahead.count)
            #expect(handler.seen.withLock { $0.count } == 1)
            gate.open()
            // Nothing is lost by that.
            try await onOwnThread { () throws in
                for _ in 0..<1000 { #expect(try clients.all[0].response()?.body == "get / ") }
            }
        }
    }

    @Test(arguments: [
        "", "\r\n", "GET / HT", "GET / HTTP/1.1\r\nHost: x\r\nX: ",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhe",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe", hostless, request,
        request + request, request + "GET",
    ])
    func `a reset ends a connection wherever it stands`(_ start: String) async throws {
        let gate = Gate()
        let handler = TestHandler { request, _ in
            await gate.pass()
            return .echo(request)
        }
        let refusals: [HTTPRefusal] = start == Self.hostless ? [.malformed(.host)] : []
        try await withServer(handler, configure: { $0.idleTimeout = .seconds(3600) }) { port, server in
            let client = try await onOwnThread {
                let clients = try Clients(count: 1, port: port)
                try clients.all[0].send(start)
                clients.all[0].willReset()
                return clients
            }
            while await server.openConnections == 0 { try await turn() }
            if start.hasPrefix(Self.request) { await gate.arrivals(1) }
            while handler.refused.withLock({ $0 }) != refusals { try await turn() }
            try await onOwnThread { client.forget() }
            gate.open()
            while await server.openConnections > 0 { try await turn() }
            #expect(await server.exchangesInFlight == 0)
        }
        #expect(handler.refused.withLock { $0 } == refusals)
    }

    @Test func `a silent client holds up nobody but itself`() async throws {
        try await withServer(configure: { $0.maximumConnections = 300 }) { port, server in
            try await onOwnThread {
                let silent = try Clients(count: 200, port: port)
                for client in silent.all.prefix(100) {
                    try client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n")
                }
                let client = try RawClient(port: port)
                for _ in 0..<100 {
                    try client.send(Self.request)
                    #expect(try client.response()?.status == 200)
                }
                _ = silent
            }
        }
    }
}

/// Lets others run; ends a test that is out of time.
private func turn() async throws {
    try Task.checkCancellation()
    await Task.yield()
}
