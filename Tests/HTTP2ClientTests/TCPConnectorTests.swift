import EventLoops
import Glibc
import Testing

@testable import HTTP2Client

/// The race between addresses with real sockets.
@Suite(.timeLimit(.minutes(1)))
struct TCPConnectorTests {
    /// Runs a connector on its loop.
    private actor Racer {
        private let loop: EventLoop
        private var connector: TCPConnector?
        nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

        init(on loop: EventLoop) { self.loop = loop }

        /// The connected socket's family, or why there is none.
        func race(_ addresses: [SocketAddress]) async -> Result<Int32, Unreachable> {
            let result = await withCheckedContinuation { continuation in
                let connector = TCPConnector(AddressRace(addresses), on: loop) { continuation.resume(returning: $0) }
                self.connector = connector
                connector.start()
            }
            connector = nil
            return result.map { socket in
                defer { close(socket) }
                var address = sockaddr_storage()
                var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
                unsafe withUnsafeMutablePointer(to: &address) { pointer in
                    unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                        unsafe _ = getpeername(socket, raw, &length)
                    }
                }
                return Int32(address.ss_family)
            }
        }
    }

    private func race(_ addresses: [SocketAddress]) async throws -> Result<Int32, Unreachable> {
        let loop = try EventLoop(name: "test")
        try loop.start()
        let result = await Racer(on: loop).race(addresses)
        loop.stopAndJoin()
        return result
    }

    private func address(_ port: LoopbackPort, isIPv6: Bool) throws -> SocketAddress {
        let host = isIPv6 ? "::1" : "127.0.0.1"
        return try #require(try SocketAddress.all(of: host, port: port.port, onlyLiteral: true).get().first)
    }

    @Test func `an address that refuses gives way to the next at once`() async throws {
        let refusing = try #require(LoopbackPort(isIPv6: false))
        let listening = try #require(LoopbackPort(isIPv6: true))
        #expect(listen(listening.socket, 1) == 0)
        let outcome = try await race([address(refusing, isIPv6: false), address(listening, isIPv6: true)])
        #expect(outcome == .success(AF_INET6))
        close(refusing.socket)
        close(listening.socket)
    }

    @Test func `an address that never answers gives way to the next after its head start`() async throws {
        let hanging = try #require(LoopbackPort(isIPv6: true))
        #expect(listen(hanging.socket, 0) == 0)
        let hangingAddress = try address(hanging, isIPv6: true)
        // Once its line of unaccepted connections is full, the kernel lets further ones hang.
        let fillers = try (0..<4).map { _ in try hangingAddress.startConnecting() }
        let listening = try #require(LoopbackPort(isIPv6: false))
        #expect(listen(listening.socket, 1) == 0)
        let outcome = try await race([hangingAddress, address(listening, isIPv6: false)])
        #expect(outcome == .success(AF_INET))
        for socket in fillers + [hanging.socket, listening.socket] { close(socket) }
    }

    @Test func `when all refuse the last refusal is told`() async throws {
        let four = try #require(LoopbackPort(isIPv6: false))
        let six = try #require(LoopbackPort(isIPv6: true))
        let outcome = try await race([address(four, isIPv6: false), address(six, isIPv6: true)])
        #expect(outcome == .failure(.connectFailed(errno: ECONNREFUSED)))
        close(four.socket)
        close(six.socket)
    }
}
