/// Where a push service is: `https`, a host and a port.
struct HTTPSOrigin: Sendable, Equatable, CustomStringConvertible {
    /// A name in lower case, or an IP address without brackets.
    let host: String
    /// 443 unless the setting says otherwise.
    let port: Int

    /// Takes `https://host` or `https://host:port`, with no more than a `/` behind it; nil for anything else, a user
    /// name, a path or a query among it.
    init?(_ text: String) {
        guard let address = HTTPSAddress(text), address.path == "/" else { return nil }
        self = address.origin
    }

    fileprivate init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// What stands in a URL and in `:authority`, the port only when it is not 443.
    var authority: String {
        (host.contains(":") ? "[\(host)]" : host) + (port == 443 ? "" : ":\(port)")
    }

    var description: String { "https://\(authority)" }
}

/// An https URL: an origin and a path.
struct HTTPSAddress: Sendable, Equatable, CustomStringConvertible {
    /// As it was given, for whoever compares it as text.
    let text: String
    /// Where to connect.
    let origin: HTTPSOrigin
    /// Begins with `/`.
    let path: String

    /// Takes `https://host[:port][/path]` (RFC 3986, and no more of it than these addresses need); nil for anything else.
    init?(_ text: String) {
        let prefix = "https://"
        guard text.utf8.count <= 2048, text.prefix(prefix.count).lowercased() == prefix else { return nil }
        let rest = text.dropFirst(prefix.count)
        let authority = rest.prefix { $0 != "/" }
        let path = rest[authority.endIndex...]
        guard path.utf8.allSatisfy(\.isPathCharacter), let origin = Self.origin(authority) else { return nil }
        self.text = text
        self.origin = origin
        self.path = path.isEmpty ? "/" : String(path)
    }

    var description: String { "\(origin)\(path)" }

    private static func origin(_ authority: Substring) -> HTTPSOrigin? {
        hostAndPort(authority).map { HTTPSOrigin(host: $0.host, port: $0.port ?? 443) }
    }

    /// The host in lower case, an IPv6 address without its brackets, and the port where there is one; nil for anything
    /// that is no `host` or `host:port`.
    static func hostAndPort(_ authority: Substring) -> (host: String, port: Int?)? {
        let host: Substring
        let port: Substring
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return nil }
            host = authority[authority.index(after: authority.startIndex)..<end]
            port = authority[authority.index(after: end)...]
            guard host.contains(":"), isIPAddress(host) else { return nil }
        } else {
            host = authority.prefix { $0 != ":" }
            port = authority[host.endIndex...]
            guard isName(host) else { return nil }
        }
        guard !port.isEmpty else { return (host.lowercased(), nil) }
        guard let number = plainDecimal(port.dropFirst()), (1...65_535).contains(number), port.hasPrefix(":") else {
            return nil
        }
        return (host.lowercased(), number)
    }

    /// Labels of letters, digits, underscores (which some internal networks have) and inner hyphens (RFC 1123, section
    /// 2.1), or an IPv4 address. A last label of digits only would be an address that somebody mistyped.
    private static func isName(_ text: Substring) -> Bool {
        let labels = text.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.last?.utf8.allSatisfy(\.isDigit) == false else { return isIPAddress(text) }
        return text.utf8.count <= 253
            && labels.allSatisfy { label in
                (1...63).contains(label.utf8.count) && !label.hasPrefix("-") && !label.hasSuffix("-")
                    && label.utf8.allSatisfy { $0.isLetterOrDigit || "-_".utf8.contains($0) }
            }
    }
}

extension UInt8 {
    /// ASCII only.
    var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    /// ASCII only.
    var isLetterOrDigit: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }

    /// Whether it may stand in a URL's path as it is, percent signs and all (RFC 3986 section 3.3).
    fileprivate var isPathCharacter: Bool {
        isLetterOrDigit || "/-._~%!$&'()*+,;=:@".utf8.contains(self)
    }
}
