import Cryptography
import PushModel

/// What is inside of a seal: the token in as few bytes as it takes, padded so that its length does not show.
enum TokenPlaintext {
    private static let asText: UInt8 = 0
    private static let asHexDigits: UInt8 = 1
    private static let end: UInt8 = 0x80
    private static let smallestSize = 48

    static func encode(_ token: DeviceToken) -> [UInt8] {
        let text = Array(token.disclosed.utf8)
        var plaintext: [UInt8] = []
        if let packed = packed(text) {
            plaintext.append(asHexDigits)
            plaintext += packed
        } else {
            plaintext.append(asText)
            plaintext += text
        }
        plaintext.append(end)
        var size = smallestSize
        while size < plaintext.count { size *= 2 }
        plaintext += [UInt8](repeating: 0, count: size - plaintext.count)
        return plaintext
    }

    static func decode(_ plaintext: Span<UInt8>, for platform: Platform) -> DeviceToken? {
        var last = plaintext.count - 1
        while last > 0, plaintext[last] == 0 { last -= 1 }
        guard last > 0, plaintext[last] == end else { return nil }
        let body = plaintext.extracting(1..<last)
        switch plaintext[0] {
        case asText:
            guard let text = try? UTF8Span(validating: body) else { return nil }
            return DeviceToken(unchecked: String(copying: text), for: platform)
        case asHexDigits: return DeviceToken(unchecked: Hex.text(of: body), for: platform)
        default: return nil
        }
    }

    /// Two lower-case hex digits to a byte; nil when the text is anything else, and so would not come back the same.
    private static func packed(_ text: [UInt8]) -> [UInt8]? {
        guard text.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 2)
        for index in stride(from: 0, to: text.count, by: 2) {
            guard let high = digitValue(text[index]), let low = digitValue(text[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func digitValue(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
