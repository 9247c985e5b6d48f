/// What the head of a request says of the answer to it.
struct AnswerForm {
    /// Whether a connection stays without a word; HTTP/1.0 has to be told.
    var isHTTP11 = true
    /// Whether the answer is sent without its body.
    var isToHead = false
    /// Whether the sender wants the connection to stay.
    var keepsConnection = true
}

/// Makes the bytes of answers, one after the other in the same place.
struct AnswerEncoder {
    /// The answer that was encoded last.
    private(set) var bytes: [UInt8] = []
    private var dateLine = DateLine()

    /// A larger answer's memory is given back with the next.
    private static let keptCapacity = 1024

    /// Lets go of the last answer, whose memory is overwritten then. For those that are for one sender alone: a registration's
    /// has a capability.
    mutating func forget() { bytes = [] }

    /// Encodes an answer.
    ///
    /// - Parameter closes: whether the connection ends with it (RFC 9112 section 9.6).
    mutating func encode(_ response: HTTPResponse, _ form: AnswerForm, closes: Bool) {
        bytes.removeAll(keepingCapacity: bytes.count <= Self.keptCapacity)
        response.appendStart(to: &bytes)
        dateLine.append(to: &bytes)
        if closes {
            bytes += Self.closeLine
        } else if !form.isHTTP11 {
            bytes += Self.keepLine
        }
        response.appendRest(to: &bytes, withBody: !form.isToHead)
    }

    private static let keepLine = Array("Connection: keep-alive\r\n".utf8)
    private static let closeLine = Array("Connection: close\r\n".utf8)
}
