/// The head of a request, taken line by line and held against RFC 9112; stricter where the RFC leaves room. What is
/// refused and why stands in `docs/http.md`.
///
/// The first fault in the order of arrival is the answer. No I/O, no clock.
struct RequestHead {
    /// What the request line said; a GET until then.
    private(set) var method = HTTPMethod.get
    private(set) var path = ""
    private(set) var query: String?
    /// The fields that the configuration names, in order of arrival.
    private(set) var retained: [RetainedField] = []
    /// Whether one of the fields came of which the configuration wants to know no more than that.
    private(set) var hasNotedHeader = false
    /// What `Content-Length` says; a number near `Int.max` where it is larger. Nil without one.
    private(set) var contentLength: Int?
    /// Whether the sender waits for leave to send the body (RFC 9110 section 10.1.1).
    private(set) var expectsContinue = false
    /// HTTP/1.1, else HTTP/1.0.
    private(set) var isHTTP11 = true

    private var fields = 0
    private var hosts = 0
    private var contentLengths = 0
    private var transferEncodings = 0
    private var chunkedCodings = 0
    private var otherCodings = 0
    private var isChunkedLast = false
    private var isTransferEncodingSound = true
    private var asksToClose = false
    private var asksToKeep = false

    /// Whether the body comes in chunks.
    var isChunked: Bool { transferEncodings > 0 }

    /// Whether the sender wants the connection to stay (RFC 9112 section 9.3).
    var keepsConnection: Bool { !asksToClose && (isHTTP11 || asksToKeep) }

    /// What the answer needs to know of all this.
    var answerForm: AnswerForm {
        AnswerForm(isHTTP11: isHTTP11, isToHead: method == .head, keepsConnection: keepsConnection)
    }

    // MARK: The request line

    /// Takes the request line, without its line end (RFC 9112 section 3): exactly one blank before and one after the
    /// target.
    mutating func takeRequestLine(_ line: Span<UInt8>) -> HTTPRefusal? {
        let methodEnd = line.position(of: .blank) ?? line.count
        let token = line.extracting(0..<methodEnd)
        guard token.isToken, !token.equals("connect") else { return .malformed(.method) }
        method = HTTPMethod(String(repairing: token))
        guard let targetEnd = line.lastPosition(of: .blank), targetEnd > methodEnd else {
            return .malformed(.version)
        }
        if let refusal = takeVersion(line.extracting((targetEnd + 1)..<line.count)) { return refusal }
        return takeTarget(line.extracting((methodEnd + 1)..<targetEnd))
    }

    /// Before the target: what a line of another version means is not ours to say.
    private mutating func takeVersion(_ version: Span<UInt8>) -> HTTPRefusal? {
        guard version.count == 8, version.extracting(0..<5).isHTTPName, version[5].isDigit,
            version[6] == UInt8(ascii: "."), version[7].isDigit
        else { return .malformed(.version) }
        guard version[5] == UInt8(ascii: "1"), version[7] <= UInt8(ascii: "1") else { return .unsupportedVersion }
        isHTTP11 = version[7] == UInt8(ascii: "1")
        return nil
    }

    /// The origin form only: a slash, and visible ASCII without a fragment.
    private mutating func takeTarget(_ target: Span<UInt8>) -> HTTPRefusal? {
        guard !target.isEmpty, target[0] == UInt8(ascii: "/") else { return .malformed(.target) }
        var mark: Int?
        for index in target.indices {
            switch target[index] {
            case UInt8(ascii: "#"): return .malformed(.target)
            case UInt8(ascii: "?"): mark = mark ?? index
            case 0x21...0x7e: break
            default: return .malformed(.target)
            }
        }
        path = String(repairing: target.extracting(0..<(mark ?? target.count)))
        query = mark.map { String(repairing: target.extracting(($0 + 1)..<target.count)) }
        return nil
    }

    // MARK: Fields

    /// Takes one field line, without its line end (RFC 9112 section 5).
    mutating func takeField(_ line: Span<UInt8>, rules: RequestRules) -> HTTPRefusal? {
        fields += 1
        guard fields <= rules.maximumFields else { return .headersTooLarge }
        // A folded line (RFC 9112 section 5.2), which nobody should send any more.
        guard line[0] != .blank, line[0] != .tab else { return .malformed(.layout) }
        guard let colon = line.position(of: UInt8(ascii: ":")) else { return .malformed(.fieldName) }
        let name = line.extracting(0..<colon)
        let value = line.extracting((colon + 1)..<line.count)
        guard name.isToken else { return .malformed(.fieldName) }
        guard value.isFieldValue else { return .malformed(.fieldValue) }
        for candidate in rules.names where name.equals(candidate.bytes) {
            if retained.isEmpty { retained.reserveCapacity(rules.names.count) }
            retained.append(
                RetainedField(name: candidate.name, value: String(repairing: value.extracting(value.withoutBlanks))))
        }
        for candidate in rules.notedNames where name.equals(candidate) { hasNotedHeader = true }
        switch name.count {
        case 4 where name.equals("host"): return takeHost(value)
        case 6 where name.equals("expect"): return takeExpectation(value)
        case 10 where name.equals("connection"): takeConnection(value)
        case 14 where name.equals("content-length"): return takeContentLength(value)
        case 17 where name.equals("transfer-encoding"): takeTransferEncoding(value)
        default: break
        }
        return nil
    }

