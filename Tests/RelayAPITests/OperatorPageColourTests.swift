import Glibc
import Testing

@testable import RelayAPI

/// The colours of the stylesheet, held to what WCAG 2.2 asks for (1.4.3, 1.4.11).
@Suite(.timeLimit(.minutes(1)))
struct OperatorPageColourTests {
    /// The colours by name, of the light or the dark theme.
    private func colours(dark: Bool) throws -> [String: Double] {
        let blocks = PageStyle.text.split(separator: ":root{", omittingEmptySubsequences: false).dropFirst().map {
            $0.prefix { $0 != "}" }
        }
        try #require(blocks.count == 2)
        var luminances: [String: Double] = [:]
        for declaration in blocks[dark ? 1 : 0].split(whereSeparator: { $0 == ";" || $0 == "\n" }) {
            let parts = declaration.split(separator: ":")
            guard parts.count == 2, parts[0].hasPrefix("--"), parts[1].hasPrefix("#") else { continue }
            var digits = String(parts[1].dropFirst())
            if digits.count == 3 { digits = digits.map { "\($0)\($0)" }.joined() }
            luminances[String(parts[0].dropFirst(2))] = luminance(try #require(Int(digits, radix: 16)))
        }
        return luminances
    }

    /// Relative luminance, as WCAG defines it.
    private func luminance(_ colour: Int) -> Double {
        let channels: [Double] = [16, 8, 0].map { (shift: Int) in
            let share = Double(colour >> shift & 0xFF) / 255
            return share <= 0.04045 ? share / 12.92 : pow((share + 0.055) / 1.055, 2.4)
        }
        return 0.2126 * channels[0] + 0.7152 * channels[1] + 0.0722 * channels[2]
    }

    private func contrast(_ a: Double, _ b: Double) -> Double { (max(a, b) + 0.05) / (min(a, b) + 0.05) }

    @Test(arguments: [false, true])
    func `text can be read, areas can be seen, and neighbours in a stack can be told apart in grey`(
        dark: Bool
    ) throws {
        let colours = try colours(dark: dark)
        func between(_ a: String, _ b: String) throws -> Double {
            contrast(try #require(colours[a], "\(a)"), try #require(colours[b], "\(b)"))
        }
        for ground in ["page", "card"] {
            for text in ["ink", "quiet", "link", "fine", "watch", "broken"] {
                #expect(try between(text, ground) >= 4.5, "\(text) on \(ground)")
            }
        }
        for area in ["message", "mention", "dm", "unknown", "ios", "android", "strong"] {
            #expect(try between(area, "card") >= 3, "\(area)")
        }
        for (lower, upper) in [("message", "mention"), ("mention", "dm"), ("message", "dm"), ("ios", "android")] {
            #expect(try between(lower, upper) >= 1.4, "\(lower) below \(upper)")
        }
    }
}
