#if canImport(Glibc)
    import Glibc
#endif

/// A socket that takes connections: non-blocking, closed on exec, with `TCP_NODELAY` for every connection it accepts.
///
/// It owns its descriptor until a server takes it over; one that no server took is closed at the end of its life.
package struct ListeningSocket: ~Copyable, Sendable {
    private let descriptor: Int32
    /// The port it is bound to: where 0 was asked for, the one that the system chose.
    package let port: UInt16

    /// Binds and listens.
    ///
    /// - Parameters:
    ///   - host: an IPv4 or IPv6 address, not a name. `::` takes connections of both families, `0.0.0.0` of IPv4 only.
    ///   - port: 0 lets the system choose.
    ///   - backlog: how many connections may wait to be accepted; the system caps it at `net.core.somaxconn`.
    ///   - reusePort: lets further sockets bind to the same port, among which the system spreads connections (one for
    ///     each loop). All of them must ask for it.
    package static func open(
        host: String, port: UInt16, backlog: Int32 = 1024, reusePort: Bool = false
    ) throws(ListenError) -> ListeningSocket {
        try open(host: host, port: port, backlog: .some(backlog), reusePort: reusePort)
    }

    /// The same; without a backlog it binds only.
    private static func open(
        host: String, port: UInt16, backlog: Int32?, reusePort: Bool = false
    ) throws(ListenError) -> ListeningSocket {
        var four = in_addr()
        var six = in6_addr()
        if unsafe inet_pton(AF_INET, host, &four) == 1 {
            let descriptor = try makeSocket(AF_INET, reusePort: reusePort)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr = four
            return try bindAndListen(descriptor, address, port, backlog)
        }
        if unsafe inet_pton(AF_INET6, host, &six) == 1 {
            let descriptor = try makeSocket(AF_INET6, reusePort: reusePort)
            setOption(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 0)
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_addr = six
            return try bindAndListen(descriptor, address, port, backlog)
        }
        throw .notAnAddress
    }

    /// Asks whether ``open(host:port:backlog:reusePort:)`` would get the port, and takes it from nobody: a socket that is
    /// bound and does not listen keeps no other from listening there, as long as all of them ask for SO_REUSEADDR.
    ///
    /// - Throws: what opening would throw.
    package static func probe(host: String, port: UInt16) throws(ListenError) {
        _ = try open(host: host, port: port, backlog: nil)
    }

    /// Takes over a socket that somebody else opened, bound and made listen, as systemd's socket activation does.
    package init(adopting descriptor: Int32) throws(ListenError) {
        var isListening: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        let known = unsafe getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &size)
        guard known == 0, isListening == 1 else { throw .notListening }
        let flags = fcntl(descriptor, F_GETFL)
        _ = fcntl(descriptor, F_SETFL, flags | O_NONBLOCK)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        Self.setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        self.init(listening: descriptor)
    }

    private init(listening descriptor: Int32) {
        self.descriptor = descriptor
        // The port stands in the same place in both families.
        port = UInt16(bigEndian: Self.address(of: descriptor).sin6_port)
    }

    /// The address it is bound to, as text; empty where it is no IP address.
    package var host: String {
        var address = Self.address(of: descriptor)
        let family = Int32(address.sin6_family)
        guard family == AF_INET || family == AF_INET6 else { return "" }
        // Where the address stands in sockaddr_in and in sockaddr_in6.
        let place = family == AF_INET ? 4 : 8
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        unsafe withUnsafeBytes(of: &address) { bytes in
            unsafe _ = inet_ntop(family, bytes.baseAddress?.advanced(by: place), &text, socklen_t(text.count))
        }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func address(of descriptor: Int32) -> sockaddr_in6 {
        var address = sockaddr_in6()
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        unsafe withUnsafeMutableBytes(of: &address) { bytes in
            unsafe _ = getsockname(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &size)
        }
        return address
    }

    /// One more descriptor of the same socket, which the caller closes. As long as any is open, in this process or another,
    /// connections go on to wait in the socket's backlog, for whoever accepts them.
    package func anotherDescriptor() throws(ListenError) -> Int32 {
        let another = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        guard another >= 0 else { throw ListenError(errno: errno) }
        return another
    }

    deinit { close(descriptor) }

    /// Gives the descriptor away; the receiver closes it.
    consuming func release() -> Int32 {
        let descriptor = self.descriptor
        discard self
        return descriptor
    }

    private static func makeSocket(_ family: Int32, reusePort: Bool) throws(ListenError) -> Int32 {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(family, type, 0)
        guard descriptor >= 0 else { throw ListenError(errno: errno) }
        setOption(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
        if reusePort { setOption(descriptor, SOL_SOCKET, SO_REUSEPORT, 1) }
        // Accepted sockets inherit it on Linux.
        setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        return descriptor
    }

    private static func setOption(_ descriptor: Int32, _ level: Int32, _ name: Int32, _ value: Int32) {
        var value = value
        unsafe _ = setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    private static func bindAndListen<Address>(
        _ descriptor: Int32, _ address: Address, _ port: UInt16, _ backlog: Int32?
    ) throws(ListenError) -> ListeningSocket {
        let bound = unsafe withUnsafeBytes(of: address) { bytes in
            unsafe bind(
                descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
        guard bound == 0, backlog.map({ listen(descriptor, $0) }) ?? 0 == 0 else {
            let error = ListenError(errno: errno)
            close(descriptor)
            throw error
        }
        return ListeningSocket(listening: descriptor)
    }
}

/// Why a listener could not be had, in words for the operator.
package enum ListenError: Error, Equatable, CustomStringConvertible {
    /// The host is not an IPv4 or IPv6 address.
    case notAnAddress
    /// The address does not belong to this machine.
    case addressNotHere
    /// Another program, or another instance of this one, has the port.
    case addressInUse
    /// Ports below 1024 need a privilege.
    case notPermitted
    /// The descriptor handed over is not a listening socket.
    case notListening
    /// Anything else, by the system's number.
    case system(errno: Int32)

    init(errno: Int32) {
        self =
            switch errno {
            case EADDRINUSE: .addressInUse
            case EADDRNOTAVAIL: .addressNotHere
            case EACCES, EPERM: .notPermitted
            default: .system(errno: errno)
            }
    }

    package var description: String {
        switch self {
        case .notAnAddress: "the host is not an IPv4 or IPv6 address"
        case .addressNotHere: "the address does not belong to this machine"
        case .addressInUse: "the address and port are in use by another program"
        case .notPermitted: "the port may not be used without a privilege (ports below 1024 need CAP_NET_BIND_SERVICE)"
        case .notListening: "the descriptor handed over is not a listening socket"
        case .system(let errno): "the system refused the listener with errno \(errno)"
        }
    }
}
