/// Finds lines that end with CR LF in bytes that come in pieces, and counts what they take. A bare LF ends nothing here:
/// what two programs take for the end of a line must be the same (RFC 9112 section 2.2 leaves it to the recipient).
struct LineReader {
    enum Outcome {
        /// A line, without its end.
        case line(Range<Int>)
        /// No line yet; what there is of it must be there again at the next call, with more behind it.
        case partial
        /// An LF without a CR before it.
        case broken
    }

    /// Bytes of whole lines and of a broken one, their ends among them.
    private var taken = 0
    /// Bytes of the line that is not whole yet.
    private var scanned = 0

    /// Bytes of all lines so far, the one that is not whole among them.
    var size: Int { taken + scanned }

    /// Takes the next line and moves the position behind it.
    mutating func next(in bytes: Span<UInt8>, at position: inout Int) -> Outcome {
        guard let end = bytes.position(of: .lineFeed, from: position + scanned) else {
            scanned = bytes.count - position
            return .partial
        }
        scanned = 0
        taken += end + 1 - position
        guard end > position, bytes[end - 1] == .carriageReturn else { return .broken }
        let line = position..<(end - 1)
        position = end + 1
        return .line(line)
    }
}
