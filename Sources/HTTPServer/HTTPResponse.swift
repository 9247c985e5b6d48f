/// An answer. `Date`, `Content-Length` and `Connection` are added where they belong and are not given here.
package struct HTTPResponse: Sendable {
    /// The status code, 200 to 599.
    package let status: Int
    /// The header fields, in the order in which they are sent.
    package let headers: [(name: String, value: String)]
    /// The body; must be empty for 204 and 304. It is not sent to a `HEAD`, but counted in `Content-Length`.
    package let body: [UInt8]
    /// The encoded form, where the answer is given many times.
    private let encoded: EncodedResponse?

    /// Makes an answer that is encoded each time it is given.
    ///
    /// Names and values must come from the program itself: one with a line end in it traps when it is sent.
    package init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.init(status: status, headers: headers, body: body, encoded: nil)
    }

    private init(status: Int, headers: [(name: String, value: String)], body: [UInt8], encoded: EncodedResponse?) {
        precondition((200..<600).contains(status), "a final status has three digits and begins with 2 to 5")
        self.status = status
        self.headers = headers
        self.body = body
        self.encoded = encoded
    }

    /// The same answer, encoded once and shared by all who give it, on any loop: for the answers that never change.
    package func prepared() -> HTTPResponse {
        HTTPResponse(status: status, headers: headers, body: body, encoded: EncodedResponse(self))
    }

    /// Whether it is one that never changes, and so says nothing of whom it is given to.
    var isPrepared: Bool { encoded != nil }

    /// Adds the status line.
    func appendStart(to output: inout [UInt8]) {
        if let encoded { output += encoded.start } else { encodeStart(to: &output) }
    }

    /// Adds the fields and the empty line, and the body where it is sent.
    func appendRest(to output: inout [UInt8], withBody: Bool) {
        if let encoded {
            output += withBody ? encoded.fieldsAndBody : encoded.fields
        } else {
            encodeFields(to: &output)
            if withBody { output += body }
        }
    }

    // Piece by piece: texts that are put together first cost more than all the rest of a refusal.

    fileprivate func encodeStart(to output: inout [UInt8]) {
        output.append("HTTP/1.1 ")
        output.append(decimal: status)
        output.append(" ")
        output.append(reasonPhrase(status))
        output.append("\r\n")
    }

    fileprivate func encodeFields(to output: inout [UInt8]) {
        for (name, value) in headers {
            let begin = output.count
            output.append(name)
            output.append(": ")
            output.append(value)
            precondition(
                output.span.extracting(begin..<output.count).isFieldValue, "a response header that cannot be sent")
            output.append("\r\n")
        }
        // A 204 must not have one (RFC 9110 section 8.6), and a 304 has no body that it could be of.
        if status != 204 && status != 304 {
            output.append("Content-Length: ")
            output.append(decimal: body.count)
            output.append("\r\n")
        }
        output.append("\r\n")
    }
}

/// What does not differ from one time that an answer is given to the next. A class, for an answer is copied on its way.
private final class EncodedResponse: Sendable {
    /// The status line.
    let start: [UInt8]
    /// The fields and the empty line: what a HEAD gets.
    let fields: [UInt8]
    let fieldsAndBody: [UInt8]

    init(_ response: HTTPResponse) {
        var start: [UInt8] = []
        response.encodeStart(to: &start)
        self.start = start
        var fields: [UInt8] = []
        response.encodeFields(to: &fields)
        self.fields = fields
        fieldsAndBody = fields + response.body
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ text: String) { append(contentsOf: text.utf8) }

    /// A number that is not negative.
    fileprivate mutating func append(decimal number: Int) {
        if number >= 10 { append(decimal: number / 10) }
        append(UInt8(ascii: "0") + UInt8(number % 10))
    }
}

/// RFC 9110 section 15. Nobody has to read it; a status that stands in no table has none.
private func reasonPhrase(_ status: Int) -> String {
    switch status {
    case 200: "OK"
    case 201: "Created"
    case 202: "Accepted"
    case 204: "No Content"
    case 304: "Not Modified"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 408: "Request Timeout"
    case 410: "Gone"
    case 413: "Content Too Large"
    case 414: "URI Too Long"
    case 417: "Expectation Failed"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case 500: "Internal Server Error"
    case 501: "Not Implemented"
    case 502: "Bad Gateway"
    case 503: "Service Unavailable"
    case 505: "HTTP Version Not Supported"
    default: ""
    }
}
