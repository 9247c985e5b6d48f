/// Holds a request's head against RFC 9112, stricter where the RFC leaves room, because libmicrohttpd 0.9.75 lets far
/// too much through.
///
/// The library cuts the head into strings *in place*: it puts zeros where a blank, a colon, a CR or an LF stood and
/// hands out pointers between them. So beside the strings themselves their addresses are evidence. In a well-formed
/// head each part begins where the last one and its separator end: one byte after the method, the target and a field's
/// name, two after the version and each value, two more at the end. A bare LF is one byte short; a NUL cuts a string
/// and leaves bytes over; a folded line is moved elsewhere. None of this reads memory, and whatever does not add up is
/// refused: should another release lay out its buffer differently, every request fails, and with it every test.
///
/// What remains unseen: a NUL right before a bare LF at the end of a line looks like CR LF. Empty lines before the
/// request line are skipped (RFC 9112 section 2.2 wants that), and so is a line there that begins with a NUL.
struct RequestHeadCheck {
    private let maximumFields: Int
    private var expectedAddress: UInt
    private let isHTTP11: Bool
    private var hosts = 0
    private var contentLengths = 0
    private var transferEncodings = 0
    private var chunkedCodings = 0
    private var otherCodings = 0
    private var isChunkedLast = false
    private var isTransferEncodingSound = true
    private var refused: HTTPRefusal?

    /// The number of header fields so far.
    private(set) var fields = 0
    /// What `Content-Length` says; a number near `Int.max` where it is larger. Nil without one.
    private(set) var contentLength: Int?
    /// Whether the body comes in chunks.
    var isChunked: Bool { transferEncodings > 0 }

    /// Begins with the request line.
    init(
        method: Span<UInt8>, at methodPlace: Place, target: RequestTarget, version: Span<UInt8>, at versionPlace: Place,
        maximumFields: Int
    ) {
        self.maximumFields = maximumFields
        expectedAddress = versionPlace.end &+ 2
        let isVersion1 = version.count == 8 && version.begins(with: "HTTP/1.")
        isHTTP11 = isVersion1 && version[7] == UInt8(ascii: "1")
        let isVersionKnown = isHTTP11 || isVersion1 && version[7] == UInt8(ascii: "0")
        if !method.isToken || method.equals("connect") {
            refused = .malformed(.method)
        } else if target.place.address != methodPlace.end &+ 1 || versionPlace.address != target.place.end &+ 1 {
            refused = .malformed(.layout)
        } else if !target.isPath {
            refused = .malformed(.target)
        } else if !isVersionKnown {
            refused = .malformed(.version)
        }
    }

    /// Takes one field, in order of arrival. The name and the value end at the first NUL.
    mutating func add(name: Span<UInt8>, at namePlace: Place, value: Span<UInt8>, at valuePlace: Place) {
        fields += 1
        if refused != nil { return }
        // Between the colon and the value the library skips blanks and tabs, nothing else.
        guard namePlace.address == expectedAddress, valuePlace.address > namePlace.end else {
            refused = .malformed(.layout)
            return
        }
        expectedAddress = valuePlace.end &+ 2
        guard fields <= maximumFields else {
            refused = .headersTooLarge
            return
        }
        guard name.isToken else {
            refused = .malformed(.fieldName)
            return
        }
        guard value.isFieldValue else {
            refused = .malformed(.fieldValue)
            return
        }
        switch name.count {
        case 4 where name.equals("host"): addHost(value)
        case 6 where name.equals("expect"): addExpectation(value)
        case 14 where name.equals("content-length"): addContentLength(value)
        case 17 where name.equals("transfer-encoding"): addTransferEncoding(value)
        default: break
        }
    }

