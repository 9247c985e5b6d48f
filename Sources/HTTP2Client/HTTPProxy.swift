import COpenSSL

/// A proxy that is asked for a tunnel: `CONNECT` in HTTP/1.1, without TLS towards the proxy itself (RFC 9110, section
/// 9.3.6). What goes through the tunnel is TLS with the origin, so the proxy sees whom we talk to and not what is said.
package struct HTTPProxy: Sendable, Equatable {
    /// Where it is.
    let endpoint: Endpoint
    private let credentials: ProxyCredentials?

    /// Takes a host name or an address without brackets, and a port; nil when the host is neither, or the port is 0.
    package init?(host: String, port: UInt16, credentials: ProxyCredentials? = nil) {
        guard let endpoint = Endpoint(host: host, port: port) else { return nil }
        self.endpoint = endpoint
        self.credentials = credentials
    }

    /// The bytes that ask for a tunnel to an origin. The name goes to the proxy, which looks it up.
    func request(for origin: Origin) -> [UInt8] {
        let target = origin.endpoint.description
        var text = "CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n"
        if let credentials { text += "Proxy-Authorization: \(credentials.field)\r\n" }
        return Array((text + "\r\n").utf8)
    }
}

/// A name and a password for a proxy, in the scheme "Basic" (RFC 7617). It does not print.
package struct ProxyCredentials: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The value of `Proxy-Authorization`.
    let field: String

    /// Takes both as they are, without any escapes. The name must be without a colon, which would end it.
    package init(user: String, password: String) {
        let plain = Array("\(user):\(password)".utf8)
        var encoded = [UInt8](repeating: 0, count: (plain.count + 2) / 3 * 4 + 1)
        let length = unsafe EVP_EncodeBlock(&encoded, plain, Int32(plain.count))
        field = "Basic " + String(decoding: encoded.prefix(Int(length)), as: UTF8.self)
    }

    package var description: String { "(secret)" }
    package var debugDescription: String { "(secret)" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
