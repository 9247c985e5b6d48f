/// What a stream of bytes is by `docs/http.md`, written down a second time and without a thought for speed or for bytes
/// that come in pieces. No line of it is the relay's.
struct RequestRulesAgain {
    /// What the front of a stream is.
    enum Verdict: Equatable {
        /// No request yet, and nothing that rules one out.
        case open
        /// A request to be refused, with one of these statuses.
        case refused([Int])
        /// A request, which takes so many bytes.
        case whole(Request, length: Int)
    }

    struct Request: Equatable {
        var method: String
        var path: String
        var query: String?
        var isHTTP11: Bool
        var body: [UInt8]
        /// The values of `authorization` and `x-forwarded-for`, in this order.
        var retained: [String]
        /// Whether the connection is to stay.
        var stays: Bool
    }

    private enum Stop: Error {
        case open
        case refused([Int])
    }

    private static let longestHead = 8192
    private static let longestBody = 8192
    private static let longestExtras = 4096

    private var rest: ArraySlice<UInt8>
    /// What counts towards the bound that holds just now.
    private var used = 0

    /// Judges the front of a stream.
    static func judge(_ stream: ArraySlice<UInt8>) -> Verdict {
        var rules = RequestRulesAgain(rest: stream)
        do throws(Stop) {
            let request = try rules.request()
            return .whole(request, length: stream.count - rules.rest.count)
        } catch {
            switch error {
            case .open: return .open
            case .refused(let statuses): return .refused(statuses)
            }
        }
    }

    /// Judges all of a stream: the requests in it, and what ends them.
    static func judgeAll(_ stream: [UInt8]) -> [Verdict] {
        var verdicts: [Verdict] = []
        var rest = stream[...]
        while true {
            let verdict = judge(rest)
            verdicts.append(verdict)
            guard case .whole(_, let length) = verdict else { return verdicts }
            rest = rest.dropFirst(length)
        }
    }

    // MARK: Lines

    private mutating func line(bound: Int, status: Int) throws(Stop) -> [UInt8] {
        let end = rest.firstIndex(of: 0x0A)
        let line = end.map { rest[...$0] } ?? rest
        try require(used + line.count <= bound, status)
        guard end != nil else { throw .open }
        used += line.count
        rest = rest.dropFirst(line.count)
        try require(line.count >= 2 && line[line.endIndex - 2] == 0x0D)
        return Array(line.dropLast(2))
    }

    private func require(_ holds: Bool, _ statuses: Int...) throws(Stop) {
        if !holds { throw .refused(statuses.isEmpty ? [400] : statuses) }
    }

    // MARK: The head

    private mutating func request() throws(Stop) -> Request {
        var first: [UInt8] = []
        repeat {
            if let byte = rest.first {
                let second = rest.dropFirst().first
                try require(byte == 0x0D && (second == nil || second == 0x0A) || [byte].isToken)
            }
            first = try line(bound: Self.longestHead, status: 414)
        } while first.isEmpty
        var request = try requestLine(first)
        let fields = try fields(isHTTP11: request.isHTTP11)
        let options = fields.values("connection").flatMap { $0.split(separator: 0x2C) }
            .map { Array($0).trimmed.lowercased }
        request.stays = !options.contains("close") && (request.isHTTP11 || options.contains("keep-alive"))
        for name in ["authorization", "x-forwarded-for"] {
            request.retained += fields.values(name).map(\.trimmed.text)
        }
        let codings = fields.values("transfer-encoding")
        if codings.isEmpty {
            let digits = fields.values("content-length").first.map(\.withoutOneBlank.text) ?? "0"
            let significant = digits.drop { $0 == "0" }
            try require(significant.utf8.count <= 4, 413)
            let length = Int(digits.suffix(4)) ?? 0
            try require(length <= Self.longestBody, 413)
            request.body = try take(length)
        } else {
            try require(request.isHTTP11 && fields.values("content-length").isEmpty)
            try checkCodings(codings)
            request.body = try chunks()
        }
        return request
    }

