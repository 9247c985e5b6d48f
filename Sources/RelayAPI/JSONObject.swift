/// The top level of a JSON object, read strictly (RFC 8259): UTF-8, no duplicate member, nothing after it, nesting
/// bounded. Only the wanted members are kept; the rest is checked and passed over.
///
/// Written here because a decoder made for models takes what must be refused (duplicate members, other encodings) and
/// cannot tell an absent member from a null one; `docs/decisions/` has the figures.
struct JSONObject {
    /// A member's value, as far as a request needs it.
    enum Value: Equatable {
        case string(String)
        case bool(Bool)
        /// A number, null, array or object: well-formed, and never what is asked for.
        case other
    }

    /// Deeper nesting is refused. What the relay takes has none.
    static let deepest = 32

    private let wanted: [String]
    /// The values of the wanted members, in the order of their names there. No body has more than four.
    private var values = InlineArray<4, Value?>(repeating: nil)

    /// Reads a whole body; nil when it is not one JSON object.
    init?(_ bytes: [UInt8], wanted: [String]) {
        precondition(wanted.count <= values.count, "more members are wanted than there is room for")
        self.wanted = wanted
        var reader = JSONReader(bytes)
        guard reader.readObject(into: &self) else { return nil }
    }

    /// The member's value; nil when it is absent.
    subscript(name: String) -> Value? {
        guard let place = place(of: name) else { return nil }
        return values[place]
    }

    /// The member's value when it is a string; nil when it is absent or anything else.
    func string(_ name: String) -> String? {
        guard case .string(let text) = self[name] else { return nil }
        return text
    }

    /// Where a member's value is kept; nil when it is not wanted.
    fileprivate func place(of name: String) -> Int? { wanted.firstIndex(of: name) }

    /// Keeps the value of a wanted member, unless there is one already.
    fileprivate mutating func keep(_ value: Value, at place: Int) -> Bool {
        guard values[place] == nil else { return false }
        values[place] = value
        return true
    }
}

