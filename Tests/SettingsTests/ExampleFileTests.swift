import Limits
import Testing

@testable import gryt_push

/// `.env.example` is documentation that a test can read.
@Suite(.timeLimit(.minutes(1)))
struct ExampleFileTests {
    private let text: String

    init() throws {
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        text = String(decoding: try SystemFile.read("/\(root)/.env.example"), as: UTF8.self)
    }

    @Test func `it names exactly the settings there are, each once, each under a comment`() {
        let file = DotEnv(text)
        #expect(file.faults.isEmpty)
        #expect(file.duplicates.isEmpty)
        #expect(Set(file.values.keys) == Set(Settings.names))
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        for (before, line) in zip(lines, lines.dropFirst()) where line.contains("=") && !line.hasPrefix("#") {
            #expect(before.hasPrefix("# "))
        }
    }

    @Test func `its values are the defaults`() throws {
        let example = try settings([:], dotEnv: text)
        let standard = try settings([:])
        var left = ""
        var right = ""
        dump(example, to: &left)
        dump(standard, to: &right)
        #expect(left == right)
        for name in ["PORT", "LIMIT_PUSHES_PER_MINUTE_PER_IP", "FCM_ORIGIN", "CLIENT_ADDRESS_HEADERS", "IDLE_DAYS"] {
            #expect(DotEnv(text).values[name]?.isEmpty == false)
        }
    }
}
