import Synchronization

#if canImport(Glibc)
    import Glibc
#endif

/// A port on 127.0.0.1 and, where the machine has it, on ::1, bound and listening.
final class LoopbackSocket: Sendable {
    /// The port, never 0.
    let port: UInt16

    private let open: Mutex<[Int32]>

    /// How often a port that the kernel chose for IPv4 may prove taken on IPv6 before that is an error.
    private static let attempts = 16

    /// Listens on `port`; 0 lets the kernel choose.
    init(port: UInt16) throws(SimulatorError) {
        var lastError: Int32 = EADDRINUSE
        for _ in 0..<(port == 0 ? Self.attempts : 1) {
            let first = try Self.listen(family: AF_INET, port: port).get()
            let chosen = Self.port(of: first)
            switch Self.listen(family: AF_INET6, port: chosen) {
            case .success(let second):
                self.port = chosen
                open = Mutex([first, second])
                return
            case .failure(.port(_, EADDRINUSE)):
                close(first)
                lastError = EADDRINUSE
            case .failure:
                // No IPv6 on this machine.
                self.port = chosen
                open = Mutex([first])
                return
            }
        }
        throw .port(port, errno: lastError)
    }

    deinit {
        stopListening()
    }

    /// One or two non-blocking descriptors, that of IPv4 first; none after ``stopListening()``.
    var descriptors: [Int32] { open.withLock { $0 } }

    /// Gives the port back: connections are refused from now on. Nobody may watch the descriptors any more.
    func stopListening() {
        let descriptors = open.withLock { open in
            defer { open.removeAll() }
            return open
        }
        for descriptor in descriptors { close(descriptor) }
    }

    /// A port that was asked for by its number stays bound while nobody listens, which one that the kernel chose does
    /// not: the number is therefore found out first.
    private static func listen(family: Int32, port: UInt16) -> Result<Int32, SimulatorError> {
        if port == 0 {
            return bound(family: family, port: 0).flatMap { finder in
                defer { close(finder) }
                return listen(family: family, port: Self.port(of: finder))
            }
        }
        return bound(family: family, port: port).flatMap { descriptor in
            guard Glibc.listen(descriptor, backlog) == 0 else {
                let code = errno
                close(descriptor)
                return .failure(.port(port, errno: code))
            }
            return .success(descriptor)
        }
    }

    private static let backlog: Int32 = 1024

    private static func bound(family: Int32, port: UInt16) -> Result<Int32, SimulatorError> {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(family, kind, 0)
        guard descriptor >= 0 else { return .failure(.port(port, errno: errno)) }
        set(descriptor, SOL_SOCKET, SO_REUSEADDR)
        if family == AF_INET6 { set(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY) }
        guard bind(descriptor, family: family, port: port) else {
            let code = errno
            close(descriptor)
            return .failure(.port(port, errno: code))
        }
        return .success(descriptor)
    }

    /// A non-blocking connection to a port of this machine, which may still be on its way; nil when that cannot be.
    static func connect(port: UInt16) -> Int32? {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(AF_INET, kind, 0)
        guard descriptor >= 0 else { return nil }
        set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let code = unsafe withUnsafeBytes(of: &address) { bytes in
            unsafe Glibc.connect(
                descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
        guard code == 0 || errno == EINPROGRESS else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    /// Why a connection that was on its way failed; 0 when it did not.
    static func error(of descriptor: Int32) -> Int32 {
        var error: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length) == 0 else { return errno }
        return error
    }

    // MARK: Not listening for a while

    /// Makes connections to this listener be refused; the port stays taken.
    static func refuse(on listener: Int32) {
        // On Linux this ends the listening and leaves the socket bound.
        shutdown(listener, Int32(SHUT_RD))
    }

    /// Makes the kernel drop every SYN, as a black hole does: the line of connections that nobody has accepted yet is
    /// made as short as it can be and filled with one of our own, which is returned and must be closed in the end.
    static func drop(on listener: Int32) -> Int32? {
        guard Glibc.listen(listener, 0) == 0 else { return nil }
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return unsafe withUnsafeMutableBytes(of: &storage) { bytes in
            let address = unsafe bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            guard unsafe getsockname(listener, address, &length) == 0, let family = unsafe address?.pointee.sa_family
            else { return nil }
            let filler = socket(Int32(family), Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            guard filler >= 0 else { return nil }
            guard unsafe Glibc.connect(filler, address, length) == 0 else {
                close(filler)
                return nil
            }
            return filler
        }
    }

    /// Listens again after ``refuse(on:)`` or ``drop(on:)``; what waited is turned away.
    static func resume(on listener: Int32) {
        while let waiting = accept(from: listener) {
            resetWhenClosed(waiting)
            close(waiting)
        }
        _ = Glibc.listen(listener, backlog)
    }

    /// Makes closing this descriptor a RST in place of a FIN.
    static func resetWhenClosed(_ descriptor: Int32) {
        var choice = linger(l_onoff: 1, l_linger: 0)
        unsafe _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &choice, socklen_t(MemoryLayout<linger>.size))
    }

    private static func bind(_ descriptor: Int32, family: Int32, port: UInt16) -> Bool {
        if family == AF_INET {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            return unsafe withUnsafeBytes(of: &address) { bytes in
                unsafe Glibc.bind(
                    descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count)) == 0
            }
        }
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = port.bigEndian
        address.sin6_addr = in6addr_loopback
        return unsafe withUnsafeBytes(of: &address) { bytes in
            unsafe Glibc.bind(
                descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count)) == 0
        }
    }

    private static func port(of descriptor: Int32) -> UInt16 {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        unsafe withUnsafeMutableBytes(of: &address) { bytes in
            unsafe _ = getsockname(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
        }
        return UInt16(bigEndian: address.sin_port)
    }

    private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32) {
        var on: Int32 = 1
        unsafe _ = setsockopt(descriptor, level, option, &on, socklen_t(MemoryLayout<Int32>.size))
    }

    /// The next connection of this listener, non-blocking and without Nagle's delay; nil when none waits.
    ///
    /// A connection that broke before it was taken is passed over; out of descriptors counts as none.
    static func accept(from listener: Int32) -> Int32? {
        while true {
            let descriptor = Glibc.accept(listener, nil, nil)
            if descriptor >= 0 {
                // accept4, which would do both at once, is a GNU extension that Swift does not see.
                _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
                _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
                set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY)
                return descriptor
            }
            guard errno == ECONNABORTED || errno == EINTR else { return nil }
        }
    }
}
