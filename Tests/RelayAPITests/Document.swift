import FoundationEssentials
import Testing

/// A document of this repository, as far as its tables are concerned.
struct Document {
    private let lines: [Substring]

    /// `docs/errors.md`.
    static var errors: Document { get throws { try Document("docs/errors.md") } }

    /// `docs/for-servers.md`.
    static var forServers: Document { get throws { try Document("docs/for-servers.md") } }

    /// Found from where this file stands.
    private init(_ path: String) throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
        lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    }

    /// The cells of each row of the table under a heading, without the head of the table and without backticks around a
    /// whole cell.
    func rows(under heading: String) throws -> [[String]] {
        let start = try #require(lines.firstIndex(of: "## \(heading)"), "no heading \(heading)")
        let section = lines[(start + 1)...].prefix { !$0.hasPrefix("## ") }
        return section.filter { $0.hasPrefix("|") }.dropFirst(2).map { line in
            line.split(separator: "|").map { cell in
                let trimmed = cell.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()
                let text = String(trimmed)
                return text.count > 2 && text.hasPrefix("`") && !text.dropFirst().dropLast().contains("`")
                    ? String(text.dropFirst().dropLast()) : text
            }
        }
    }
}