    /// The verdict, once all fields are in; nil lets the request pass.
    func conclude() -> HTTPRefusal? {
        if isHTTP11 && hosts == 0 { return .malformed(.host) }
        guard transferEncodings > 0 else { return nil }
        if contentLengths > 0 || !isHTTP11 || !isTransferEncodingSound { return .malformed(.transferEncoding) }
        if chunkedCodings > 0 && !isChunkedLast { return .malformed(.transferEncoding) }
        if otherCodings > 0 { return .unsupportedTransferCoding }
        return chunkedCodings == 1 && transferEncodings == 1 ? nil : .malformed(.transferEncoding)
    }

    private mutating func takeHost(_ value: Span<UInt8>) -> HTTPRefusal? {
        hosts += 1
        return hosts == 1 && value.extracting(value.withoutBlanks).isHost ? nil : .malformed(.host)
    }

    private mutating func takeExpectation(_ value: Span<UInt8>) -> HTTPRefusal? {
        // An HTTP/1.0 client cannot expect anything (RFC 9110 section 10.1.1).
        guard isHTTP11 else { return nil }
        guard value.extracting(value.withoutBlanks).equals("100-continue") else { return .expectationFailed }
        expectsContinue = true
        return nil
    }

    private mutating func takeConnection(_ value: Span<UInt8>) {
        var start = 0
        while start <= value.count {
            let end = value.position(of: UInt8(ascii: ","), from: start) ?? value.count
            let option = value.extracting(start..<end)
            let trimmed = option.extracting(option.withoutBlanks)
            if trimmed.equals("close") { asksToClose = true }
            if trimmed.equals("keep-alive") { asksToKeep = true }
            start = end + 1
        }
    }

    /// Digits and nothing else, once. RFC 9110 section 8.6 lets a list of equal numbers pass, and blanks after them; what
    /// stands before us may not.
    private mutating func takeContentLength(_ value: Span<UInt8>) -> HTTPRefusal? {
        contentLengths += 1
        let digits = value.extracting(value.afterOneBlank)
        guard contentLengths == 1, !digits.isEmpty else { return .malformed(.contentLength) }
        var length = 0
        for index in digits.indices {
            guard digits[index].isDigit else { return .malformed(.contentLength) }
            let (tenfold, overflowed) = length.multipliedReportingOverflow(by: 10)
            let digit = Int(digits[index] - UInt8(ascii: "0"))
            length = overflowed || tenfold > Int.max - 9 ? Int.max - 9 : tenfold + digit
        }
        contentLength = length
        return nil
    }

    private mutating func takeTransferEncoding(_ value: Span<UInt8>) {
        transferEncodings += 1
        let list = value.extracting(value.afterOneBlank)
        var start = 0
        while start <= list.count {
            let end = list.position(of: UInt8(ascii: ","), from: start) ?? list.count
            let coding = list.extracting(start..<end)
            let trimmed = coding.extracting(coding.withoutBlanks)
            start = end + 1
            isChunkedLast = trimmed.equals("chunked")
            if isChunkedLast {
                chunkedCodings += 1
            } else if trimmed.isToken {
                otherCodings += 1
            } else {
                isTransferEncodingSound = false
            }
        }
        // `chunked` with more blanks around it than there need be is how one program is made to see what another does
        // not.
        if chunkedCodings > 0, otherCodings == 0, !list.equals("chunked") { isTransferEncodingSound = false }
    }
}

/// What a head and a body are held against, the same for all requests of a server.
struct RequestRules {
    var maximumHead: Int
    var maximumFields: Int
    var maximumBody: Int
    var names: [RetainedName]
    var notedNames: [[UInt8]]

    init(_ configuration: HTTPServerConfiguration) {
        maximumHead = configuration.maximumHead
        maximumFields = configuration.maximumFields
        maximumBody = configuration.maximumBody
        names = configuration.retainedHeaders.map { RetainedName(name: $0, bytes: Array($0.utf8)) }
        notedNames = configuration.notedHeaders.map { Array($0.utf8) }
    }
}

/// A header name to keep, as text for the application and as bytes to compare.
struct RetainedName {
    let name: String
    let bytes: [UInt8]
}

extension Span<UInt8> {
    /// What follows the one blank that everybody writes after the colon.
    fileprivate var afterOneBlank: Range<Int> { !isEmpty && self[0] == .blank ? 1..<count : indices }

    /// Case counts here, unlike in a scheme (RFC 9112 section 2.3).
    fileprivate var isHTTPName: Bool {
        self[0] == UInt8(ascii: "H") && self[1] == UInt8(ascii: "T") && self[2] == UInt8(ascii: "T")
            && self[3] == UInt8(ascii: "P") && self[4] == UInt8(ascii: "/")
    }
}
