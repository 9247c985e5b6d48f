import EventLoops
import HTTPServer
import Synchronization
import Testing

/// Senders that stop short, go without a word or come in too great a number.
@Suite(.timeLimit(.minutes(1)))
struct StrangerTests {
    @Test(arguments: [
        "POST /v1/push HTTP/1.1\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhe",
    ])
    func `a drain does not wait for a request that stopped short`(_ start: String) async throws {
        let handler = TestHandler()
        try await withServer(handler, configure: { $0.requestTimeout = .seconds(60) }) { port, server in
            let client = try await onOwnThread {
                let client = try Client(port: port)
                try client.raw.send(start)
                return client
            }
            while await server.exchangesInFlight == 0 { await Task.yield() }
            #expect(await server.drain(within: .seconds(10)) == 0)
            try await onOwnThread { () throws in
                #expect(try client.raw.response()?.status == 503)
                #expect(try client.raw.isAtEnd())
            }
        }
        #expect(handler.refused.withLock { $0 } == [.shuttingDown])
    }

    @Test(arguments: [(1, 4_000_000), (100, 100_000)])
    func `a drain does not wait for a sender that reads nothing of its answers`(
        requests: Int, length: Int
    ) async throws {
        let page = String(repeating: "x", count: length)
        let handler = TestHandler { _, _ in .text(page) }
        try await withServer(handler) { port, server in
            let client = try await onOwnThread {
                let client = try Client(port: port, receiveBuffer: 4096)
                try client.raw.send(String(repeating: "GET / HTTP/1.1\r\nHost: x\r\n\r\n", count: requests))
                // What it could read is there, and it does not.
                #expect(client.raw.hasNews(within: 10_000))
                return client
            }
            #expect(await server.exchangesInFlight == 1)
            #expect(await server.drain(within: .seconds(10)) == 0)
            _ = client
        }
    }

    @Test func `a sender that reads slowly is served whole by a drain`() async throws {
        let page = String(repeating: "x", count: 6_000_000)
        let handler = TestHandler { _, _ in .text(page) }
        try await withServer(handler) { port, server in
            let client = try await onOwnThread {
                let client = try Client(port: port, receiveBuffer: 65_536)
                try client.raw.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(client.raw.hasNews(within: 10_000))
                return client
            }
            let began = ContinuousClock.now
            async let left = server.drain(within: .seconds(30))
            try await onOwnThread { () throws in
                client.raw.pause = 20_000
                #expect(try client.raw.response()?.body.utf8.count == page.utf8.count)
            }
            #expect(await left == 0)
            // Far longer than it is waited for somebody who takes nothing.
            #expect(ContinuousClock.now - began > .seconds(1))
        }
    }

    @Test func `a drain takes a request that ends in time`() async throws {
        try await withServer { port, server in
            let client = try await onOwnThread {
                let client = try Client(port: port)
                try client.raw.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n")
                return client
            }
            while await server.exchangesInFlight == 0 { await Task.yield() }
            async let left = server.drain(within: .seconds(10))
            try await onOwnThread {
                try client.raw.send("hi")
                #expect(try client.raw.response()?.body == "post / hi")
            }
            #expect(await left == 0)
        }
    }

    /// What arrives together with the end of the stream, and whether it is a whole request.
    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", true), ("GET / HTTP/1.1\r\nHost", false),
        ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhe", false),
    ])
    func `a connection whose peer has gone does not stay`(_ text: String, isWhole: Bool) async throws {
        try await withServer(configure: { $0.requestTimeout = .seconds(60) }) { port, server in
            let client = try await onOwnThread { try Client(port: port) }
            while await server.openConnections == 0 { await Task.yield() }
            // In one turn of the loop, so that the server sees both at once.
            try await Turn(loop: server.loop).take {
                try client.raw.send(text)
                client.raw.endWriting()
            }
            try await onOwnThread { () throws in
                #expect(try client.raw.response()?.status == (isWhole ? 200 : nil))
                #expect(try client.raw.isAtEnd())
            }
        }
    }

    @Test func `a sender that ends its side after the request is answered`() async throws {
        let gate = Gate()
        let handler = TestHandler { request, _ in
            await gate.pass()
            return .echo(request)
        }
        try await withServer(handler) { port, server in
            let clients = try await onOwnThread { try [Client(port: port), Client(port: port)] }
            while await server.openConnections < 2 { await Task.yield() }
            try await onOwnThread {
                try clients[0].raw.send("GET /lingers HTTP/1.1\r\nHost: x\r\n\r\n")
                try clients[1].raw.send("GET /ends HTTP/1.1\r\nHost: x\r\n\r\n")
                clients[1].raw.endWriting()
            }
            await gate.arrivals(2)
            gate.open()
            try await onOwnThread { () throws in
                #expect(try clients[1].raw.response()?.body == "get /ends ")
                #expect(try clients[1].raw.isAtEnd())
                #expect(try clients[0].raw.response()?.body == "get /lingers ")
            }
        }
    }

    @Test func `connections beyond the bound are refused at once`() async throws {
        let handler = TestHandler()
        try await talking(to: handler, configure: { $0.maximumConnections = 2 }) { port in
            let first = try RawClient(port: port)
            var second: RawClient? = try RawClient(port: port)
            for client in [first, second] {
                try client?.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(try client?.response()?.status == 200)
            }
            // They stay open at their end, and are more than the library would hold.
            let others = try (0..<300).map { _ in try RawClient(port: port) }
            for client in others {
                #expect(try client.response()?.status == 503)
                #expect(try client.isAtEnd())
            }
            second = nil
            var status: Int?
            while status != 200 {
                let next = try RawClient(port: port)
                try next.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                status = try next.response()?.status
            }
            try first.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try first.response()?.status == 200)
        }
        #expect(handler.refused.withLock { $0.allSatisfy { $0 == .tooManyConnections } })
    }

    @Test func `servers with one census bound an address together`() async throws {
        let census = AddressCensus(limit: 2)
        let bound: @Sendable (inout HTTPServerConfiguration) -> Void = { $0.addressCensus = census }
        try await withServer(configure: bound) { first, _ in
            try await withServer(configure: bound) { second, _ in
                try await onOwnThread {
                    let request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
                    let here = try RawClient(port: first)
                    var there: RawClient? = try RawClient(port: second)
                    for client in [here, there] {
                        try client?.send(request)
                        #expect(try client?.response()?.status == 200)
                    }
                    for port in [first, second] {
                        let third = try RawClient(port: port)
                        #expect(try third.response()?.status == 503)
                    }
                    there = nil
                    var status: Int?
                    while status != 200 {
                        let next = try RawClient(port: first)
                        try next.send(request)
                        status = try next.response()?.status
                    }
                }
            }
        }
    }
}

/// A client that goes from one thread to the next, never used by two at a time.
private final class Client: @unchecked Sendable {
    let raw: RawClient
    init(port: UInt16, receiveBuffer: Int32? = nil) throws {
        raw = try RawClient(port: port, receiveBuffer: receiveBuffer)
    }
}

/// Another actor of the server's loop.
private actor Turn {
    let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }
    init(loop: EventLoop) { self.loop = loop }

    /// Does something within one turn of the loop.
    func take(_ action: @Sendable () throws -> Void) rethrows { try action() }
}
