/// How a phone knows which of its servers rang: the first 16 hex digits of SHA-256 of the capability. A preview is bound
/// to it, so that one server's cannot be shown as another's.
///
/// A phone may keep the keys of its servers in a dictionary by it. It does not print: whoever sees one twice knows that
/// it is the same phone and server.
public struct PreviewTag: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// 16 lower-case hex digits, as they stand in a notification's `c`.
    public let disclosed: String

    /// The tag of a capability; nil unless that is `p_` and 43 characters of base64url.
    public init?(capability: String) {
        let text = Array(capability.utf8)
        guard text.count == 45, text.starts(with: Array("p_".utf8)), text.allSatisfy({ Base64URL.value(of: $0) != nil })
        else { return nil }
        disclosed = SystemCipher.sha256(text).prefix(8).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }

    /// Takes a notification's `c`; nil unless that is 16 lower-case hex digits.
    public init?(_ text: String) {
        let isTag =
            text.utf8.count == 16
            && text.utf8.allSatisfy { byte in
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
            }
        guard isTag else { return nil }
        disclosed = text
    }

    /// Says nothing of it.
    public var description: String { "(tag)" }
    /// Says nothing of it.
    public var debugDescription: String { "(tag)" }
    /// Shows nothing of it.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
