#if canImport(Glibc)
    import Glibc
#endif

/// Where a connection comes from, without its port: 128 bits in IPv6 form, an IPv4 address as `::ffff:a.b.c.d`.
///
/// It says who somebody is, so it does not print.
package struct PeerAddress: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// The first eight bytes, the first of them in the most significant place. The /64 of an IPv6 address.
    package let high: UInt64
    /// The last eight bytes.
    package let low: UInt64

    /// Makes an address of its two halves, in host order.
    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// What stands in `high` and in the upper half of `low` where the address is an IPv4 one (RFC 4291 section
    /// 2.5.5.2).
    private static let mappedPrefix: UInt64 = 0xffff_0000_0000

    /// Whether this is an IPv4 address in its mapped form.
    package var isIPv4: Bool { high == 0 && low & 0xffff_ffff_0000_0000 == Self.mappedPrefix }

    /// The neighbourhood that one holder of addresses can be taken to own: an IPv4 address as it is, else the /64.
    var site: PeerAddress { isIPv4 ? self : PeerAddress(high: high, low: 0) }

    /// Reads a socket address; one that is neither IPv4 nor IPv6 counts as `::`.
    init(_ address: UnsafePointer<sockaddr>?) {
        guard let address = unsafe address else {
            self.init(high: 0, low: 0)
            return
        }
        switch Int32(unsafe address.pointee.sa_family) {
        case AF_INET:
            let bytes = unsafe UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in.self).sin_addr.s_addr
            self.init(high: 0, low: Self.mappedPrefix | UInt64(UInt32(bigEndian: bytes)))
        case AF_INET6:
            let bytes = unsafe UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in6.self).sin6_addr
            let halves = unsafe unsafeBitCast(bytes, to: (UInt64, UInt64).self)
            self.init(high: UInt64(bigEndian: halves.0), low: UInt64(bigEndian: halves.1))
        default:
            self.init(high: 0, low: 0)
        }
    }

    package var description: String { "(address)" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
