#if canImport(Glibc)
    import Glibc
#endif

// What the grammars of RFC 9110, RFC 9112 and RFC 3986 say of single bytes and short words.

extension Span<UInt8> {
    /// Whether these are the letters of `lowercased`, in either case.
    func equals(_ lowercased: StaticString) -> Bool {
        guard count == lowercased.utf8CodeUnitCount else { return false }
        for index in indices {
            let letter = unsafe lowercased.utf8Start[index]
            if self[index].lowercased != letter { return false }
        }
        return true
    }

    /// Whether these are the bytes of a lower-case name, in either case.
    func equals(_ lowercased: [UInt8]) -> Bool {
        guard count == lowercased.count else { return false }
        for index in indices where self[index].lowercased != lowercased[index] { return false }
        return true
    }

    /// RFC 9110 section 5.6.2.
    var isToken: Bool {
        for index in indices where !self[index].isTokenCharacter { return false }
        return !isEmpty
    }

    /// RFC 9110 section 5.5: visible characters, blanks, tabs and whatever is above ASCII. No CR, so no bare one either.
    var isFieldValue: Bool {
        for index in indices {
            let byte = self[index]
            guard byte >= 0x20 && byte != 0x7f || byte == 0x09 else { return false }
        }
        return true
    }

    /// A host and perhaps a port (RFC 9110 section 7.2, RFC 3986 section 3.2.2), or nothing: no user name, no path, no
    /// list.
    var isHost: Bool {
        var index = 0
        if count > 0, self[0] == UInt8(ascii: "[") {
            index = 1
            while index < count, self[index] != UInt8(ascii: "]") {
                guard self[index].isHexDigit || self[index] == UInt8(ascii: ":") || self[index] == UInt8(ascii: ".")
                else { return false }
                index += 1
            }
            guard index < count, index > 1 else { return false }
            index += 1
        } else {
            while index < count, self[index].isHostCharacter { index += 1 }
        }
        guard index < count else { return true }
        guard self[index] == UInt8(ascii: ":"), index > 0 else { return false }
        for digit in (index + 1)..<count where !self[digit].isDigit { return false }
        return true
    }

    /// The range without blanks and tabs at both ends.
    var withoutBlanks: Range<Int> {
        var range = indices
        while let first = range.first, self[first] == 0x20 || self[first] == 0x09 { range.removeFirst() }
        while let last = range.last, self[last] == 0x20 || self[last] == 0x09 { range.removeLast() }
        return range
    }

    /// Where a byte first stands at or after `start`.
    func position(of byte: UInt8, from start: Int = 0) -> Int? {
        guard start < count else { return nil }
        return unsafe extracting(start..<count).withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress, let found = unsafe memchr(base, Int32(byte), buffer.count)
            else { return nil }
            return unsafe start + (UnsafeRawPointer(found) - UnsafeRawPointer(base))
        }
    }

    /// Where a byte last stands.
    func lastPosition(of byte: UInt8) -> Int? {
        var index = count
        while index > 0 {
            index -= 1
            if self[index] == byte { return index }
        }
        return nil
    }
}

extension UInt8 {
    static let lineFeed: UInt8 = 0x0A
    static let carriageReturn: UInt8 = 0x0D
    static let blank: UInt8 = 0x20
    static let tab: UInt8 = 0x09

    var lowercased: UInt8 {
        self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") ? self | 0x20 : self
    }

    var isDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }

    var isHexDigit: Bool { hexValue != nil }

    /// What a hexadecimal digit of either case stands for.
    var hexValue: Int? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(self - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): Int(self - UInt8(ascii: "a")) + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): Int(self - UInt8(ascii: "A")) + 10
        default: nil
        }
    }

    var isTokenCharacter: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
            UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"),
            UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "^"), UInt8(ascii: "`"),
            UInt8(ascii: "|"), UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// What the name of a host is made of (RFC 3986 section 3.2.2, without its marks for lists).
    fileprivate var isHostCharacter: Bool {
        switch self {
        case UInt8(ascii: "#"), UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "|"): false
        default: isTokenCharacter
        }
    }
}

extension String {
    /// The bytes of a span, which the caller knows to be UTF-8; anything else is repaired.
    init(repairing bytes: Span<UInt8>) {
        self = unsafe bytes.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }
}
