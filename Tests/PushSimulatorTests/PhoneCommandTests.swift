import PushSimulator
import Testing

/// The commands by which a script plays the phone and its chat server.
@Suite(.timeLimit(.minutes(1)))
struct PhoneCommandTests {
    private let capability = "p_" + String(repeating: "A", count: 43)

    private func run(_ arguments: String..., input: String = "") throws -> String {
        try PhoneCommand(arguments).run(on: Array(input.utf8))
    }

    /// Token and key of a new phone.
    private func newPhone(_ platform: String) throws -> (token: String, key: String) {
        let lines = try run("new", "--platform", platform).split(separator: "\n")
        try #require(lines.count == 2 && lines[0].hasPrefix("token=") && lines[1].hasPrefix("key="))
        return (String(lines[0].dropFirst(6)), String(lines[1].dropFirst(4)))
    }

    @Test func `a new iPhone has a token of 64 hex digits, and no two are alike`() throws {
        let first = try newPhone("ios")
        let second = try newPhone("ios")
        #expect(first.token.count == 64 && first.token.allSatisfy(\.isHexDigit))
        #expect(first.token != second.token && first.key != second.key)
    }

    @Test func `the tag is the first 16 hex digits of the capability's SHA-256`() throws {
        // printf 'p_AAA…' | sha256sum
        #expect(try run("tag", "--capability", capability) == "bbc663160ef4e097\n")
    }

    @Test func `what is sealed for a phone stands on its screen`() throws {
        let key = try newPhone("ios").key
        let sealed = try run(
            "seal", "--key", key, "--capability", capability, "--title", "Ada", "--subtitle", "#general",
            "--body", "Lunch at \"one\"?"
        ).dropLast()
        let tag = try run("tag", "--capability", capability).dropLast()
        let alert = #""aps":{"alert":{"title":"Gryt","body":"New message"},"mutable-content":1}"#
        let payload = #"{\#(alert),"c":"\#(tag)","p":"\#(sealed)"}"#
        let shown = try run(
            "show", "--platform", "ios", "--key", key, input: #"[{"payload":{}},{"payload":\#(payload)}]"#)
        #expect(
            shown == """
                notifications so far: 2
                title: Ada
                subtitle: #general
                body: Lunch at "one"?
                from the preview: yes
                tag: \(tag)

                """)
    }

    @Test func `a preview that is too long is not sealed, and how much too long it is is said`() throws {
        let command = try PhoneCommand([
            "seal", "--key", newPhone("ios").key, "--capability", capability, "--title", "Ada", "--body",
            String(repeating: "l", count: 1500),
        ])
        let misuse = #expect(throws: PhoneCommand.Misuse.self) { try command.run() }
        #expect(misuse?.description == "the preview is 11 bytes too long")
    }

    @Test func `another phone's key opens nothing, and the fixed text stays`() throws {
        let sealed = try run(
            "seal", "--key", newPhone("ios").key, "--capability", capability, "--title", "Ada", "--body", "Lunch?"
        ).dropLast()
        let alert = #""aps":{"alert":{"title":"Gryt","body":"New message"},"mutable-content":1}"#
        let payload = #"{\#(alert),"c":"0","p":"\#(sealed)"}"#
        let shown = try run(
            "show", "--platform", "ios", "--key", newPhone("ios").key, input: #"{"payload":\#(payload)}"#)
        #expect(shown.contains("title: Gryt\nbody: New message\nfrom the preview: no\n"))
    }

    @Test(arguments: [
        (["ring"], "phone ring is not known; phone --help tells what is"),
        (["new"], "--platform is missing"),
        (["new", "--platform", "windows"], "--platform is ios or android"),
        (["new", "--platform"], "--platform wants a value"),
        (["new", "--colour", "red"], "--colour is not known to phone"),
        (["tag", "--capability", "p_short"], "--capability is p_ and 43 characters of base64url"),
        (["show", "--platform", "ios", "--key", "AAAA"], "--key is what phone new printed: 32 bytes in base64url"),
    ])
    func `a command that cannot be obeyed is answered with what is wrong`(_ arguments: [String], _ complaint: String) {
        let misuse = #expect(throws: PhoneCommand.Misuse.self) { try PhoneCommand(arguments) }
        #expect(misuse?.description == complaint)
    }

    @Test(arguments: [
        ("", "standard input is no JSON"), ("[]", "nothing has come for this phone"),
        ("{}", "this JSON is no notification"),
    ])
    func `input that holds no notification is said to hold none`(_ input: String, _ complaint: String) throws {
        let command = try PhoneCommand(["show", "--platform", "ios", "--key", String(repeating: "A", count: 43)])
        let misuse = #expect(throws: PhoneCommand.Misuse.self) { try command.run(on: Array(input.utf8)) }
        #expect(misuse?.description == complaint)
    }
}
