/// Reads one JSON text, strictly by RFC 8259. Pure.
struct JSONReader {
    private let bytes: [UInt8]
    private var position = 0
    private var depth = 0

    private static let deepest = 64

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The value, or nil when the bytes are anything but one JSON value with white space around it.
    static func read(_ bytes: [UInt8]) -> JSON? {
        var reader = JSONReader(bytes)
        reader.skipSpace()
        guard let value = reader.value() else { return nil }
        reader.skipSpace()
        return reader.position == bytes.count ? value : nil
    }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    private mutating func take(word: StaticString, _ value: JSON) -> JSON? {
        for index in 0..<word.utf8CodeUnitCount {
            guard take(unsafe word.utf8Start[index]) else { return nil }
        }
        return value
    }

    private mutating func value() -> JSON? {
        guard depth < Self.deepest else { return nil }
        depth += 1
        defer { depth -= 1 }
        switch next {
        case UInt8(ascii: "{"): return object()
        case UInt8(ascii: "["): return array()
        case UInt8(ascii: "\""): return string().map { .string($0) }
        case UInt8(ascii: "t"): return take(word: "true", .bool(true))
        case UInt8(ascii: "f"): return take(word: "false", .bool(false))
        case UInt8(ascii: "n"): return take(word: "null", .null)
        default: return number()
        }
    }

    private mutating func object() -> JSON? {
        position += 1
        skipSpace()
        var members: [JSON.Member] = []
        if take(UInt8(ascii: "}")) { return .object(members) }
        while true {
            skipSpace()
            guard next == UInt8(ascii: "\""), let name = string() else { return nil }
            skipSpace()
            guard take(UInt8(ascii: ":")) else { return nil }
            skipSpace()
            guard let value = value() else { return nil }
            members.append(JSON.Member(name, value))
            skipSpace()
            if take(UInt8(ascii: "}")) { return .object(members) }
            guard take(UInt8(ascii: ",")) else { return nil }
        }
    }

    private mutating func array() -> JSON? {
        position += 1
        skipSpace()
        var values: [JSON] = []
        if take(UInt8(ascii: "]")) { return .array(values) }
        while true {
            skipSpace()
            guard let value = value() else { return nil }
            values.append(value)
            skipSpace()
            if take(UInt8(ascii: "]")) { return .array(values) }
            guard take(UInt8(ascii: ",")) else { return nil }
        }
    }

    private mutating func digits() -> Int {
        let start = position
        while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
        return position - start
    }

    private mutating func number() -> JSON? {
        let start = position
        _ = take(UInt8(ascii: "-"))
        let leadsWithZero = next == UInt8(ascii: "0")
        let whole = digits()
        guard whole > 0, !(leadsWithZero && whole > 1) else { return nil }
        if take(UInt8(ascii: ".")) {
            guard digits() > 0 else { return nil }
        }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            guard digits() > 0 else { return nil }
        }
        return .number(String(decoding: bytes[start..<position], as: UTF8.self))
    }

    private mutating func string() -> String? {
        position += 1
        var text: [UInt8] = []
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return String(validating: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard escape(into: &text) else { return nil }
            case 0x00..<0x20: return nil
            default: text.append(byte)
            }
        }
        return nil
    }

    private mutating func escape(into text: inout [UInt8]) -> Bool {
        guard let byte = next else { return false }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): return escapedCharacter(into: &text)
        default: return false
        }
        return true
    }

    /// After `\u`: four hex digits, and for a high surrogate the low one that must follow.
    private mutating func escapedCharacter(into text: inout [UInt8]) -> Bool {
        guard let first = hexUnit() else { return false }
        var value = UInt32(first)
        if UTF16.isLeadSurrogate(first) {
            guard take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")), let second = hexUnit(),
                UTF16.isTrailSurrogate(second)
            else { return false }
            value = 0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00)
        }
        guard let scalar = Unicode.Scalar(value) else { return false }
        text.append(contentsOf: String(scalar).utf8)
        return true
    }

    private mutating func hexUnit() -> UInt16? {
        guard position + 4 <= bytes.count else { return nil }
        var value: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = bytes[position].hexValue else { return nil }
            value = value << 4 | UInt16(digit)
            position += 1
        }
        return value
    }
}

extension UInt8 {
    /// What the byte stands for as a hex digit of either case; nil for any other byte.
    var hexValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
