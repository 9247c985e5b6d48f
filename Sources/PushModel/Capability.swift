/// What lets a sender ring one phone: `p_` and 43 characters of base64url, drawn from 32 random bytes.
///
/// Whoever holds it may push, and it alone opens the device token that is stored for it, so it prints as `p_…` only.
/// Two texts are two capabilities, even where base64url would decode both to the same bytes.
package struct Capability: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable
{
    /// The length of the text, in bytes: the prefix and 43 characters.
    package static let length = 45

    /// The whole text, as it stands after `Bearer `.
    package let text: InlineArray<45, UInt8>

    /// Takes a text that matches `^p_[A-Za-z0-9_-]{43}$`; nil for any other.
    package init?(_ candidate: Span<UInt8>) {
        guard candidate.count == Self.length, candidate[0] == UInt8(ascii: "p"), candidate[1] == UInt8(ascii: "_")
        else { return nil }
        var bits: UInt8 = 0
        for index in 2..<Self.length { bits |= candidate[index].base64URLValue }
        guard bits < 64 else { return nil }
        text = InlineArray { candidate[$0] }
    }

    /// The same for an array.
    package init?(_ candidate: [UInt8]) { self.init(candidate.span) }

    /// Makes the capability of 32 bytes, which the caller has drawn from the system's random source.
    package init(randomBytes: InlineArray<32, UInt8>) {
        var text = InlineArray<45, UInt8>(repeating: 0)
        text[0] = UInt8(ascii: "p")
        text[1] = UInt8(ascii: "_")
        var bits: UInt32 = 0
        var held: UInt32 = 0
        var out = 2
        for index in 0..<32 {
            bits = bits << 8 | UInt32(randomBytes[index])
            held += 8
            while held >= 6 {
                held -= 6
                text[out] = base64URLAlphabet[Int(bits >> held & 63)]
                out += 1
            }
        }
        text[out] = base64URLAlphabet[Int(bits << (6 - held) & 63)]
        self.text = text
    }

    /// The 32 bytes that the text stands for; the two bits that 43 characters have over are dropped.
    package var randomBytes: InlineArray<32, UInt8> {
        let characters = text.span.extracting(droppingFirst: 2)
        var bytes = InlineArray<32, UInt8>(repeating: 0)
        // Four characters are three bytes; the last three are two.
        for group in 0..<10 {
            var bits: UInt32 = 0
            for index in 4 * group..<4 * group + 4 { bits = bits << 6 | UInt32(characters[index].base64URLValue) }
            bytes[3 * group] = UInt8(truncatingIfNeeded: bits >> 16)
            bytes[3 * group + 1] = UInt8(truncatingIfNeeded: bits >> 8)
            bytes[3 * group + 2] = UInt8(truncatingIfNeeded: bits)
        }
        var bits: UInt32 = 0
        for index in 40..<43 { bits = bits << 6 | UInt32(characters[index].base64URLValue) }
        bytes[30] = UInt8(truncatingIfNeeded: bits >> 10)
        bytes[31] = UInt8(truncatingIfNeeded: bits >> 2)
        return bytes
    }

    /// The text as a string, for the one answer that hands it to the phone.
    package var disclosed: String {
        String(decoding: (0..<Self.length).map { text[$0] }, as: UTF8.self)
    }

    package static func == (left: Capability, right: Capability) -> Bool {
        (0..<length).allSatisfy { left.text[$0] == right.text[$0] }
    }

    package var description: String { "p_…" }
    package var debugDescription: String { "p_…" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// How a phone knows which of its servers rang: 16 hex digits, made from the capability, meaningless to anybody else.
package struct CapabilityTag: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    /// 16 lower-case hex digits.
    package let disclosed: String

    /// The tag of a capability whose SHA-256 begins with these eight bytes, the first in the most significant place.
    package init(firstBytesOfHash: UInt64) {
        let digits = hexDigits(firstBytesOfHash)
        disclosed = String(ascii: digits.span)
    }

    package var description: String { "(tag)" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
