import Glibc

/// An address that a socket can connect to, as the kernel wants it.
struct SocketAddress: Sendable, Hashable {
    /// The bytes of a `sockaddr_in` or `sockaddr_in6`.
    let bytes: [UInt8]
    /// Whether it is an IPv6 address.
    let isIPv6: Bool

    /// Copies an address of one of the two families; nil for any other.
    init?(_ address: UnsafePointer<sockaddr>, length: socklen_t) {
        switch unsafe Int32(address.pointee.sa_family) {
        case AF_INET: isIPv6 = false
        case AF_INET6: isIPv6 = true
        default: return nil
        }
        bytes = unsafe [UInt8](UnsafeRawBufferPointer(start: address, count: Int(length)))
    }

    /// Stands for an address where none is connected to.
    init(placeholder: UInt8, isIPv6: Bool) {
        bytes = [placeholder]
        self.isIPv6 = isIPv6
    }

    /// What `getaddrinfo` knows about a host. It blocks for as long as the name servers take, unless the host is an
    /// address.
    static func all(of host: String, port: UInt16, onlyLiteral: Bool) -> Result<[SocketAddress], Unreachable> {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        unsafe hints.ai_flags = AI_NUMERICSERV | (onlyLiteral ? AI_NUMERICHOST : 0)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(host, String(port), &hints, &list)
        guard code == 0 else { return .failure(.nameNotResolved(code: code)) }
        defer { unsafe freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var next = unsafe list
        while let entry = unsafe next {
            if let raw = unsafe entry.pointee.ai_addr,
                let address = unsafe SocketAddress(raw, length: entry.pointee.ai_addrlen)
            {
                addresses.append(address)
            }
            unsafe next = entry.pointee.ai_next
        }
        return addresses.isEmpty ? .failure(.nameNotResolved(code: EAI_NONAME)) : .success(addresses)
    }

    /// What the system's resolver knows: the `hosts` file, the name servers, whatever it is set up to ask.
    static let bySystem: Resolve = { all(of: $0.host, port: $0.port, onlyLiteral: false) }

    /// Starts to connect a new non-blocking socket.
    ///
    /// It gets TCP_NODELAY (a request must not wait for the last one's acknowledgement), keep-alive, and a bound on
    /// how long sent bytes may stay unacknowledged, so that a peer that vanished is noticed below TLS as well.
    ///
    /// - Throws: ``Unreachable/connectFailed(errno:)`` when that failed at once.
    func startConnecting() throws(Unreachable) -> Int32 {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(isIPv6 ? AF_INET6 : AF_INET, type, 0)
        guard descriptor >= 0 else { throw .connectFailed(errno: errno) }
        let tcp = Int32(IPPROTO_TCP)
        Self.set(descriptor, tcp, TCP_NODELAY, 1)
        Self.set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1)
        Self.set(descriptor, tcp, TCP_KEEPIDLE, 60)
        Self.set(descriptor, tcp, TCP_KEEPINTVL, 15)
        Self.set(descriptor, tcp, TCP_KEEPCNT, 4)
        Self.set(descriptor, tcp, TCP_USER_TIMEOUT, 25_000)
        let code = unsafe bytes.withUnsafeBytes { raw in
            unsafe raw.withMemoryRebound(to: sockaddr.self) { address in
                unsafe connect(descriptor, address.baseAddress, socklen_t(bytes.count))
            }
        }
        guard code == 0 || errno == EINPROGRESS else {
            let failure = errno
            close(descriptor)
            throw .connectFailed(errno: failure)
        }
        return descriptor
    }

    /// What became of a connection attempt: 0, or the error.
    static func connectResult(of descriptor: Int32) -> Int32 {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        let code = unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &value, &length)
        return code == 0 ? value : errno
    }

    private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
        // Each of them makes things better and none is needed for correctness, so a refusal is no error.
        var value = value
        unsafe _ = setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }
}
