/// Takes an input apart, from its front: a few numbers that steer, and the rest, which is the matter itself.
struct Input {
    private var bytes: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { self.bytes = bytes[...] }

    /// One byte; 0 where there is none.
    mutating func byte() -> UInt8 { bytes.popFirst() ?? 0 }

    /// Two bytes, the first the more significant.
    mutating func word() -> Int { Int(byte()) << 8 | Int(byte()) }

    /// Up to a line end, which is dropped.
    mutating func line() -> [UInt8] {
        let line = Array(bytes.prefix { $0 != UInt8(ascii: "\n") })
        bytes = bytes.dropFirst(line.count + 1)
        return line
    }

    /// Everything that is left.
    mutating func rest() -> [UInt8] {
        defer { bytes = [] }
        return Array(bytes)
    }
}

extension [UInt8] {
    /// As text, where it is UTF-8; repaired where it is not.
    var text: String { String(decoding: self, as: UTF8.self) }
}
