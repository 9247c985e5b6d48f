/// Makes one request out of bytes that come in pieces. No I/O, no clock; one reader a request.
///
/// Exits: `.start` leaves for `.fields` with the request line; `.fields`, with the empty line, for `.body`, `.chunks` or
/// the end; those two for the end once the body is whole. A refusal is an end too.
struct RequestReader {
    enum Progress {
        /// All that was there has been looked at. Bytes behind the position must be there again at the next call.
        case needsMore
        /// The request is whole; what stands behind the position is the next one's.
        case whole
        /// The request is over, and so is its connection.
        case refused(HTTPRefusal)
    }

    private enum State { case start, fields, body(missing: Int), chunks, ended }

    private var state = State.start
    private var lines = LineReader()
    private var chunks = ChunkReader()
    private var body: [UInt8] = []
    private(set) var head = RequestHead()
    /// Whether anything of the request is there; an empty line before it is nothing (RFC 9112 section 2.2).
    private(set) var hasBegun = false
    private var isInvited = false

    /// Takes what there is and moves the position behind it.
    mutating func read(_ bytes: Span<UInt8>, at position: inout Int, rules: RequestRules) -> Progress {
        while true {
            switch state {
            case .start:
                if position < bytes.count, !isPlausible(bytes, at: position) { return .refused(.malformed(.method)) }
                let outcome = lines.next(in: bytes, at: &position)
                guard lines.size <= rules.maximumHead else { return .refused(.targetTooLong) }
                switch outcome {
                case .broken: return .refused(.malformed(.layout))
                case .partial: return .needsMore
                case .line(let range):
                    if range.isEmpty { continue }
                    if let refusal = head.takeRequestLine(bytes.extracting(range)) { return .refused(refusal) }
                    state = .fields
                }
            case .fields:
                let outcome = lines.next(in: bytes, at: &position)
                guard lines.size <= rules.maximumHead else { return .refused(.headersTooLarge) }
                switch outcome {
                case .broken: return .refused(.malformed(.layout))
                case .partial: return .needsMore
                case .line(let range):
                    if range.isEmpty {
                        if let refusal = beginBody(rules) { return .refused(refusal) }
                    } else if let refusal = head.takeField(bytes.extracting(range), rules: rules) {
                        return .refused(refusal)
                    }
                }
            case .body(let missing):
                let count = min(missing, bytes.count - position)
                body.append(bytes.extracting(position..<(position + count)))
                position += count
                guard count == missing else {
                    state = .body(missing: missing - count)
                    return .needsMore
                }
                state = .ended
            case .chunks:
                switch chunks.read(bytes, at: &position, into: &body, maximum: rules.maximumBody) {
                case .needsMore: return .needsMore
                case .malformed: return .refused(.malformed(.chunks))
                case .tooLarge: return .refused(.bodyTooLarge)
                case .ended: state = .ended
                }
            case .ended: return .whole
            }
        }
    }

    /// Whether a line that begins so can be an empty or a first line. What cannot (TLS, HTTP/2 frames, SOCKS) is not
    /// waited for.
    private mutating func isPlausible(_ bytes: Span<UInt8>, at position: Int) -> Bool {
        if bytes[position] == .carriageReturn {
            return position + 1 == bytes.count || bytes[position + 1] == .lineFeed
        }
        hasBegun = true
        return bytes[position].isTokenCharacter
    }

    /// The head is complete.
    private mutating func beginBody(_ rules: RequestRules) -> HTTPRefusal? {
        if let refusal = head.conclude() { return refusal }
        if head.isChunked {
            state = .chunks
            return nil
        }
        let length = head.contentLength ?? 0
        guard length <= rules.maximumBody else { return .bodyTooLarge }
        body.reserveCapacity(length)
        state = .body(missing: length)
        return nil
    }

    /// Whether the sender now waits to be told to send the body. Says so once.
    mutating func takesInvitation() -> Bool {
        switch state {
        case .start, .fields, .ended: return false
        case .body, .chunks:
            guard head.expectsContinue, !isInvited, body.isEmpty else { return false }
            isInvited = true
            return true
        }
    }

    /// The request, with what there is of its body, which is given away; or without it. And what it says of its answer.
    mutating func takeRequest(peer: PeerAddress, withBody: Bool = true) -> (HTTPRequest, AnswerForm) {
        defer { body = [] }
        let request = HTTPRequest(
            method: head.method, path: head.path, query: head.query, body: withBody ? body : [], peer: peer,
            retained: head.retained, hasNotedHeader: head.hasNotedHeader)
        return (request, head.answerForm)
    }
}
