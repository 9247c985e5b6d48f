import EventLoops
import Glibc
import Testing

@testable import HTTP2Client

/// A tunnel over a pair of sockets, of which the test holds the proxy's end.
@Suite(.timeLimit(.minutes(1)))
struct ProxyTunnelTests {
    /// Runs a tunnel on its loop.
    private actor Digger {
        private let loop: EventLoop
        private var tunnel: ProxyTunnel?
        nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

        init(on loop: EventLoop) { self.loop = loop }

        /// What becomes of it: the bytes that can be read behind the proxy's answer until its end.
        func dig(_ descriptor: Int32, request: [UInt8]) async -> Result<[UInt8], Unreachable> {
            let result = await withCheckedContinuation { continuation in
                let tunnel = ProxyTunnel(descriptor, request: request, on: loop) { continuation.resume(returning: $0) }
                self.tunnel = tunnel
                tunnel.start()
            }
            tunnel = nil
            return result.map { descriptor in
                defer { close(descriptor) }
                var left = [UInt8](repeating: 0, count: 100_000)
                let count = unsafe recv(descriptor, &left, left.count, 0)
                return Array(left.prefix(max(count, 0)))
            }
        }
    }

    private func with(
        _ body: (_ ours: Int32, _ proxys: Int32, EventLoop) async throws -> Void
    ) async throws {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        #expect(unsafe socketpair(AF_UNIX, type, 0, &ends) == 0)
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        let loop = try EventLoop(name: "test")
        try loop.start()
        try await body(ends[0], ends[1], loop)
        loop.stopAndJoin()
        close(ends[1])
    }

    private func say(_ text: String, on socket: Int32) {
        let bytes = Array(text.utf8)
        #expect(unsafe write(socket, bytes, bytes.count) == bytes.count)
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nVia: \(String(repeating: "x", count: 9000))\r\n\r\n",
    ])
    func `not a byte behind the answer is taken, however much of it has come`(head: String) async throws {
        let behind = "\u{16}\u{3}\u{3}" + String(repeating: "HTTP/1.1 500 No\r\n\r\n", count: 500)
        try await with { ours, proxys, loop in
            say(head + behind, on: proxys)
            #expect(await Digger(on: loop).dig(ours, request: [1, 2, 3]) == .success(Array(behind.utf8)))
        }
    }

    @Test func `a request that the socket takes in parts arrives whole`() async throws {
        try await with { ours, proxys, loop in
            var small: Int32 = 4096
            unsafe setsockopt(ours, SOL_SOCKET, SO_SNDBUF, &small, socklen_t(MemoryLayout<Int32>.size))
            let request = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
            async let outcome = Digger(on: loop).dig(ours, request: request)
            var arrived: [UInt8] = []
            var part = [UInt8](repeating: 0, count: 1000)
            while arrived.count < request.count {
                let count = unsafe recv(proxys, &part, part.count, Int32(MSG_DONTWAIT))
                if count > 0 { arrived += part.prefix(count) } else { try await Task.sleep(for: .milliseconds(1)) }
            }
            #expect(arrived == request)
            say("HTTP/1.1 200 OK\r\n\r\nX", on: proxys)
            #expect(await outcome == .success(Array("X".utf8)))
        }
    }

    @Test func `a refusal that comes before the whole request has left is the answer`() async throws {
        try await with { ours, proxys, loop in
            say("HTTP/1.1 407 No\r\n\r\n", on: proxys)
            let outcome = await Digger(on: loop).dig(ours, request: [UInt8](repeating: 1, count: 10_000_000))
            #expect(outcome == .failure(.proxyRefused(status: 407)))
        }
    }

    @Test(arguments: ["", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\nVia: x\r\n"])
    func `an end before the answer's end is told`(words: String) async throws {
        try await with { ours, proxys, loop in
            say(words, on: proxys)
            shutdown(proxys, Int32(SHUT_RDWR))
            #expect(await Digger(on: loop).dig(ours, request: [1]) == .failure(.proxyHungUp))
        }
    }
}