    /// The verdict, once all fields are in: nil lets the request pass.
    ///
    /// - Parameter end: the address after the empty line.
    func refusal(end: UInt) -> HTTPRefusal? {
        if let refused { return refused }
        if end != expectedAddress &+ 2 { return .malformed(.layout) }
        if hosts > 1 || (isHTTP11 && hosts == 0) { return .malformed(.host) }
        if contentLengths > 1 { return .malformed(.contentLength) }
        guard transferEncodings > 0 else { return nil }
        if contentLengths > 0 || !isHTTP11 || !isTransferEncodingSound { return .malformed(.transferEncoding) }
        if chunkedCodings > 0 && !isChunkedLast { return .malformed(.transferEncoding) }
        if otherCodings > 0 { return .unsupportedTransferCoding }
        // The library takes only the first line into account, and only if it is this word and nothing else.
        return chunkedCodings == 1 && transferEncodings == 1 ? nil : .malformed(.transferEncoding)
    }

    private mutating func addHost(_ value: Span<UInt8>) {
        hosts += 1
        let range = value.withoutBlanks
        for index in range where !value[index].isHostCharacter { refused = .malformed(.host) }
    }

    private mutating func addExpectation(_ value: Span<UInt8>) {
        // An HTTP/1.0 client cannot expect anything (RFC 9110 section 10.1.1); the library ignores it there too.
        if isHTTP11, !value.equals("100-continue") { refused = .expectationFailed }
    }

    private mutating func addContentLength(_ value: Span<UInt8>) {
        contentLengths += 1
        var length = 0
        for index in value.indices {
            guard case let digit = value[index] &- UInt8(ascii: "0"), digit <= 9 else {
                refused = .malformed(.contentLength)
                return
            }
            let (tenfold, overflowed) = length.multipliedReportingOverflow(by: 10)
            length = overflowed || tenfold > Int.max - 9 ? Int.max - 9 : tenfold + Int(digit)
        }
        if value.isEmpty { refused = .malformed(.contentLength) }
        contentLength = length
    }

    private mutating func addTransferEncoding(_ value: Span<UInt8>) {
        transferEncodings += 1
        var start = 0
        for index in 0...value.count where index == value.count || value[index] == UInt8(ascii: ",") {
            let coding = value.extracting(start..<index)
            let trimmed = coding.extracting(coding.withoutBlanks)
            start = index + 1
            isChunkedLast = trimmed.equals("chunked")
            if isChunkedLast {
                chunkedCodings += 1
            } else if trimmed.isToken {
                otherCodings += 1
            } else {
                isTransferEncodingSound = false
            }
        }
        // `chunked` with a blank after it is not chunked to the library.
        if chunkedCodings > 0, otherCodings == 0, !value.equals("chunked") { isTransferEncodingSound = false }
    }
}

extension Span<UInt8> {
    /// Whether they begin with these very letters.
    fileprivate func begins(with letters: StaticString) -> Bool {
        guard count >= letters.utf8CodeUnitCount else { return false }
        for index in 0..<letters.utf8CodeUnitCount {
            let letter = unsafe letters.utf8Start[index]
            if self[index] != letter { return false }
        }
        return true
    }

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

    /// RFC 9110 section 5.5: visible characters, blanks, tabs and whatever is above ASCII.
    var isFieldValue: Bool {
        for index in indices {
            let byte = self[index]
            guard byte >= 0x20 && byte != 0x7f || byte == 0x09 else { return false }
        }
        return true
    }

    /// The range without blanks and tabs at both ends.
    var withoutBlanks: Range<Int> {
        var range = indices
        while let first = range.first, self[first] == 0x20 || self[first] == 0x09 { range.removeFirst() }
        while let last = range.last, self[last] == 0x20 || self[last] == 0x09 { range.removeLast() }
        return range
    }
}

extension UInt8 {
    var lowercased: UInt8 {
        self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") ? self | 0x20 : self
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

    /// What a host and a port are made of (RFC 3986 section 3.2.2): no user name, no path, no list.
    fileprivate var isHostCharacter: Bool {
        switch self {
        case UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]"): true
        case UInt8(ascii: "#"), UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "|"): false
        default: isTokenCharacter
        }
    }
}
