import GrytPushPreview
import PushModel
import Testing

@Suite(.timeLimit(.minutes(1)))
struct PreviewTests {
    private static let capability = "p_" + String(repeating: "A", count: 43)
    private static let key = PreviewKey()

    private func tag() throws -> PreviewTag { try #require(PreviewTag(capability: Self.capability)) }

    @Test func `each seal looks different, opens, and has the shape that the relay takes`() throws {
        let preview = Preview(title: "Ada in #general", subtitle: "Gryt", body: "Lunch at \"one\"?\n👩‍👩‍👧")
        let first = try preview.seal(with: Self.key, for: tag())
        let second = try preview.seal(with: Self.key, for: tag())
        #expect(first != second)
        for sealed in [first, second] {
            #expect(SealedPreview(sealed) != nil)
            #expect(try Preview.open(sealed, with: Self.key, for: tag()) == preview)
        }
    }

    @Test func `what is too long is not sealed, and by how much is said in bytes`() throws {
        // {"t":"","b":""} are 15 of the 1507 bytes that there may be.
        for (body, over) in [
            (String(repeating: "x", count: 1492), 0), (String(repeating: "x", count: 1493), 1),
            (String(repeating: "\n", count: 746), 0), (String(repeating: "\n", count: 747), 2),
            (String(repeating: "ü", count: 800), 108), (String(repeating: "\u{1}", count: 300), 308),
        ] {
            let preview = Preview(title: "", body: body)
            #expect(preview.bytesOver == over)
            if over == 0 {
                #expect(SealedPreview(try preview.seal(with: Self.key, for: tag())) != nil)
            } else {
                #expect(throws: SealingError.tooLong(byBytes: over)) { try preview.seal(with: Self.key, for: tag()) }
            }
        }
    }

    @Test(arguments: ["x", "ü", "\n", "\"", "👩‍👩‍👧", "e\u{301}", "🇩🇪", "\u{1}", "你"])
    func `what is cut to fit is sealed, and cut between two characters`(character: String) throws {
        for count in [0, 1, 90, 1000, 1492, 1493, 5000] {
            let body = String(repeating: character, count: count)
            let preview = Preview.fitting(title: "Ada", subtitle: "#general", body: body)
            #expect(preview.title == "Ada" && preview.subtitle == "#general")
            if preview.body != body {
                #expect(Preview(title: "Ada", subtitle: "#general", body: body).bytesOver > 0)
                #expect(preview.body.last == "…")
                let kept = preview.body.dropLast()
                #expect(kept == String(repeating: character, count: kept.count))
                // One more would not have fitted.
                let longer = Preview(title: "Ada", subtitle: "#general", body: kept + character + "…")
                #expect(longer.bytesOver > 0)
            }
            #expect(SealedPreview(try preview.seal(with: Self.key, for: tag())) != nil)
        }
    }

    @Test func `the body gives way first, then the subtitle, then the title`() throws {
        let long = String(repeating: "x", count: 1400)
        let body = Preview.fitting(title: long, subtitle: "s", body: long)
        #expect(body.title == long && body.subtitle == "s" && body.body.last == "…" && body.bytesOver == 0)
        let subtitle = Preview.fitting(title: long, subtitle: long, body: long)
        #expect(subtitle.title == long && subtitle.subtitle?.last == "…" && subtitle.body == "")
        let title = Preview.fitting(title: long + long, subtitle: "s", body: "b")
        #expect(title.title.last == "…" && title.subtitle == "" && title.body == "" && title.bytesOver == 0)
        #expect(Preview.fitting(title: long + long, body: "").subtitle == nil)
    }

    @Test func `a single character that has no room is left out whole`() {
        let monster = "e" + String(repeating: "\u{301}", count: 3000)
        #expect(monster.count == 1)
        #expect(Preview.fitting(title: "Ada", body: monster).body == "…")
    }

    @Test func `a key is 32 bytes, and comes back as it was handed over`() {
        let key = PreviewKey()
        #expect(key.disclosed.utf8.count == 43)
        #expect(PreviewKey(base64URL: key.disclosed)?.disclosed == key.disclosed)
        #expect(PreviewKey().disclosed != key.disclosed)
        #expect(PreviewKey(bytes: Array(0..<32))?.disclosed == "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8")
        for count in [0, 31, 33] { #expect(PreviewKey(bytes: Array(repeating: 1, count: count)) == nil) }
        for text in ["", "AAAA", key.disclosed + "=", key.disclosed.dropLast() + "+"] {
            #expect(PreviewKey(base64URL: String(text)) == nil)
        }
    }

    static let notCapabilities: [String] = {
        let fine = capability
        let short = String(fine.dropLast())
        return ["", "p_", short, fine + "A", "q_" + fine.dropFirst(2), short + "=", short + "é"]
    }()

    @Test(arguments: notCapabilities)
    func `what is no capability has no tag`(text: String) {
        #expect(PreviewTag(capability: text) == nil)
    }

    @Test(arguments: [
        "", "0123456789abcde", "0123456789abcdef0", "0123456789ABCDEF", "0123456789abcdeg", "0123456789abcdé",
    ])
    func `what is not 16 digits of lower-case hex is no tag`(text: String) {
        #expect(PreviewTag(text) == nil)
    }

    @Test func `neither a key nor a tag nor a text prints`() throws {
        let (preview, tag) = (Preview(title: "Ada", subtitle: "#general", body: "Lunch?"), try tag())
        let printed = [
            "\(Self.key)", "\(preview)", "\(tag)", String(reflecting: Self.key), String(reflecting: preview),
            String(reflecting: tag), dumped(Self.key), dumped(preview), dumped(tag), dumped([preview]),
            "\(SealingError.tooLong(byBytes: 7))",
        ]
        for text in printed {
            for secret in [Self.key.disclosed, tag.disclosed, "Ada", "#general", "Lunch"] {
                #expect(!text.contains(secret))
            }
        }
        #expect(printed.last == "the preview is 7 bytes too long")
    }

    private func dumped(_ value: some Sendable) -> String {
        var text = ""
        dump(value, to: &text)
        return text
    }
}
