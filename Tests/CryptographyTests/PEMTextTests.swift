import Cryptography
import Testing

@Suite(.timeLimit(.minutes(1)))
struct PEMTextTests {
    private static let body = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgevZzL1gdAFr88hb2"
    private static let clean = "-----BEGIN PRIVATE KEY-----\n\(body)\nAAAA\n-----END PRIVATE KEY-----\n"

    private static let mangled: [(how: String, text: String)] = [
        ("already clean", clean),
        ("literal \\n", clean.replacing("\n", with: "\\n")),
        ("literal \\r\\n", clean.replacing("\n", with: "\\r\\n")),
        ("twice escaped", clean.replacing("\n", with: "\\\\n")),
        ("CRLF", clean.replacing("\n", with: "\r\n")),
        ("CR", clean.replacing("\n", with: "\r")),
        ("byte order mark", "\u{FEFF}" + clean),
        ("double quotes", "\"" + clean + "\""),
        ("single quotes", "'" + clean + "'"),
        ("trailing blanks", clean.replacing("\n", with: " \t \n") + "\n\n  "),
        ("indented", clean.replacing("\n", with: "\n    ")),
        ("blanks for line ends", clean.replacing("\n", with: " ")),
        ("no line ends", clean.replacing("\n", with: "")),
        ("text around it", "Bag Attributes\n    friendlyName: x\n" + clean + "the end\n"),
    ]

    @Test(arguments: mangled)
    func `a mangled PEM text is mended`(how: String, text: String) {
        #expect(PEMText.normalised(text) == Self.clean, "\(how)")
    }

    @Test(arguments: [
        "", "AuthKey_ABC.p8", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nAAAA\n",
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PUBLIC KEY-----", "-----END X----------BEGIN X-----",
    ])
    func `a text without a whole block becomes empty`(text: String) {
        #expect(PEMText.normalised(text).isEmpty)
    }

    @Test func `several blocks stay several, in their order`() {
        let two = "-----BEGIN A-----\nAAAA\n-----END A-----\n-----BEGIN B-----\nBBBB\n-----END B-----\n"
        #expect(PEMText.normalised(two.replacing("\n", with: "\\n")) == two)
    }

    @Test func `headers of an old encrypted key stay apart from its body`() {
        let text = "-----BEGIN X-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: a,B\n\nAAAA\n-----END X-----\n"
        #expect(PEMText.normalised(text.replacing("\n", with: "  \r\n")) == text)
    }
}
