#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A preview as JSON: `{"t":title,"s":subtitle,"b":body}` in this order, without blanks, and with no escape that is not
/// needed. Encoders of other languages write the same bytes, and a length is known before anything is written.
enum PreviewText {
    /// The JSON, as it is sealed.
    static func encode(_ preview: Preview) -> [UInt8] {
        var json = Array(#"{"t":"#.utf8)
        append(preview.title, to: &json)
        if let subtitle = preview.subtitle {
            json += Array(#","s":"#.utf8)
            append(subtitle, to: &json)
        }
        json += Array(#","b":"#.utf8)
        append(preview.body, to: &json)
        return json + Array("}".utf8)
    }

    /// Reads what any encoder may have written; nil unless it is an object with texts for `t` and `b`, and for `s` a text
    /// or nothing. Other members are passed over.
    static func decode(_ json: [UInt8]) -> Preview? {
        guard let members = try? JSONDecoder().decode(Members.self, from: Data(json)) else { return nil }
        return Preview(title: members.t, subtitle: members.s, body: members.b)
    }

    private struct Members: Decodable {
        let t: String
        let s: String?
        let b: String
    }

    /// How many bytes ``encode(_:)`` makes.
    static func length(of preview: Preview) -> Int {
        let frame = preview.subtitle == nil ? #"{"t":"","b":""}"# : #"{"t":"","s":"","b":""}"#
        return frame.utf8.count + length(of: preview.title) + length(of: preview.subtitle ?? "")
            + length(of: preview.body)
    }

    /// How many bytes a text has within a JSON string.
    static func length(of text: String) -> Int {
        text.utf8.reduce(0) { $0 + (escape(of: $1)?.utf8.count ?? 1) }
    }

    private static func append(_ text: String, to json: inout [UInt8]) {
        json.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            if let escape = escape(of: byte) { json += Array(escape.utf8) } else { json.append(byte) }
        }
        json.append(UInt8(ascii: "\""))
    }

    /// RFC 8259 section 7: the quote, the backslash and what is below a blank; nil for a byte that stands for itself.
    private static func escape(of byte: UInt8) -> String? {
        switch byte {
        case UInt8(ascii: "\""): #"\""#
        case UInt8(ascii: "\\"): #"\\"#
        case 0x08: #"\b"#
        case 0x09: #"\t"#
        case 0x0A: #"\n"#
        case 0x0C: #"\f"#
        case 0x0D: #"\r"#
        case 0..<0x10: #"\u000"# + String(byte, radix: 16)
        case 0x10..<0x20: #"\u00"# + String(byte, radix: 16)
        default: nil
        }
    }
}
