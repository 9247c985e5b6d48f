import CNghttp2

#if canImport(Glibc)
    import Glibc
#endif

/// A TCP connection to a port of this machine, for what comes before TLS.
final class TestSocket {
    let descriptor: Int32
    /// `errno` of connect; 0 where it succeeded.
    let connectError: Int32

    /// Connects; a connection that cannot be made is told by ``connectError``.
    init(port: UInt16, isBlocking: Bool = true) throws {
        signal(SIGPIPE, SIG_IGN)
        let kind = Int32(SOCK_STREAM.rawValue) | (isBlocking ? 0 : Int32(SOCK_NONBLOCK.rawValue))
        let descriptor = socket(AF_INET, kind, 0)
        self.descriptor = descriptor
        guard descriptor >= 0 else { throw TestClientError(description: "no socket") }
        var patience = timeval(tv_sec: 20, tv_usec: 0)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let (code, error) = unsafe withUnsafeBytes(of: &address) { bytes in
            let code = unsafe connect(
                descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
            return (code, errno)
        }
        connectError = code == 0 ? 0 : error
    }

    deinit {
        close(descriptor)
    }

    /// Sends a text.
    func write(_ text: String) {
        let bytes = Array(text.utf8)
        unsafe _ = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// Reads to the end, or `errno`.
    func read() -> Result<String, TestSocketError> {
        var text = ""
        while true {
            switch readOnce() {
            case .success(""): return .success(text)
            case .success(let part): text += part
            case .failure(let error): return .failure(error)
            }
        }
    }

    /// Reads until the text ends so, or to the end.
    func read(until end: String) -> String {
        var text = ""
        while !text.hasSuffix(end), case .success(let part) = readOnce(), !part.isEmpty { text += part }
        return text
    }

    private func readOnce() -> Result<String, TestSocketError> {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe Glibc.read(descriptor, &bytes, bytes.count)
        guard count >= 0 else { return .failure(TestSocketError(errno: errno)) }
        return .success(String(decoding: bytes[..<count], as: UTF8.self))
    }

    func isReadable(withinMilliseconds wait: Int32) -> Bool { polls(Int16(POLLIN), wait) }
    func isWritable(withinMilliseconds wait: Int32) -> Bool { polls(Int16(POLLOUT), wait) }

    private func polls(_ events: Int16, _ wait: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: events, revents: 0)
        return unsafe poll(&entry, 1, wait) == 1
    }
}

/// `errno` of a read.
struct TestSocketError: Error, Equatable, ExpressibleByIntegerLiteral {
    var errno: Int32
    init(errno: Int32) { self.errno = errno }
    init(integerLiteral value: Int32) { errno = value }
}
