/// PEM (RFC 7468) as operators really hand it over: through environment variables, YAML, shells and Windows editors.
package enum PEMText {
    /// The text with one LF after each line and nothing around it, its base64 wrapped at 64 columns.
    ///
    /// What it mends: a byte order mark, quotes around the whole, `\n` written as two characters, CRLF and CR, blanks
    /// at either end of a line, and a body whose line breaks became blanks or were lost. What stands outside of
    /// `-----BEGIN …-----` and `-----END …-----` is explanatory text and dropped. A text without a block comes back
    /// empty, so that the reader says that it is no PEM.
    package static func normalised(_ text: String) -> String {
        var lines: [String] = []
        for block in blocks(of: text) {
            lines.append("-----BEGIN \(block.label)-----")
            lines.append(contentsOf: block.bodyLines)
            lines.append("-----END \(block.label)-----")
        }
        return lines.isEmpty ? "" : lines.joined(separator: "\n") + "\n"
    }

    /// One block of a PEM text. Its body may be a secret: it goes to OpenSSL and nowhere else.
    struct Block {
        /// What stands between `BEGIN` and the dashes.
        var label: String
        /// The lines between the boundaries.
        var bodyLines: [String]
        /// Whether RFC 1421 headers stand before the base64, as OpenSSL writes for an old-style encrypted key.
        var hasHeaders: Bool
    }

    /// The blocks in the order they come. A block that never ends, or ends under another label, is none.
    static func blocks(of text: String) -> [Block] {
        var blocks: [Block] = []
        var rest = Substring(unescaped(text))
        while let begin = rest.firstRange(of: "-----BEGIN ") {
            rest = rest[begin.upperBound...]
            guard let dashes = rest.firstRange(of: "-----") else { break }
            let label = String(rest[..<dashes.lowerBound])
            let afterLabel = rest[dashes.upperBound...]
            guard !label.contains("\n"), let end = afterLabel.firstRange(of: "-----END \(label)-----") else { continue }
            let body = afterLabel[..<end.lowerBound]
            guard !body.contains("-----BEGIN ") else { continue }
            let hasHeaders = body.contains(":")
            blocks.append(
                Block(label: label, bodyLines: hasHeaders ? trimmedLines(body) : wrapped(body), hasHeaders: hasHeaders))
            rest = afterLabel[end.upperBound...]
        }
        return blocks
    }

    /// `\n` and `\r` written out, even twice escaped, become line ends; so do CRLF and CR. Other backslashes go.
    private static func unescaped(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        var isEscaped = false
        var followsReturn = false
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\":
                isEscaped = true
                continue
            case "\r",
                "r" where isEscaped:
                result.append("\n")
                followsReturn = true
                isEscaped = false
                continue
            case "\n",
                "n" where isEscaped:
                if !followsReturn { result.append("\n") }
            default:
                result.append(scalar)
            }
            isEscaped = false
            followsReturn = false
        }
        return String(result)
    }

    private static func trimmedLines(_ body: Substring) -> [String] {
        let lines = body.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let start = line.drop(while: \.isWhitespace)
            guard let last = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
            return String(start[...last])
        }
        guard let first = lines.firstIndex(where: { !$0.isEmpty }), let last = lines.lastIndex(where: { !$0.isEmpty })
        else { return [] }
        return Array(lines[first...last])
    }

    private static func wrapped(_ body: Substring) -> [String] {
        let characters = body.utf8.filter { $0 > UInt8(ascii: " ") }
        return stride(from: 0, to: characters.count, by: 64).map { start in
            String(decoding: characters[start..<min(start + 64, characters.count)], as: UTF8.self)
        }
    }
}
