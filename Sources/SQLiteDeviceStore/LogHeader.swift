/// The first 32 bytes of `push.db-wal` (sqlite.org/fileformat2.html#walformat).
///
/// SQLite passes over a log whose header does not add up, and writes its own over it: registrations that stand behind it
/// are gone without a word. So it is looked at before SQLite is let near it.
enum LogHeader {
    /// The length in bytes.
    static let length = 32

    /// Whether the bytes are no header although something has been written there. Zeros are what a power cut leaves of a
    /// header that was never synced, and so of a log in which nothing was acknowledged.
    static func isDamaged(_ bytes: [UInt8]) -> Bool {
        guard bytes.count >= length else { return false }
        let header = bytes.prefix(length)
        if header.allSatisfy({ $0 == 0 }) { return false }
        let magic = word(header, at: 0, isBigEndian: true)
        guard magic & ~1 == 0x377F_0682 else { return true }
        let (first, second) = checksum(header.prefix(24), isBigEndian: magic & 1 == 1)
        return first != word(header, at: 24, isBigEndian: true) || second != word(header, at: 28, isBigEndian: true)
    }

    /// SQLite's checksum over an even number of words, in the byte order of whoever wrote them.
    static func checksum(_ bytes: ArraySlice<UInt8>, isBigEndian: Bool) -> (UInt32, UInt32) {
        var first: UInt32 = 0
        var second: UInt32 = 0
        for index in stride(from: 0, to: bytes.count, by: 8) {
            first &+= word(bytes, at: index, isBigEndian: isBigEndian) &+ second
            second &+= word(bytes, at: index + 4, isBigEndian: isBigEndian) &+ first
        }
        return (first, second)
    }

    private static func word(_ bytes: ArraySlice<UInt8>, at offset: Int, isBigEndian: Bool) -> UInt32 {
        let start = bytes.startIndex + offset
        let word = bytes[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) }
        return isBigEndian ? word : word.byteSwapped
    }
}
