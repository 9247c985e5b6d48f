import Glibc

/// What a socket is connected to: a host and a port.
struct Endpoint: Sendable, Hashable, CustomStringConvertible {
    /// A lower-case host name, or an IPv4 or IPv6 literal; never in brackets.
    let host: String
    /// 1 to 65535.
    let port: UInt16
    /// Whether ``host`` is an address rather than a name.
    let isLiteral: Bool

    /// Takes a host name or an address without brackets; nil for anything else, and for port 0.
    init?(host: String, port: UInt16) {
        let host = host.lowercased()
        isLiteral = Self.isIPv4(host) || Self.isIPv6(host)
        guard port > 0, isLiteral || Self.isHostName(host[...]) else { return nil }
        self.host = host
        self.port = port
    }

    /// Host and port, as `CONNECT` and logs name them: an IPv6 address in brackets, the port always there.
    var description: String { "\(bracketed):\(port)" }

    /// The host, in brackets where it is an IPv6 address.
    var bracketed: String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host }

    /// Whether it is an IPv4 address as the kernel reads it: four decimal numbers without leading zeros.
    static func isIPv4(_ text: String) -> Bool {
        var address = in_addr()
        return unsafe inet_pton(AF_INET, text, &address) == 1
    }

    /// Whether it is an IPv6 address, without brackets and without a zone.
    static func isIPv6(_ text: String) -> Bool {
        var address = in6_addr()
        return unsafe inet_pton(AF_INET6, text, &address) == 1
    }

    /// RFC 1123 names, with the underscore that some internal networks use. A last label of digits only would be an
    /// address that somebody mistyped.
    static func isHostName(_ text: Substring) -> Bool {
        guard (1...253).contains(text.utf8.count) else { return false }
        let labels = text.split(separator: ".", omittingEmptySubsequences: false)
        guard let last = labels.last, !last.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return false }
        return labels.allSatisfy { label in
            (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
                && label.utf8.allSatisfy { byte in
                    (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x2D || byte == 0x5F
                }
        }
    }
}
