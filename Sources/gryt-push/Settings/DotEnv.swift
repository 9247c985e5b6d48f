/// A `.env` file: lines of `NAME=value` that stand in for the environment.
///
/// There is no standard for these files. What is read here is what the files in the field contain:
/// - blank lines, lines that begin with `#`, and `export ` before a name are skipped;
/// - a value without quotes ends with its line or before a blank and `#`, and blanks around it are dropped;
/// - a value in `'…'` is taken as it stands, over several lines too;
/// - a value in `"…"` may go over several lines, and `\n`, `\r`, `\t`, `\"`, `\\` and `\$` are what they mean in a shell's
///   or a JSON text; any other backslash stays;
/// - nothing is put in for `$NAME`;
/// - CRLF counts as a line's end, and a byte order mark is dropped.
struct DotEnv {
    /// The last value of each name.
    private(set) var values: [String: String] = [:]
    /// Names with more than one value.
    private(set) var duplicates: [String] = []
    /// Lines that are none of the above. The variable is the place in the file.
    private(set) var faults: [SettingsFault] = []

    private let text: [Unicode.Scalar]
    private var position = 0
    private var line = 1

    init(_ text: String) {
        var scalars = Array(text.unicodeScalars)
        if scalars.first == "\u{FEFF}" { scalars.removeFirst() }
        // Character by character a CRLF would be one; scalar by scalar it is a CR that can go.
        self.text = scalars.indices.compactMap { index in
            scalars[index] == "\r" && index + 1 < scalars.count && scalars[index + 1] == "\n" ? nil : scalars[index]
        }
        while position < self.text.count { readLine() }
    }

    private var next: Unicode.Scalar? { position < text.count ? text[position] : nil }

    private mutating func readLine() {
        let number = line
        skipBlanks()
        guard let first = next, first != "\n", first != "#" else { return skipLine() }
        var name = takeName()
        if name == "export", next?.isBlank == true {
            skipBlanks()
            name = takeName()
        }
        skipBlanks()
        guard !name.isEmpty, next == "=" else {
            return fail(number, "not of the form NAME=value")
        }
        position += 1
        skipBlanks()
        let value: String
        switch next {
        case "\"", "'":
            guard let quoted = takeQuoted() else { return fail(number, "\(name) has a quote that does not end") }
            skipBlanks()
            guard next == nil || next == "\n" || next == "#" else {
                return fail(number, "\(name) has something behind the closing quote")
            }
            value = quoted
        default: value = takeBare()
        }
        skipLine()
        if values.updateValue(value, forKey: name) != nil, !duplicates.contains(name) { duplicates.append(name) }
    }

    private mutating func fail(_ line: Int, _ reason: String) {
        faults.append(SettingsFault(variable: ".env line \(line)", reason: reason))
        skipLine()
    }

    private mutating func skipLine() {
        while let scalar = next, scalar != "\n" { position += 1 }
        position += 1
        line += 1
    }

    private mutating func skipBlanks() {
        while next?.isBlank == true { position += 1 }
    }

    private mutating func takeName() -> String {
        let start = position
        while let scalar = next, scalar.isNamePart(first: position == start) { position += 1 }
        return string(text[start..<position])
    }

    private mutating func takeBare() -> String {
        let start = position
        while let scalar = next, scalar != "\n" {
            if scalar == "#", position == start || text[position - 1].isBlank { break }
            position += 1
        }
        var value = text[start..<position]
        while value.last?.isBlank == true { value.removeLast() }
        return string(value)
    }

    /// What stands between quotes; nil, with nothing but the first line read, when the closing one is missing.
    private mutating func takeQuoted() -> String? {
        let start = position
        let startLine = line
        let quote = text[position]
        var value: [Unicode.Scalar] = []
        position += 1
        while let scalar = next {
            position += 1
            if scalar == quote { return string(value[...]) }
            if scalar == "\n" { line += 1 }
            if scalar == "\\", quote == "\"", let escaped = next {
                position += 1
                switch escaped {
                case "n": value.append("\n")
                case "r": value.append("\r")
                case "t": value.append("\t")
                case "\"", "\\", "$": value.append(escaped)
                default:
                    value.append("\\")
                    // Not an escape: looked at again, for it may end a line.
                    position -= 1
                }
            } else {
                value.append(scalar)
            }
        }
        position = start
        line = startLine
        return nil
    }

    private func string(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars)
        return String(view)
    }
}

extension Unicode.Scalar {
    fileprivate var isBlank: Bool { self == " " || self == "\t" || self == "\r" }

    fileprivate func isNamePart(first: Bool) -> Bool {
        switch self {
        case "A"..."Z", "a"..."z", "_": true
        case "0"..."9": !first
        default: false
        }
    }
}
