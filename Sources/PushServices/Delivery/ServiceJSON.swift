/// Appends JSON to bytes, for the two payloads whose shape is fixed. Only device tokens and previews vary, and both are
/// of a charset that needs no escaping; ``appendJSONString(_:)`` escapes all the same, so that a token which an older
/// relay let in can break nothing.
extension [UInt8] {
    /// Text that is known to need no escaping.
    package mutating func appendPlain(_ text: String) {
        append(contentsOf: text.utf8)
    }

    /// A JSON string with its quotes (RFC 8259 section 7).
    package mutating func appendJSONString(_ text: String) {
        append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                append(UInt8(ascii: "\\"))
                append(byte)
            case 0..<0x20:
                append(contentsOf: "\\u00".utf8)
                append(hexDigit(byte >> 4))
                append(hexDigit(byte & 15))
            default:
                append(byte)
            }
        }
        append(UInt8(ascii: "\""))
    }

    private func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
