import Glibc

/// A socket bound to a loopback port of the kernel's choice. While it is only bound, connections to it are refused.
struct LoopbackPort {
    let socket: Int32
    let port: UInt16

    /// Binds to `127.0.0.1` or `::1`; to a given port nil when it is taken, to one of the kernel's choice never.
    init?(isIPv6: Bool, port wanted: UInt16 = 0) {
        socket = Glibc.socket(isIPv6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let bound: UInt16?
        if isIPv6 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_addr = in6addr_loopback
            address.sin6_port = wanted.bigEndian
            bound = Self.bind(socket, &address) ? UInt16(bigEndian: address.sin6_port) : nil
        } else {
            var address = Self.address(port: wanted)
            bound = Self.bind(socket, &address) ? UInt16(bigEndian: address.sin_port) : nil
        }
        guard let bound else {
            close(socket)
            return nil
        }
        port = bound
    }

    /// `127.0.0.1` and a port, as the kernel wants it.
    static func address(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr = in_addr(s_addr: UInt32(0x7F00_0001).bigEndian)
        address.sin_port = port.bigEndian
        return address
    }

    /// Binds, and puts the port that it became into the address.
    private static func bind<Address>(_ socket: Int32, _ address: inout Address) -> Bool {
        var length = socklen_t(MemoryLayout<Address>.size)
        return unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                unsafe Glibc.bind(socket, raw, length) == 0 && getsockname(socket, raw, &length) == 0
            }
        }
    }
}
