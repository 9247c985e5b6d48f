import Glibc

/// Blocking sockets of 127.0.0.0/8, for the fuzzer's side of a conversation. Whatever takes ten seconds is a finding.
///
/// libFuzzer looks at the clock by a signal, so each call may be interrupted and is made again.
struct LoopbackSocket {
    private let descriptor: Int32

    /// A listener on a port that the system chooses, for every address of the machine's own.
    static func listening() -> (socket: LoopbackSocket, port: UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                precondition(bind(descriptor, address, size) == 0 && listen(descriptor, 16) == 0, "no listener")
                getsockname(descriptor, address, &size)
            }
        }
        return (LoopbackSocket(descriptor: descriptor), UInt16(bigEndian: address.sin_port))
    }

    /// Connects to a port of one of the 65,536 addresses 127.1.x.y, another one each time, so that the ports of closed
    /// connections do not run out.
    static func connected(to port: UInt16, number: UInt16) -> LoopbackSocket {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = (0x7F01_0000 | UInt32(number)).bigEndian
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        // One that was interrupted goes on by itself.
        expect(code == 0 || errno == EINTR, "a connection is taken: errno \(errno)")
        let socket = LoopbackSocket(descriptor: descriptor)
        socket.prepare()
        return socket
    }

    /// The next connection.
    func accepted() -> LoopbackSocket {
        let socket = LoopbackSocket(descriptor: again { accept(descriptor, nil, nil) })
        socket.prepare()
        return socket
    }

    private func prepare() {
        var patience = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
    }

    /// Sends in pieces of this length; whether the other side was there to the end.
    func send(_ bytes: [UInt8], pieces length: Int) -> Bool {
        for start in stride(from: 0, to: bytes.count, by: max(1, length)) {
            let piece = bytes[start..<min(start + max(1, length), bytes.count)]
            let isSent = piece.withUnsafeBytes { send($0) }
            if !isSent {
                expect(errno == EPIPE || errno == ECONNRESET, "what is sent is read: errno \(errno)")
                return false
            }
        }
        return true
    }

    /// Sends all of it, in as many goes as it takes; whether that was possible.
    private func send(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let part = UnsafeRawBufferPointer(rebasing: rest)
            let count = again { Glibc.send(descriptor, part.baseAddress, part.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    private func again<Count: SignedInteger>(_ call: () -> Count) -> Count {
        while true {
            let count = call()
            if count >= 0 || errno != EINTR { return count }
        }
    }

    func endWriting() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// What has come next; nil at the end or after a reset.
    func receive() -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 65536)
        let count = buffer.withUnsafeMutableBytes { buffer in
            again { recv(descriptor, buffer.baseAddress, buffer.count, 0) }
        }
        if count > 0 { return Array(buffer[..<count]) }
        expect(count == 0 || errno == ECONNRESET, "a conversation comes to its end: errno \(errno)")
        return nil
    }

    func close() { Glibc.close(descriptor) }

    /// The lowest free descriptor of this process, which grows when some are not given back.
    static var lowestFreeDescriptor: Int32 {
        let descriptor = dup(0)
        Glibc.close(descriptor)
        return descriptor
    }
}
