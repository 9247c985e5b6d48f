/// The thing to show, before it takes Apple's or Google's form.
package struct PushNotification: Sendable {
    /// Chooses the fixed text.
    package var kind: Kind
    /// Tells the phone which of its servers rang.
    package var tag: CapabilityTag
    /// Only the phone opens it.
    package var preview: SealedPreview?
    /// Chosen per push and the same on every retry of it, so that a repeat replaces what the phone shows already.
    package var id: PushID

    package init(kind: Kind, tag: CapabilityTag, preview: SealedPreview?, id: PushID) {
        self.kind = kind
        self.tag = tag
        self.preview = preview
        self.id = id
    }
}

/// A random number that names one push. It says nothing about the device or the server.
package struct PushID: Sendable, Equatable, CustomStringConvertible {
    /// The more significant half.
    package let high: UInt64
    /// The less significant half.
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// The form Apple asks for in `apns-id`: a canonical lower-case UUID, marked as random (RFC 9562 section 5.4).
    package var description: String {
        let high = high & ~0xF000 | 0x4000
        let low = low & ~(0xC000 << 48) | 0x8000 << 48
        let first = hexDigits(high)
        let last = hexDigits(low)
        var digits = InlineArray<36, UInt8>(repeating: UInt8(ascii: "-"))
        for index in 0..<8 { digits[index] = first[index] }
        for index in 8..<12 { digits[index + 1] = first[index] }
        for index in 12..<16 { digits[index + 2] = first[index] }
        for index in 0..<4 { digits[index + 19] = last[index] }
        for index in 4..<16 { digits[index + 20] = last[index] }
        return String(ascii: digits.span)
    }
}

extension String {
    /// The text of bytes that are ASCII, copied once.
    init(ascii bytes: Span<UInt8>) {
        guard let text = try? UTF8Span(validating: bytes) else { preconditionFailure("no ASCII") }
        self.init(copying: text)
    }
}

/// The sixteen lower-case hex digits of a number, the most significant first.
func hexDigits(_ number: UInt64) -> InlineArray<16, UInt8> {
    InlineArray { place in
        let nibble = UInt8(truncatingIfNeeded: number >> (60 - 4 * UInt64(place)) & 15)
        return nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10
    }
}
