import EventLoops
import HTTPServer
import Synchronization
import Testing

#if canImport(Glibc)
    import Glibc
#endif

@Suite(.timeLimit(.minutes(1)))
struct LifeTests {
    @Test func `a drain closes idle connections and waits for answers in flight`() async throws {
        let gate = Gate()
        let handler = TestHandler { request, _ in
            if request.path == "/slow" { await gate.pass() }
            return .echo(request)
        }
        try await withServer(handler) { port, server in
            async let slow = onOwnThread {
                let client = try RawClient(port: port)
                try client.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
                let response = try #require(try client.response())
                #expect(response["connection"] == "close")
                #expect(try client.isAtEnd())
                return response.body
            }
            let idle = try await onOwnThread {
                let client = try Clients(count: 1, port: port)
                try client.all[0].send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(try client.all[0].response()?.status == 200)
                return client
            }
            await gate.arrivals(1)
            async let left = server.drain(within: .seconds(30))
            #expect(try await onOwnThread { try idle.all[0].isAtEnd() })
            #expect(throws: ClientError.self) { try RawClient(port: port) }
            gate.open()
            #expect(await left == 0)
            #expect(try await slow == "get /slow ")
        }
    }

    @Test func `a drain ends at its deadline and says what is left`() async throws {
        let gate = Gate()
        let handler = TestHandler { request, _ in
            await gate.pass()
            return .echo(request)
        }
        try await withServer(handler) { port, server in
            async let status = onOwnThread {
                let client = try RawClient(port: port)
                try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                let status = try client.response()?.status
                #expect(try client.isAtEnd())
                return status
            }
            await gate.arrivals(1)
            #expect(await server.drain(within: .milliseconds(50)) == 1)
            await server.stop()
            let answered = try await status
            #expect(answered == 503)
            #expect(await server.handlersRunning == 1)
            gate.open()
            while await server.handlersRunning > 0 { await Task.yield() }
        }
        #expect(handler.refused.withLock { $0 } == [.shuttingDown])
    }

    @Test func `a stop that comes while a drain begins ends the drain too`() async throws {
        let gate = Gate()
        let handler = TestHandler { request, _ in
            await gate.pass()
            return .echo(request)
        }
        try await withServer(handler) { port, server in
            async let status = onOwnThread {
                let client = try RawClient(port: port)
                try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                return try client.response()?.status
            }
            await gate.arrivals(1)
            #expect(await DrainRival(of: server).drainAndStop() == 1)
            let answered = try await status
            #expect(answered == 503)
            gate.open()
        }
    }

