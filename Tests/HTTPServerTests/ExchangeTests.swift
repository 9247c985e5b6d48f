import EventLoops
import Synchronization
import Testing

@testable import HTTPServer

@Suite(.timeLimit(.minutes(1)))
struct ExchangeTests {
    @Test func `the fallback is sent where the handler is late, and the handler runs on`() async throws {
        let gate = Gate()
        let ends = Record<Bool>()
        let handler = TestHandler { request, exchange in
            exchange.answer(with: .text("late", status: 502), after: .milliseconds(20))
            await gate.pass()
            ends.add(exchange.isAnswered && !exchange.isAbandoned)
            return .text("too late")
        }
        try await withServer(handler) { port, server in
            try await onOwnThread {
                let client = try RawClient(port: port)
                for _ in 0..<2 {
                    try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                    let response = try #require(try client.response())
                    #expect(response.status == 502)
                    #expect(response.body == "late")
                }
            }
            #expect(await server.handlersRunning == 2)
            #expect(await server.exchangesInFlight == 0)
            gate.open()
            while await server.handlersRunning > 0 { await Task.yield() }
        }
        #expect(ends.all == [true, true])
    }

    @Test func `the fallback is forgotten where the handler is in time`() async throws {
        let handler = TestHandler { request, exchange in
            exchange.answer(with: .text("late", status: 502), after: .seconds(50))
            if request.path == "/waiting" { await Task.yield() }
            return .text("in time")
        }
        try await talking(to: handler) { port in
            let client = try RawClient(port: port)
            for path in ["/", "/waiting", "/"] {
                try client.send("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(try client.response()?.body == "in time")
            }
        }
    }

    @Test func `fallbacks of any order are sent in the order of their deadlines`() async throws {
        let gate = Gate()
        let order = Record<String>()
        let handler = TestHandler { request, exchange in
            let milliseconds = Int(request.path.dropFirst()) ?? 0
            exchange.answer(with: .text("no"), after: .seconds(100))
            exchange.answer(with: .text(request.path), after: .milliseconds(milliseconds))
            await gate.pass()
            return .text("too late")
        }
        try await withServer(handler) { port, _ in
            try await withThrowingTaskGroup { group in
                for milliseconds in [400, 100, 300, 200, 100] {
                    group.addTask {
                        let body = try await onOwnThread {
                            let client = try RawClient(port: port)
                            try client.send("GET /\(milliseconds) HTTP/1.1\r\nHost: x\r\n\r\n")
                            return try client.response()?.body ?? ""
                        }
                        order.add(body)
                    }
                }
                try await group.waitForAll()
            }
            gate.open()
        }
        #expect(order.all.sorted() == ["/100", "/100", "/200", "/300", "/400"])
    }

    @Test func `a handler stays on the loop, whatever it waits for`() async throws {
        let places = Record<Bool>()
        let loop = try EventLoop(name: "handler-test")
        try loop.start()
        let handler = TestHandler { request, _ in
            places.add(loop.isOnLoop)
            await Task.yield()
            places.add(loop.isOnLoop)
            await withCheckedContinuation { continuation in Task { continuation.resume() } }
            places.add(loop.isOnLoop)
            await nowhereInParticular(places, loop)
            places.add(loop.isOnLoop)
            return .echo(request)
        }
        let server = HTTPServer(
            on: loop, listener: try .open(host: "127.0.0.1", port: 0), configuration: .init(), handler: handler)
        await server.start()
        let port = server.port
        try await onOwnThread {
            let client = try RawClient(port: port)
            for _ in 0..<3 {
                try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(try client.response()?.status == 200)
            }
        }
        await server.stop()
        loop.stopAndJoin()
        #expect(places.all == Array(repeating: true, count: 15))
    }

    @Test func `a handler that never answers holds its own connection only`() async throws {
        let gate = Gate()
        let handler = TestHandler { request, _ in
            if request.path == "/never" { await gate.pass() }
            return .echo(request)
        }
        try await withServer(handler) { port, server in
            try await onOwnThread {
                let stuck = try RawClient(port: port)
                try stuck.send("GET /never HTTP/1.1\r\nHost: x\r\n\r\n")
                let client = try RawClient(port: port)
                for _ in 0..<100 {
                    try client.send("GET /b HTTP/1.1\r\nHost: x\r\n\r\n")
                    #expect(try client.response()?.body == "get /b ")
                }
            }
            gate.open()
        }
    }

    @Test func `a sender that hangs up does not stop its handler`() async throws {
        let gate = Gate()
        let handler = TestHandler { request, _ in
            await gate.pass()
            return .echo(request)
        }
        try await withServer(handler) { port, server in
            _ = try await onOwnThread {
                let client = try RawClient(port: port)
                try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            }
            await gate.arrivals(1)
            #expect(await server.exchangesInFlight == 1)
            gate.open()
            while await server.openConnections > 0 { await Task.yield() }
            #expect(await server.exchangesInFlight == 0)
            #expect(await server.handlersRunning == 0)
        }
    }

    @Test func `four hundred connections are answered, each its own`() async throws {
        let handler = TestHandler { request, _ in
            await Task.yield()
            return .echo(request)
        }
        try await withServer(handler) { port, server in
            let clients = try await onOwnThread { try Clients(count: 400, port: port) }
            try await onOwnThread {
                for round in 0..<3 {
                    for (index, client) in clients.all.enumerated() {
                        try client.send("GET /\(round)/\(index) HTTP/1.1\r\nHost: x\r\n\r\n")
                    }
                    for (index, client) in clients.all.enumerated() {
                        #expect(try client.response()?.body == "get /\(round)/\(index) ")
                    }
                }
            }
            #expect(await server.openConnections == 400)
        }
    }
}

/// Isolated to nothing, so only the task's preference keeps it on the loop.
@concurrent private func nowhereInParticular(_ places: Record<Bool>, _ loop: EventLoop) async {
    places.add(loop.isOnLoop)
}

/// Many clients that one thread at a time uses.
final class Clients: @unchecked Sendable {
    private(set) var all: [RawClient]
    init(count: Int, port: UInt16) throws { all = try (0..<count).map { _ in try RawClient(port: port) } }

    /// Closes them.
    func forget() { all = [] }
}

/// What happened, in order, from whatever thread.
final class Record<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])
    var all: [Value] { values.withLock { $0 } }
    func add(_ value: Value) { values.withLock { $0.append(value) } }
}
