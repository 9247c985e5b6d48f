import Testing

/// What goes over one connection, byte for byte, and what must come back.
struct WireCase: Sendable, CustomTestStringConvertible {
    /// What becomes of the connection after the last answer.
    enum Ending: Sendable { case open, closed }

    let name: String
    /// What is sent. `{capability}` stands for that of a phone registered for this case.
    let bytes: [UInt8]
    /// Status and code of every answer, in order, without `100 Continue`.
    let answers: [String]
    let ending: Ending
    /// How many pushes are asked of the push service.
    let pushes: Int
    /// How many times a sender is told to go on (`100 Continue`) whose bytes come one by one. Told once or never it has
    /// sent the body by then; sent in one piece the body is never asked for.
    var invitations = 0
    /// Whether the first answer is one to a HEAD.
    var toHead = false
    /// Whether the sender ends its side after the last byte.
    var endsWriting = false

    var testDescription: String { name }

    init(_ name: String, _ bytes: [UInt8], _ answers: [String], _ ending: Ending, pushes: Int = 0) {
        self.name = name
        self.bytes = bytes
        self.answers = answers
        self.ending = ending
        self.pushes = pushes
    }

    /// Refused as a whole: one answer, the connection closed, and the flawless push right behind it is not executed.
    static func refused(_ name: String, _ text: String, _ answer: String = "400 bad_request") -> WireCase {
        refused(name, Array(text.utf8), answer)
    }

    static func refused(_ name: String, _ bytes: [UInt8], _ answer: String = "400 bad_request") -> WireCase {
        WireCase(name, bytes + Array(Wire.good.utf8), [answer], .closed)
    }

    /// Answered, and the connection goes on.
    static func open(_ name: String, _ text: String, _ answers: String..., pushes: Int = 0) -> WireCase {
        WireCase(name, Array(text.utf8), answers, .open, pushes: pushes)
    }

    /// Answered, and the connection ends: the flawless push right behind is not executed.
    static func closed(_ name: String, _ text: String, _ answers: String..., pushes: Int = 0) -> WireCase {
        WireCase(name, Array((text + Wire.good).utf8), answers, .closed, pushes: pushes)
    }

    /// A push that is executed once, and the connection goes on.
    static func pushed(_ name: String, _ text: String) -> WireCase {
        WireCase(name, Array(text.utf8), ["202"], .open, pushes: 1)
    }

    /// Left off in the middle by a sender that ends its side: closed without a word.
    static func cutShort(_ name: String, _ text: String) -> WireCase {
        var row = WireCase(name, Array(text.utf8), [], .closed)
        row.endsWriting = true
        return row
    }

    /// The same, the body being one that may be asked for.
    var invited: WireCase {
        var row = self
        row.invitations = 1
        return row
    }

    /// The same, the first request being a HEAD.
    var asHead: WireCase {
        var row = self
        row.toHead = true
        return row
    }
}

/// What the tables are put together from.
enum Wire {
    /// The head of a request that is fine, without its empty line.
    static let get = "GET /healthz HTTP/1.1\r\nHost: a\r\n"
    /// The head of a push, likewise.
    static let push = "POST /v1/push HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {capability}\r\n"
    static let delete = "DELETE /v1/push HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {capability}\r\n"
    /// A push's body, of 13 bytes.
    static let body = #"{"kind":"dm"}"#
    /// A flawless push.
    static let good = "\(push)Content-Length: 13\r\n\r\n\(body)"
    /// The head of a push in chunks, with its empty line.
    static let chunked = "\(push)Transfer-Encoding: chunked\r\n\r\n"
    /// A body in one chunk.
    static let chunks = "d\r\n\(body)\r\n0\r\n\r\n"

    static func many(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

    static let all = requestLines + fields + hosts + lengths + codings + chunkRows + connections + strangers
}