    private func requestLine(_ line: [UInt8]) throws(Stop) -> Request {
        let words = line.split(separator: 0x20, omittingEmptySubsequences: false).map(Array.init)
        let method = words[0].text
        try require(words[0].isToken && words[0].lowercased != "connect" && words.count >= 3)
        let version = words[words.count - 1]
        try require("HTTP/0.0".utf8.elementsEqual(version.map { (0x30...0x39).contains($0) ? 0x30 : $0 }))
        try require(["HTTP/1.0", "HTTP/1.1"].contains(version.text), 505)
        let target = words[1]
        try require(words.count == 3 && target.first == UInt8(ascii: "/"))
        try require(target.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") })
        let parts = target.text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        return Request(
            method: method, path: parts[0], query: parts.count == 2 ? parts[1] : nil,
            isHTTP11: version.text == "HTTP/1.1", body: [], retained: [], stays: true)
    }

    private struct Fields {
        var all: [(name: String, value: [UInt8])] = []

        func values(_ name: String) -> [[UInt8]] { all.filter { $0.name == name }.map(\.value) }
    }

    private mutating func fields(isHTTP11: Bool) throws(Stop) -> Fields {
        var fields = Fields()
        while true {
            let line = try line(bound: Self.longestHead, status: 431)
            if line.isEmpty { break }
            try require(fields.all.count < 100, 431)
            let (name, value) = try field(line)
            fields.all.append((name, value))
            let count = fields.values(name).count
            switch name {
            case "host": try require(count == 1 && value.trimmed.isHost)
            case "content-length":
                let digits = value.withoutOneBlank
                try require(count == 1 && !digits.isEmpty && digits.allSatisfy { (0x30...0x39).contains($0) })
            case "expect": try require(!isHTTP11 || value.trimmed.lowercased == "100-continue", 417)
            default: break
            }
        }
        try require(!isHTTP11 || !fields.values("host").isEmpty)
        return fields
    }

    private func field(_ line: [UInt8]) throws(Stop) -> (String, [UInt8]) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { throw .refused([400]) }
        let name = Array(line[..<colon])
        let value = Array(line[(colon + 1)...])
        try require(name.isToken && value.isVisible)
        return (name.lowercased, value)
    }

    private func checkCodings(_ values: [[UInt8]]) throws(Stop) {
        if values.count == 1, values[0].withoutOneBlank.lowercased == "chunked" { return }
        let codings = values.flatMap { $0.split(separator: 0x2C, omittingEmptySubsequences: false) }
            .map { Array($0).trimmed }
        try require(codings.allSatisfy(\.isToken))
        let names = codings.map(\.lowercased)
        if !names.contains("chunked") { throw .refused([501]) }
        // Two faults, or one: which of them is named is left open.
        throw .refused(names.last == "chunked" && names.contains { $0 != "chunked" } ? [400, 501] : [400])
    }

    // MARK: The body

    private mutating func take(_ count: Int) throws(Stop) -> [UInt8] {
        guard rest.count >= count else { throw .open }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    private mutating func chunks() throws(Stop) -> [UInt8] {
        var body: [UInt8] = []
        var extras = 0
        while true {
            used = extras
            let line = try line(bound: Self.longestExtras, status: 400)
            let digits = line.prefix { Array("0123456789abcdefABCDEF".utf8).contains($0) }
            let extensions = Array(line.dropFirst(digits.count))
            try require((1...16).contains(digits.count))
            try require(extensions.isEmpty || extensions[0] == UInt8(ascii: ";") && extensions.isVisible)
            extras += extensions.count
            let significant = Array(digits).text.drop { $0 == "0" }
            try require(significant.utf8.count <= 4, 413)
            let size = Int(significant, radix: 16) ?? 0
            try require(body.count + size <= Self.longestBody, 413)
            if size == 0 { break }
            body += try take(size)
            let end = rest.prefix(2)
            try require(Array("\r\n".utf8).starts(with: end))
            guard end.count == 2 else { throw .open }
            rest = rest.dropFirst(2)
        }
        used = extras
        while true {
            let line = try line(bound: Self.longestExtras, status: 400)
            if line.isEmpty { return body }
            let (name, _) = try field(line)
            try require(!["content-length", "transfer-encoding", "host", "authorization"].contains(name))
        }
    }
}

extension [UInt8] {
    fileprivate var isToken: Bool {
        let letters = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8
        return !isEmpty && allSatisfy { letters.contains($0) }
    }

    /// As text, with small letters in ASCII only.
    fileprivate var lowercased: String { map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }.text }

    /// Without control characters, but for tabs.
    fileprivate var isVisible: Bool { allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 } }

    fileprivate var withoutOneBlank: [UInt8] { first == 0x20 ? Array(dropFirst()) : self }

    fileprivate var trimmed: [UInt8] {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        return Array(drop(while: isBlank).reversed().drop(while: isBlank).reversed())
    }

    /// A host and perhaps a port, or nothing (RFC 3986 section 3.2.2).
    fileprivate var isHost: Bool {
        var host = self[...]
        if let colon = lastIndex(of: UInt8(ascii: ":")), !self[colon...].contains(UInt8(ascii: "]")) {
            host = self[..<colon]
            guard !host.isEmpty, self[(colon + 1)...].allSatisfy({ (0x30...0x39).contains($0) }) else { return false }
        }
        let letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
        if host.first == UInt8(ascii: "[") {
            let literal = "0123456789abcdefABCDEF:.".utf8
            return host.count > 2 && host.last == UInt8(ascii: "]")
                && host.dropFirst().dropLast().allSatisfy { literal.contains($0) }
        }
        return host.allSatisfy { (letters + "-._~%!$&'*+").utf8.contains($0) }
    }
}
