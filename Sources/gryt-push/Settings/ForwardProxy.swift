import Telemetry

/// The proxy that connections to the push services go through (`HTTPS_PROXY`), and what is reached without it
/// (`NO_PROXY`). What of the many dialects of the two is taken is in `docs/decisions/forward-proxy.md`.
struct ForwardProxy: Sendable {
    /// A name in lower case, or an IP address without brackets.
    let host: String
    /// 1 to 65535.
    let port: Int
    /// Who asks; nil when the proxy does not want to know.
    let login: Secret<ProxyLogin>?
    /// What is reached without the proxy.
    let exemptions: [ProxyExemption]

    /// Host and port, which may be shown.
    var authority: String { (host.contains(":") ? "[\(host)]" : host) + ":\(port)" }

    /// Whether a connection to this host, a name in lower case or an address without brackets, goes through the proxy.
    func isUsed(forHost host: String, port: Int) -> Bool {
        !exemptions.contains { $0.covers(host: host, port: port) }
    }

    /// Reads both settings; nil when no proxy is set, and when it is wrong, which is a fault then.
    init?(_ reader: inout SettingsReader) {
        guard let text = reader.text(.httpsProxy) else { return nil }
        // Only a proxy gives it a meaning: without one, whatever other programs have it for is nobody's concern here.
        let exemptions = reader.list(.noProxy, default: [], of: ProxyExemption.form) { ProxyExemption($0) }
        do throws(ProxyTextFault) {
            let (login, authority) = try Self.parts(text)
            guard let (host, port) = HTTPSAddress.hostAndPort(authority), let port else { throw .malformed }
            self.host = host
            self.port = port
            self.login = login
        } catch {
            reader.fault(.httpsProxy, error.reason)
            return nil
        }
        self.exemptions = exemptions
    }

    /// What stands before the last `@`, and what stands behind it.
    private static func parts(_ text: String) throws(ProxyTextFault) -> (Secret<ProxyLogin>?, Substring) {
        guard text.utf8.count <= 2048 else { throw .malformed }
        var rest = text[...]
        if let scheme = rest.firstRange(of: "://") {
            let name = rest[..<scheme.lowerBound].lowercased()
            guard name == "http" else {
                // Anything else before it is no scheme (RFC 3986, section 3.1).
                let isScheme = !name.isEmpty && name.utf8.allSatisfy { $0.isLetterOrDigit || "+-.".utf8.contains($0) }
                throw isScheme ? .unsupportedScheme : .malformed
            }
            rest = rest[scheme.upperBound...]
        }
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        guard let at = rest.lastIndex(of: "@") else { return (nil, rest) }
        let parts = rest[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let user = percentDecoded(parts[0]), let password = percentDecoded(parts.count > 1 ? parts[1] : ""),
            // The colon ends the name (RFC 7617, section 2).
            !user.isEmpty, !user.contains(":")
        else { throw .malformed }
        return (Secret(ProxyLogin(user: user, password: password)), rest[rest.index(after: at)...])
    }

    /// The text behind percent signs (RFC 3986, section 2.1); nil where one of them has no two hex digits behind it, and
    /// for control characters or what is no UTF-8.
    private static func percentDecoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(\.hexValue), let low = rest.popFirst().flatMap(\.hexValue) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}

/// A name and a password, as the proxy knows them.
struct ProxyLogin: Sendable, Equatable {
    /// Without a colon.
    let user: String
    /// May be empty.
    let password: String
}

/// Why a text is no proxy.
private enum ProxyTextFault: Error {
    case malformed
    case unsupportedScheme

    var reason: String {
        switch self {
        case .malformed: "must be http://host:port or http://user:password@host:port, percent signs as in a URL"
        case .unsupportedScheme: "must be an http:// proxy that makes tunnels (CONNECT); no other kind is supported"
        }
    }
}

extension UInt8 {
    /// The value of a hex digit in ASCII.
    fileprivate var hexValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