/// Walks over the bytes of one JSON text. Every `read…` and `skip…` answers whether what it met was right.
struct JSONReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard current == byte else { return false }
        position += 1
        return true
    }

    private mutating func skipBlanks() {
        while let byte = current, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    /// Reads an object that is the whole text, and keeps the members that it wants.
    mutating func readObject(into object: inout JSONObject) -> Bool {
        skipBlanks()
        guard readMembers(into: &object) else { return false }
        skipBlanks()
        return position == bytes.count
    }

    private mutating func readMembers(into object: inout JSONObject) -> Bool {
        guard take(UInt8(ascii: "{")) else { return false }
        skipBlanks()
        if take(UInt8(ascii: "}")) { return true }
        var others = MemberNames()
        repeat {
            skipBlanks()
            guard let name = readString() else { return false }
            skipBlanks()
            guard take(UInt8(ascii: ":")) else { return false }
            skipBlanks()
            if let place = object.place(of: name) {
                guard let value = readValue(depth: 1), object.keep(value, at: place) else { return false }
            } else {
                guard others.insert(name), skipValue(depth: 1) else { return false }
            }
            skipBlanks()
        } while take(UInt8(ascii: ","))
        return take(UInt8(ascii: "}"))
    }

    private mutating func readValue(depth: Int) -> JSONObject.Value? {
        switch current {
        case UInt8(ascii: "\""): return readString().map { .string($0) }
        case UInt8(ascii: "t"): return skipWord("true") ? .bool(true) : nil
        case UInt8(ascii: "f"): return skipWord("false") ? .bool(false) : nil
        default: return skipValue(depth: depth) ? .other : nil
        }
    }

    private mutating func skipValue(depth: Int) -> Bool {
        guard depth <= JSONObject.deepest else { return false }
        switch current {
        case UInt8(ascii: "\""): return readString() != nil
        case UInt8(ascii: "t"): return skipWord("true")
        case UInt8(ascii: "f"): return skipWord("false")
        case UInt8(ascii: "n"): return skipWord("null")
        case UInt8(ascii: "["): return skipArray(depth: depth)
        case UInt8(ascii: "{"): return skipObject(depth: depth)
        default: return skipNumber()
        }
    }

    private mutating func skipArray(depth: Int) -> Bool {
        position += 1
        skipBlanks()
        if take(UInt8(ascii: "]")) { return true }
        repeat {
            skipBlanks()
            guard skipValue(depth: depth + 1) else { return false }
            skipBlanks()
        } while take(UInt8(ascii: ","))
        return take(UInt8(ascii: "]"))
    }

    private mutating func skipObject(depth: Int) -> Bool {
        position += 1
        skipBlanks()
        if take(UInt8(ascii: "}")) { return true }
        repeat {
            skipBlanks()
            guard readString() != nil else { return false }
            skipBlanks()
            guard take(UInt8(ascii: ":")) else { return false }
            skipBlanks()
            guard skipValue(depth: depth + 1) else { return false }
            skipBlanks()
        } while take(UInt8(ascii: ","))
        return take(UInt8(ascii: "}"))
    }

    private mutating func skipWord(_ word: StaticString) -> Bool {
        let length = word.utf8CodeUnitCount
        guard position + length <= bytes.count else { return false }
        for (offset, byte) in String(describing: word).utf8.enumerated() where bytes[position + offset] != byte {
            return false
        }
        position += length
        return true
    }

    /// RFC 8259 section 6: no leading zero, no bare point, no plus.
    private mutating func skipNumber() -> Bool {
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) {
            guard skipDigits() else { return false }
        }
        if take(UInt8(ascii: ".")), !skipDigits() { return false }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            guard skipDigits() else { return false }
        }
        return true
    }

    private mutating func skipDigits() -> Bool {
        let start = position
        while let byte = current, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
        return position > start
    }

    /// A string without its quotes, escapes resolved; nil when it is not well-formed or not UTF-8.
    private mutating func readString() -> String? {
        guard take(UInt8(ascii: "\"")) else { return nil }
        let start = position
        // Has bit 7 as soon as one of the bytes has.
        var all: UInt8 = 0
        while let byte = current {
            if byte == UInt8(ascii: "\"") {
                let text = bytes[start..<position]
                position += 1
                // The library's test for UTF-8 costs several times what it takes to copy a short text.
                return all < 0x80 ? String(decoding: text, as: UTF8.self) : String(validating: text, as: UTF8.self)
            }
            if byte == UInt8(ascii: "\\") { return readEscaped(from: start) }
            guard byte >= 0x20 else { return nil }
            all |= byte
            position += 1
        }
        return nil
    }

    /// The slower way, for a string with escapes: `position` is at the first of them.
    private mutating func readEscaped(from start: Int) -> String? {
        var text = Array(bytes[start..<position])
        while let byte = current {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return String(validating: text, as: UTF8.self)
            case UInt8(ascii: "\\"): guard readEscape(into: &text) else { return nil }
            case 0..<0x20: return nil
            default: text.append(byte)
            }
        }
        return nil
    }

    private mutating func readEscape(into text: inout [UInt8]) -> Bool {
        guard let byte = current else { return false }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): return readUnicodeEscape(into: &text)
        default: return false
        }
        return true
    }

    private mutating func readUnicodeEscape(into text: inout [UInt8]) -> Bool {
        guard var code = readFourHexDigits() else { return false }
        if (0xD800..<0xDC00).contains(code) {
            // The first half of a pair; the second must follow.
            guard take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")), let low = readFourHexDigits(),
                (0xDC00..<0xE000).contains(low)
            else { return false }
            code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
        }
        guard let scalar = Unicode.Scalar(code) else { return false }
        text.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
        return true
    }

    private mutating func readFourHexDigits() -> UInt32? {
        var code: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = current, let digit = Self.hexValue(byte) else { return nil }
            code = code << 4 | digit
            position += 1
        }
        return code
    }

    private static func hexValue(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a")) + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A")) + 10
        default: nil
        }
    }
}

/// The names so far of an object's members that nobody wants, compared byte by byte: to Swift, strings that look the same
/// are equal.
///
/// A few are looked through; many are hashed, for a body of nothing but members has a thousand of them.
private struct MemberNames {
    private static let few = 8

    private var list: [String] = []
    private var set: Set<[UInt8]> = []

    /// Takes one more name, unless it is there already.
    mutating func insert(_ name: String) -> Bool {
        if list.contains(where: { $0.utf8.elementsEqual(name.utf8) }) { return false }
        guard list.count == Self.few else {
            list.append(name)
            return true
        }
        return set.insert(Array(name.utf8)).inserted
    }
}
