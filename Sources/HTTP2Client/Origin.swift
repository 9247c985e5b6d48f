import Glibc

/// Where a service is reached: `https`, a host and a port.
package struct Origin: Sendable, Hashable, CustomStringConvertible {
    /// A lower-case host name, or an IPv4 or IPv6 literal; never in brackets.
    package let host: String
    /// 1 to 65535.
    package let port: UInt16
    /// Whether ``host`` is an address rather than a name. An address gets no SNI (RFC 6066, section 3).
    let isLiteral: Bool

    /// Reads `https://host[:port]`, with at most one `/` after it.
    ///
    /// An IPv6 address stands in brackets (RFC 3986, section 3.2.2); the port is 443 when it is not given. Nil for any
    /// other scheme, and for anything that carries a user, a path, a query or a fragment: such a URL would promise more
    /// than a connection can keep.
    package init?(url: String) {
        let scheme = "https://"
        guard url.lowercased().hasPrefix(scheme) else { return nil }
        var rest = url.lowercased().dropFirst(scheme.count)
        if rest.last == "/" { rest = rest.dropLast() }

        let hostText: Substring
        let portText: Substring?
        if rest.first == "[" {
            guard let end = rest.firstIndex(of: "]") else { return nil }
            hostText = rest[rest.index(after: rest.startIndex)..<end]
            let after = rest[rest.index(after: end)...]
            guard after.isEmpty || after.first == ":" else { return nil }
            portText = after.isEmpty ? nil : after.dropFirst()
            guard Self.isIPv6(String(hostText)) else { return nil }
            isLiteral = true
        } else {
            let colon = rest.firstIndex(of: ":")
            hostText = rest[..<(colon ?? rest.endIndex)]
            portText = colon.map { rest[rest.index(after: $0)...] }
            isLiteral = Self.isIPv4(String(hostText))
            guard isLiteral || Self.isHostName(hostText) else { return nil }
        }

        guard let portText else {
            host = String(hostText)
            port = 443
            return
        }
        guard (1...5).contains(portText.utf8.count), portText.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = UInt16(portText), number > 0
        else { return nil }
        host = String(hostText)
        port = number
    }

    /// What `:authority` says: the host, in brackets where it is an IPv6 address, and the port unless it is 443.
    package var authority: String {
        let bracketed = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return port == 443 ? bracketed : "\(bracketed):\(port)"
    }

    package var description: String { "https://\(authority)" }

    private static func isIPv4(_ text: String) -> Bool {
        var address = in_addr()
        return unsafe inet_pton(AF_INET, text, &address) == 1
    }

    private static func isIPv6(_ text: String) -> Bool {
        var address = in6_addr()
        return unsafe inet_pton(AF_INET6, text, &address) == 1
    }

    /// RFC 1123 names, with the underscore that some internal networks use. A last label of digits only would be an
    /// address that somebody mistyped.
    private static func isHostName(_ text: Substring) -> Bool {
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
