/// The fields of an `application/x-www-form-urlencoded` body (URL Standard section 5.1).
struct FormFields {
    private var fields: [(name: String, value: String)] = []

    /// Nil when a percent sign is not followed by two hex digits, or the bytes are no UTF-8.
    init?(_ body: [UInt8]) {
        for pair in body.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decode(parts[0]), let value = Self.decode(parts.dropFirst().first ?? []) else {
                return nil
            }
            fields.append((name, value))
        }
    }

    /// The first field of this name.
    subscript(_ name: String) -> String? { fields.first { $0.name == name }?.value }

    private static func decode(_ bytes: ArraySlice<UInt8>) -> String? {
        var decoded: [UInt8] = []
        var iterator = bytes.makeIterator()
        while let byte = iterator.next() {
            switch byte {
            case UInt8(ascii: "+"): decoded.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = iterator.next()?.hexValue, let low = iterator.next()?.hexValue else { return nil }
                decoded.append(high << 4 | low)
            default: decoded.append(byte)
            }
        }
        return String(validating: decoded, as: UTF8.self)
    }
}
