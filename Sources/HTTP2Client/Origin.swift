/// Where a service is reached: `https`, a host and a port.
package struct Origin: Sendable, Hashable, CustomStringConvertible {
    let endpoint: Endpoint

    /// A lower-case host name, or an IPv4 or IPv6 literal; never in brackets.
    package var host: String { endpoint.host }
    /// 1 to 65535.
    package var port: UInt16 { endpoint.port }
    /// Whether ``host`` is an address rather than a name. An address gets no SNI (RFC 6066, section 3).
    var isLiteral: Bool { endpoint.isLiteral }

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
            guard Endpoint.isIPv6(String(hostText)) else { return nil }
        } else {
            let colon = rest.firstIndex(of: ":")
            hostText = rest[..<(colon ?? rest.endIndex)]
            portText = colon.map { rest[rest.index(after: $0)...] }
        }

        var port: UInt16 = 443
        if let portText {
            guard (1...5).contains(portText.utf8.count), portText.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let number = UInt16(portText)
            else { return nil }
            port = number
        }
        guard let endpoint = Endpoint(host: String(hostText), port: port) else { return nil }
        self.endpoint = endpoint
    }

    /// What `:authority` says: the host, in brackets where it is an IPv6 address, and the port unless it is 443.
    package var authority: String { port == 443 ? endpoint.bracketed : endpoint.description }

    package var description: String { "https://\(authority)" }
}
