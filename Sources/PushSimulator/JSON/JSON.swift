/// A JSON value (RFC 8259), with numbers as they were written and members in the order in which they came.
///
/// The simulator reads JSON by its own means, so that a mistake of the relay's encoder and a decoder of the same house
/// cannot cancel out; and it must tell an integer from a string and name the place of a fault.
package indirect enum JSON: Sendable, Equatable {
    case null
    case bool(Bool)
    /// The digits as written.
    case number(String)
    case string(String)
    case array([JSON])
    case object([Member])

    /// One name of an object and what it stands for.
    package struct Member: Sendable, Equatable {
        /// The name, unescaped.
        package var name: String
        /// What the name stands for.
        package var value: JSON

        package init(_ name: String, _ value: JSON) {
            self.name = name
            self.value = value
        }
    }

    /// Reads a whole text; nil when it is not exactly one JSON value in valid UTF-8, or nested deeper than 64.
    package init?(_ bytes: [UInt8]) {
        guard let value = JSONReader.read(bytes) else { return nil }
        self = value
    }

    /// Reads a whole text; see ``init(_:)-([UInt8])``.
    package init?(text: String) {
        self.init(Array(text.utf8))
    }

    /// The members of an object; nil for anything else.
    package var members: [Member]? {
        if case .object(let members) = self { members } else { nil }
    }

    /// The text of a string; nil for anything else.
    package var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The value of a number without fraction or exponent; nil for anything else.
    package var integer: Int64? {
        if case .number(let text) = self { Int64(text) } else { nil }
    }

    /// The last member of this name; nil when there is none or this is no object.
    package subscript(_ name: String) -> JSON? {
        members?.last { $0.name == name }?.value
    }

    /// The shortest text of the value.
    package var text: String {
        var text = ""
        write(to: &text)
        return text
    }

    private func write(to text: inout String) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .number(let digits): text += digits
        case .string(let value): Self.write(value, to: &text)
        case .array(let values):
            text += "["
            for (index, value) in values.enumerated() {
                if index > 0 { text += "," }
                value.write(to: &text)
            }
            text += "]"
        case .object(let members):
            text += "{"
            for (index, member) in members.enumerated() {
                if index > 0 { text += "," }
                Self.write(member.name, to: &text)
                text += ":"
                member.value.write(to: &text)
            }
            text += "}"
        }
    }

    private static func write(_ string: String, to text: inout String) {
        text += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            default:
                if scalar.value < 0x20 {
                    let digits = String(scalar.value, radix: 16)
                    text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                } else {
                    text.unicodeScalars.append(scalar)
                }
            }
        }
        text += "\""
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(integerLiteral value: Int64) { self = .number(String(value)) }
    package init(arrayLiteral elements: JSON...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(elements.map { Member($0.0, $0.1) })
    }

    /// A number without fraction.
    package init(_ value: some BinaryInteger) { self = .number(String(value)) }
}
