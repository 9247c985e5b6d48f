/// A body that comes in chunks (RFC 9112 section 7.1): its data without the framing. No I/O.
///
/// Stricter than the RFC asks: no blank around a size, no more than sixteen digits of one, CR LF at every line's end.
/// Extensions and trailers are held against their form, bounded together, and dropped.
///
/// Exits: `.size` leaves for `.data`, or for `.trailers` with a size of 0; `.data` for `.dataEnd` once the chunk is
/// whole; `.dataEnd` for `.size` after CR LF; `.trailers` ends with an empty line.
struct ChunkReader {
    enum Progress { case needsMore, ended, tooLarge, malformed }

    private enum State { case size, data(missing: Int), dataEnd, trailers }

    /// What extensions and trailers may take together, in bytes.
    static let maximumExtras = 4096
    private static let maximumDigits = 16

    private var state = State.size
    private var lines = LineReader()
    private var extras = 0

    /// Takes what there is and moves the position behind it. What is left is looked at again, with more behind it.
    mutating func read(
        _ bytes: Span<UInt8>, at position: inout Int, into body: inout [UInt8], maximum: Int
    ) -> Progress {
        while true {
            switch state {
            case .size:
                switch lines.next(in: bytes, at: &position) {
                case .partial: return isTooMuch ? .malformed : .needsMore
                case .broken: return .malformed
                case .line(let range):
                    guard !isTooMuch, let size = size(in: bytes.extracting(range)) else { return .malformed }
                    guard size <= maximum - body.count else { return .tooLarge }
                    lines = LineReader()
                    state = size == 0 ? .trailers : .data(missing: size)
                }
            case .data(let missing):
                let count = min(missing, bytes.count - position)
                body.append(bytes.extracting(position..<(position + count)))
                position += count
                guard count == missing else {
                    state = .data(missing: missing - count)
                    return .needsMore
                }
                state = .dataEnd
            case .dataEnd:
                // Both at once; a lone CR is looked at again.
                guard bytes.count - position >= 2 else {
                    let isPlausible = position == bytes.count || bytes[position] == .carriageReturn
                    return isPlausible ? .needsMore : .malformed
                }
                guard bytes[position] == .carriageReturn, bytes[position + 1] == .lineFeed else { return .malformed }
                position += 2
                state = .size
            case .trailers:
                switch lines.next(in: bytes, at: &position) {
                case .partial: return isTooMuch ? .malformed : .needsMore
                case .broken: return .malformed
                case .line(let range):
                    // First, for a part of the last line has counted already where it came alone.
                    guard !isTooMuch else { return .malformed }
                    if range.isEmpty { return .ended }
                    guard Self.isTrailer(bytes.extracting(range)) else { return .malformed }
                }
            }
        }
    }

    /// Whether the line that is being read, its end with it, goes beyond the bound. Of the size's own digits a few are
    /// forgiven once their line is over.
    private var isTooMuch: Bool { extras + lines.size > Self.maximumExtras }

    /// Reads `1*HEXDIG [chunk-ext]`; nil when it is anything else. A size beyond what fits is one that fits nowhere.
    private mutating func size(in line: Span<UInt8>) -> Int? {
        var size = 0
        var digits = 0
        while digits < line.count, let digit = line[digits].hexValue {
            size = size > Int.max >> 5 ? Int.max : size << 4 | digit
            digits += 1
        }
        guard digits > 0, digits <= Self.maximumDigits else { return nil }
        guard digits < line.count else { return size }
        // Whatever an extension says, it is visible and stays on its line.
        guard line[digits] == UInt8(ascii: ";"), line.extracting(digits..<line.count).isFieldValue else { return nil }
        extras += line.count - digits
        return size
    }

    /// Whether a trailer is a field, and none that would have had to be known before the body (RFC 9110 section 6.5.1).
    private static func isTrailer(_ line: Span<UInt8>) -> Bool {
        guard let colon = line.position(of: UInt8(ascii: ":")) else { return false }
        let name = line.extracting(0..<colon)
        guard name.isToken, line.extracting((colon + 1)..<line.count).isFieldValue else { return false }
        return !name.equals("content-length") && !name.equals("transfer-encoding") && !name.equals("host")
            && !name.equals("authorization")
    }
}

extension [UInt8] {
    mutating func append(_ bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }
}
