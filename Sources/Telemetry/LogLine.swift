/// How much a line matters. Raw values are the words of the setting and of the lines.
package enum LogLevel: String, Sendable, CaseIterable, Comparable {
    /// For whoever hunts a fault; never needed to run the relay.
    case debug
    /// What happened in the ordinary run of things.
    case info
    /// Something an operator should look at when there is time.
    case warning
    /// Something an operator must look at.
    case error

    package static func < (left: LogLevel, right: LogLevel) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .debug: 0
        case .info: 1
        case .warning: 2
        case .error: 3
        }
    }
}

/// How lines are written. Raw values are the words of the setting.
package enum LogFormat: String, Sendable, CaseIterable {
    /// `time=… level=info event=started port=8080`
    case logfmt
    /// One JSON object a line (RFC 8259).
    case json
}

/// What a log line says about one thing. There is no way to put in a string by accident: it is a number, a word from
/// the program's text, a case of an enum, or a string for which somebody wrote ``disclosed(_:)``.
package enum LogValue: Sendable, Hashable {
    /// A whole number.
    case number(Int)
    /// Yes or no.
    case flag(Bool)
    /// Any text; made by the functions below, which say where it may come from.
    case text(String)

    /// A word that stands in the program's text.
    package static func word(_ word: StaticString) -> LogValue { .text(word.description) }

    /// A case of an enum, by its raw value.
    package static func label(_ label: some RawRepresentable<String>) -> LogValue { .text(label.rawValue) }

    /// A duration in whole milliseconds, rounded towards zero.
    package static func milliseconds(_ duration: Duration) -> LogValue {
        let parts = duration.components
        return .number(Int(clamping: parts.seconds * 1000 + parts.attoseconds / 1_000_000_000_000_000))
    }

    /// A string that the writer of the call vouches for: what the operator set himself and is no secret, or what the
    /// system said. Never anything that came with a request.
    package static func disclosed(_ text: String) -> LogValue { .text(text) }
}

/// A name and what a log line says about it.
package struct LogField: Sendable, Hashable {
    /// Letters, digits and underscores.
    package let key: String
    /// What is said.
    package let value: LogValue

    package init(_ key: StaticString, _ value: LogValue) {
        self.key = key.description
        self.value = value
    }

    package init(_ key: StaticString, _ number: some BinaryInteger) {
        self.init(key, .number(Int(clamping: number)))
    }

    package init(_ key: StaticString, _ flag: Bool) {
        self.init(key, .flag(flag))
    }

    package init(_ key: StaticString, _ word: StaticString) {
        self.init(key, .word(word))
    }
}

/// A line in the making.
struct LogLine {
    /// The longest line, newline and all. A pipe takes this much whole or not at all (PIPE_BUF, pipe(7)).
    static let longest = 4096
    private static let longestValue = 512

    private let format: LogFormat
    private(set) var bytes: [UInt8] = []

    /// Begins with time (milliseconds since 1970), level and event.
    init(_ format: LogFormat, milliseconds: Int64, level: LogLevel, event: String) {
        self.format = format
        bytes.reserveCapacity(256)
        if format == .json { bytes.append(UInt8(ascii: "{")) }
        appendKey("time", isFirst: true)
        if format == .json { bytes.append(UInt8(ascii: "\"")) }
        bytes.append(contentsOf: Timestamp.text(milliseconds: milliseconds).utf8)
        if format == .json { bytes.append(UInt8(ascii: "\"")) }
        append(LogField("level", .label(level)))
        append(LogField("event", .text(event)))
    }

    /// Adds a field; leaves it out when the line would grow too long.
    mutating func append(_ field: LogField) {
        let before = bytes.count
        appendKey(field.key, isFirst: false)
        switch field.value {
        case .number(let number): bytes.append(contentsOf: String(number).utf8)
        case .flag(let flag): bytes.append(contentsOf: (flag ? "true" : "false").utf8)
        case .text(let text): appendText(text)
        }
        if bytes.count > Self.longest - 2 { bytes.removeLast(bytes.count - before) }
    }

    /// Ends the line.
    consuming func finished() -> [UInt8] {
        if format == .json { bytes.append(UInt8(ascii: "}")) }
        bytes.append(UInt8(ascii: "\n"))
        return bytes
    }

    private mutating func appendKey(_ key: String, isFirst: Bool) {
        switch format {
        case .logfmt:
            if !isFirst { bytes.append(UInt8(ascii: " ")) }
            bytes.append(contentsOf: key.utf8)
            bytes.append(UInt8(ascii: "="))
        case .json:
            if !isFirst { bytes.append(UInt8(ascii: ",")) }
            bytes.append(UInt8(ascii: "\""))
            bytes.append(contentsOf: key.utf8)
            bytes.append(contentsOf: "\":".utf8)
        }
    }

    private mutating func appendText(_ text: String) {
        let needsQuotes = format == .json || text.isEmpty || !text.utf8.allSatisfy(\.isBareInLogfmt)
        if needsQuotes { bytes.append(UInt8(ascii: "\"")) }
        let start = bytes.count
        for scalar in text.unicodeScalars {
            if bytes.count - start > Self.longestValue {
                bytes.append(contentsOf: "…".utf8)
                break
            }
            appendEscaped(scalar)
        }
        if needsQuotes { bytes.append(UInt8(ascii: "\"")) }
    }

    private mutating func appendEscaped(_ scalar: Unicode.Scalar) {
        switch scalar {
        case "\"": bytes.append(contentsOf: "\\\"".utf8)
        case "\\": bytes.append(contentsOf: "\\\\".utf8)
        case "\n": bytes.append(contentsOf: "\\n".utf8)
        case "\r": bytes.append(contentsOf: "\\r".utf8)
        case "\t": bytes.append(contentsOf: "\\t".utf8)
        case "\0"..<" ", "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}":
            // C0 and C1 controls would reach a terminal; the two separators end a line for some readers.
            let digits = String(scalar.value, radix: 16)
            bytes.append(contentsOf: "\\u".utf8)
            bytes.append(contentsOf: String(repeating: "0", count: 4 - digits.count).utf8)
            bytes.append(contentsOf: digits.utf8)
        default: bytes.append(contentsOf: String(scalar).utf8)
        }
    }
}

extension UInt8 {
    /// Whether a value made only of such bytes needs no quotes in logfmt.
    fileprivate var isBareInLogfmt: Bool {
        self > UInt8(ascii: " ") && self < 0x7F && self != UInt8(ascii: "\"") && self != UInt8(ascii: "=")
            && self != UInt8(ascii: "\\")
    }
}
