@testable import HTTPServer

/// A request's head, cut at its line ends as the library does it, to the check: what passes must also pass the rules of
/// RFC 9112 as they are written down here, and what is in order by these must pass.
enum RequestHeadTarget {
    static func take(_ bytes: [UInt8]) {
        let head = Head(bytes)
        guard let head else { return }
        let target = RequestTarget(head.target.bytes.span, at: head.target.place)
        var check = RequestHeadCheck(
            method: head.method.bytes.span, at: Place(head.method), target: target,
            version: head.version.bytes.span, at: Place(head.version), maximumFields: 100)
        for field in head.fields {
            check.add(
                name: field.name.bytes.span, at: Place(field.name), value: field.value.bytes.span,
                at: Place(field.value))
        }
        let refusal = check.refusal(end: head.end)
        expect((refusal == nil) == isSound(head), "a head passes if it is sound, and only then: \(refusal as Any)")
        if refusal == nil {
            expect(check.isChunked || check.contentLength != nil || !head.hasBody, "the body's end is known")
            expect(target.path.utf8.first == UInt8(ascii: "/"), "a path begins with a slash")
            let whole = target.path + (target.query.map { "?" + $0 } ?? "")
            expect(Array(whole.utf8) == head.target.bytes, "path and query are the target")
        }
    }

    /// The rules once more, over the texts of the whole lines.
    private static func isSound(_ head: Head) -> Bool {
        let version = head.version.bytes.text
        let fields = head.fields.map { (name: $0.name.bytes.text.lowercased(), value: $0.value.bytes) }
        let values = { (name: String) in fields.filter { $0.name == name }.map(\.value.text) }
        let token = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz".utf8
        let isToken = { (bytes: [UInt8]) in !bytes.isEmpty && bytes.allSatisfy { token.contains($0.lowercased) } }
        guard ["HTTP/1.1", "HTTP/1.0"].contains(version), isToken(head.method.bytes),
            head.method.bytes.text.uppercased() != "CONNECT", head.target.bytes.first == UInt8(ascii: "/"),
            head.target.bytes.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") }),
            fields.count <= 100,
            head.fields.allSatisfy({ isToken($0.name.bytes) }),
            fields.allSatisfy({ $0.value.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 9 } })
        else { return false }
        let hosts = values("host")
        guard hosts.count == 1 || hosts.isEmpty && version == "HTTP/1.0" else { return false }
        let hostLetters = "!$%&'*+-.~_:[]0123456789abcdefghijklmnopqrstuvwxyz".utf8
        let host = (hosts.first ?? "").utf8.drop { $0 == 0x20 || $0 == 9 }
        let hostEnd = host.lastIndex { $0 != 0x20 && $0 != 9 }
        if let hostEnd, !host[...hostEnd].allSatisfy({ hostLetters.contains($0.lowercased) }) { return false }
        if version == "HTTP/1.1", values("expect").contains(where: { $0.lowercased() != "100-continue" }) {
            return false
        }
        let lengths = values("content-length")
        let codings = values("transfer-encoding")
        guard lengths.count <= 1, lengths.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { (48...57).contains($0) } })
        else { return false }
        if codings.isEmpty { return true }
        return lengths.isEmpty && version == "HTTP/1.1" && codings.count == 1 && codings[0].lowercased() == "chunked"
    }
}

/// A head as the library would hand it over: each part with the place where it would stand.
private struct Head {
    struct Part {
        var bytes: [UInt8]
        var place: UInt
    }

    var method: Part
    var target: Part
    var version: Part
    var fields: [(name: Part, value: Part)] = []
    var end: UInt

    var hasBody: Bool {
        fields.contains { ["content-length", "transfer-encoding"].contains($0.name.bytes.text.lowercased()) }
    }

    /// Nil where the lines are not of the shape that the library would take.
    init?(_ bytes: [UInt8]) {
        var place: UInt = 4096
        var lines: [Part] = []
        for line in bytes.text.split(separator: "\n", omittingEmptySubsequences: false) {
            // What the library never hands on: a part ends at the first NUL.
            guard !line.utf8.contains(0) else { return nil }
            lines.append(Part(bytes: Array(line.utf8), place: place))
            place += UInt(line.utf8.count) + 2
        }
        guard let first = lines.first else { return nil }
        let words = first.bytes.split(separator: 0x20, omittingEmptySubsequences: false).map(Array.init)
        guard words.count == 3 else { return nil }
        method = Part(bytes: words[0], place: first.place)
        target = Part(bytes: words[1], place: method.place + UInt(words[0].count) + 1)
        version = Part(bytes: words[2], place: target.place + UInt(words[1].count) + 1)
        for line in lines.dropFirst() {
            guard let colon = line.bytes.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            let name = Part(bytes: Array(line.bytes[..<colon]), place: line.place)
            let value = line.bytes[(colon + 1)...].drop { $0 == 0x20 || $0 == 0x09 }
            fields.append((name, Part(bytes: Array(value), place: line.place + UInt(value.startIndex))))
        }
        end = place + 2
    }
}

extension Place {
    fileprivate init(_ part: Head.Part) { self.init(address: part.place, length: part.bytes.count) }
}
