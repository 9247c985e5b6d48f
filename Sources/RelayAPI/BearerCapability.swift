import HTTPServer
import PushModel

/// Reads `Authorization: Bearer p_…` (RFC 6750 section 2.1; the scheme's case does not matter, RFC 9110 section 11.1).
enum BearerCapability {
    /// The capability; nil when the header is absent, given twice, of another scheme, or not of a capability's form.
    static func of(_ request: HTTPRequest) -> Capability? {
        let values = request.values(of: "authorization")
        guard values.count == 1, let value = values.first else { return nil }
        let bytes = value.utf8
        let scheme = "bearer ".utf8
        guard bytes.count == scheme.count + Capability.length,
            zip(bytes, scheme).allSatisfy({ $0 == $1 || $0 | 0x20 == $1 })
        else { return nil }
        return Capability(bytes.dropFirst(scheme.count))
    }
}
