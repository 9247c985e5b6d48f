import Cryptography

/// Reads the hex of a published test vector; traps on anything else.
func bytes(_ hex: String) -> [UInt8] {
    let digits = hex.filter { !$0.isWhitespace }.map { character -> UInt8 in
        guard let value = character.hexDigitValue else { preconditionFailure("not a hex digit") }
        return UInt8(value)
    }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

func hex(_ bytes: [UInt8]) -> String {
    bytes.map { byte in
        let digits = String(byte, radix: 16)
        return digits.count == 1 ? "0" + digits : digits
    }.joined()
}

enum Base64 {
    /// The bytes of a PEM text's body. Lenient: for the tests' own texts only.
    static func decode(_ pem: String) -> [UInt8] {
        let body = pem.split(separator: "\n").filter { !$0.hasPrefix("-") }.joined()
        let text = body.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 }.filter { $0 != "=" }
        return Base64URL.decode(String(text)) ?? []
    }
}
