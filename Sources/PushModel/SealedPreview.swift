/// A text that only the phone opens. The relay knows its shape and passes it on byte for byte.
package struct SealedPreview: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    /// The shortest and longest text that is taken, in characters.
    package static let lengths = 40...2048

    /// base64url, unchanged.
    package let disclosed: String

    /// Takes a text that matches `^[A-Za-z0-9_-]{40,2048}$`; nil for any other.
    package init?(_ text: String) {
        let bytes = text.utf8.span
        guard Self.lengths.contains(bytes.count) else { return nil }
        var bits: UInt8 = 0
        for index in bytes.indices { bits |= bytes[index].base64URLValue }
        guard bits < 64 else { return nil }
        disclosed = text
    }

    package var description: String { "(sealed preview)" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
