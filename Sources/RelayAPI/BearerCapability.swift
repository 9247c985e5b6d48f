import HTTPServer
import PushModel

/// Reads `Authorization: Bearer p_…` (RFC 6750 section 2.1: one blank or more; the scheme's case does not matter, RFC 9110
/// section 11.1).
enum BearerCapability {
    /// The capability; nil when the header is absent, given twice, of another scheme, or not of a capability's form.
    static func of(_ request: HTTPRequest) -> Capability? {
        guard let value = request.onlyValue(of: "authorization") else { return nil }
        return capability(in: value.utf8.span)
    }

    private static func capability(in field: Span<UInt8>) -> Capability? {
        let start = field.count - Capability.length
        guard start >= scheme.count else { return nil }
        for index in 0..<scheme.count {
            guard field[index] == scheme[index] || field[index] | 0x20 == scheme[index] else { return nil }
        }
        for index in scheme.count..<start where field[index] != UInt8(ascii: " ") { return nil }
        return Capability(field.extracting(droppingFirst: start))
    }

    /// In lower case; setting bit 5 of a letter makes it so.
    private static let scheme = Array("bearer ".utf8)
}
