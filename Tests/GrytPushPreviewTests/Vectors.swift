import FoundationEssentials
import GrytPushPreview
import PushSimulator
import Testing

/// `docs/vectors/preview.json`, which the examples in other languages are held to as well.
enum Vectors {
    /// The entries under this name, of which there are some.
    static func entries(_ name: String) -> [Vector] {
        guard let text = try? text(of: "docs/vectors/preview.json"),
            case .array(let entries)? = JSON(text: text)?[name], !entries.isEmpty
        else { preconditionFailure("docs/vectors/preview.json has no entries under \(name)") }
        return entries.map { Vector(json: $0) }
    }

    /// A file of this repository, found from where this one stands.
    static func text(of path: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }
}

/// One entry.
struct Vector: Sendable, CustomTestStringConvertible {
    let json: JSON

    var testDescription: String { json["name"]?.string ?? json["tag"]?.string ?? "?" }

    func text(_ member: String) throws -> String { try #require(json[member]?.string, "no \(member)") }

    var key: PreviewKey { get throws { try #require(PreviewKey(base64URL: text("key"))) } }

    var tag: PreviewTag { get throws { try #require(PreviewTag(text("tag"))) } }

    /// `{"t":…,"s"?:…,"b":…}`.
    var preview: Preview {
        get throws {
            let preview = try #require(json["preview"])
            return Preview(
                title: try #require(preview["t"]?.string), subtitle: preview["s"]?.string,
                body: try #require(preview["b"]?.string))
        }
    }

    /// `nonce`, which is hex.
    var nonce: [UInt8] {
        get throws {
            let digits = Array(try text("nonce"))
            return try stride(from: 0, to: digits.count, by: 2).map { place in
                try #require(UInt8(String(digits[place...(place + 1)]), radix: 16))
            }
        }
    }

    /// `text`: pieces, each with how often it comes.
    var assembled: String {
        get throws {
            guard case .array(let pieces)? = json["text"] else { throw Malformed() }
            return try pieces.map { piece in
                guard case .array(let parts) = piece, parts.count == 2, let text = parts[0].string,
                    let count = parts[1].integer
                else { throw Malformed() }
                return String(repeating: text, count: Int(count))
            }.joined()
        }
    }

    struct Malformed: Error {}
}

extension OpeningError {
    /// The word of the vectors.
    var word: String {
        switch self {
        case .wrongLength: "wrong_length"
        case .notBase64URL: "not_base64url"
        case .unknownVersion: "unknown_version"
        case .notGenuine: "not_genuine"
        case .notAPreview: "not_a_preview"
        }
    }
}