    @Test func `a drain without requests returns at once`() async throws {
        try await withServer { _, server in #expect(await server.drain(within: .seconds(30)) == 0) }
    }

    @Test func `stopping with open connections of every kind is sound`() async throws {
        let gate = Gate()
        let handler = TestHandler { request, exchange in
            exchange.answer(with: .text("late"), after: .seconds(50))
            await gate.pass()
            #expect(!exchange.isAbandoned)
            return .echo(request)
        }
        try await withServer(handler) { port, server in
            let clients = try await onOwnThread {
                let clients = try Clients(count: 40, port: port)
                for (index, client) in clients.all.enumerated() {
                    switch index % 4 {
                    case 0: break
                    case 1: try client.send("GET / HTT")
                    case 2: try client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhe")
                    default: try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n")
                    }
                }
                return clients
            }
            await gate.arrivals(10)
            await server.stop()
            #expect(await server.openConnections == 0)
            try await onOwnThread {
                for (index, client) in clients.all.enumerated() where index % 4 == 3 {
                    let response = try client.response()
                    #expect(response?.status == 503)
                }
            }
            gate.open()
            while await server.handlersRunning > 0 { await Task.yield() }
        }
    }

    /// The request has arrived, but the loop has not looked at its sockets before the stop.
    @Test func `a request that arrives with the stop is refused`() async throws {
        let handler = TestHandler { request, _ in
            await Task.yield()
            return .echo(request)
        }
        try await withServer(handler) { port, server in
            let client = try await onOwnThread {
                let clients = try Clients(count: 1, port: port)
                try clients.all[0].send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(try clients.all[0].response()?.status == 200)
                return clients
            }
            await Neighbour(loop: server.loop).stop(server) {
                try? client.all[0].send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            }
            let status = try await onOwnThread { try client.all[0].response()?.status }
            #expect(status == 503)
        }
        #expect(handler.seen.withLock { $0.count } == 1)
    }

    @Test func `a handler may stop its server`() async throws {
        let stopper = Stopper()
        let handler = TestHandler { request, _ in
            await stopper.stop()
            return .echo(request)
        }
        try await withServer(handler) { port, server in
            stopper.server.withLock { $0 = server }
            try await onOwnThread {
                let client = try RawClient(port: port)
                try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                _ = try client.rest()
            }
            while await server.handlersRunning > 0 { await Task.yield() }
            stopper.server.withLock { $0 = nil }
        }
    }

    @Test func `a server that stopped accepting goes on with its connections`() async throws {
        try await withServer { port, server in
            let open = try await onOwnThread {
                let clients = try Clients(count: 1, port: port)
                try clients.all[0].send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(try clients.all[0].response()?.status == 200)
                return clients
            }
            await server.stopAccepting()
            await server.stopAccepting()
            #expect(throws: ClientError.self) { try RawClient(port: port) }
            try await onOwnThread {
                try open.all[0].send("GET /b HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(try open.all[0].response()?.body == "get /b ")
            }
        }
    }

    @Test func `a listener says why it cannot be had`() throws {
        let first = try ListeningSocket.open(host: "127.0.0.1", port: 0)
        #expect(first.port != 0)
        #expect(openError("127.0.0.1", first.port) == .addressInUse)
        #expect(openError("192.0.2.1", 0) == .addressNotHere)
        #expect(openError("localhost", 0) == .notAnAddress)
        #expect(openError("", 0) == .notAnAddress)
    }

    @Test func `a probe says what opening would, and takes the port from nobody`() throws {
        let first = try ListeningSocket.open(host: "127.0.0.1", port: 0)
        let port = first.port
        #expect(probeError("127.0.0.1", port) == .addressInUse)
        #expect(probeError("0.0.0.0", port) == .addressInUse)
        #expect(probeError("192.0.2.1", 1) == .addressNotHere)
        #expect(probeError("localhost", 1) == .notAnAddress)
        _ = consume first
        #expect(probeError("127.0.0.1", port) == nil)
        let second = try ListeningSocket.open(host: "127.0.0.1", port: port)
        #expect(second.port == port)
    }

    private func probeError(_ host: String, _ port: UInt16) -> ListenError? {
        do throws(ListenError) {
            try ListeningSocket.probe(host: host, port: port)
            return nil
        } catch { return error }
    }

    @Test func `listeners share a port where all of them ask for it`() throws {
        let first = try ListeningSocket.open(host: "::", port: 0, reusePort: true)
        let second = try ListeningSocket.open(host: "::", port: first.port, reusePort: true)
        #expect(first.port == second.port)
        #expect(openError("::", first.port) == .addressInUse)
    }

    @Test func `a listener that somebody else opened is taken over`() async throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #expect(adoptionError(descriptor) == .notListening)
        #expect(adoptionError(-1) == .notListening)
        #expect(listen(descriptor, 8) == 0)
        let listener = try ListeningSocket(adopting: descriptor)
        #expect(fcntl(descriptor, F_GETFL) & O_NONBLOCK != 0)
        #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
        #expect(listener.port != 0)
    }

    private func openError(_ host: String, _ port: UInt16) -> ListenError? {
        do throws(ListenError) {
            _ = try ListeningSocket.open(host: host, port: port)
            return nil
        } catch { return error }
    }

    private func adoptionError(_ descriptor: Int32) -> ListenError? {
        do throws(ListenError) {
            _ = try ListeningSocket(adopting: descriptor)
            return nil
        } catch { return error }
    }
}

private final class Stopper: Sendable {
    let server = Mutex<HTTPServer?>(nil)
    func stop() async { await server.withLock { $0 }?.stop() }
}

/// Another actor of the server's loop.
private actor Neighbour {
    let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }
    init(loop: EventLoop) { self.loop = loop }

    /// Does something and stops the server, both in one turn of the loop.
    func stop(_ server: HTTPServer, after action: @Sendable () -> Void) async {
        action()
        await server.stop()
    }
}

/// Somebody else on the server's loop.
private actor DrainRival {
    private let server: HTTPServer
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe server.loop.asUnownedSerialExecutor() }

    init(of server: HTTPServer) { self.server = server }

    /// Begins a drain, and has a stop stand right behind it in the queue of the loop.
    func drainAndStop() async -> Int {
        let drain = Task { await self.drain() }
        Task { await self.stop() }
        return await drain.value
    }

    private func drain() async -> Int { await server.drain(within: .seconds(3600)) }
    private func stop() async { await server.stop() }
}
