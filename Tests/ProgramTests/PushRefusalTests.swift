import PushSimulator
import Testing

/// `POST /v1/push` and `DELETE /v1/push` as the contract has them, up to where a push service would be asked.
@Suite(.stage(), .timeLimit(.minutes(3)))
struct PushRefusalTests {
    static let capability = "p_" + String(repeating: "Aa0_-", count: 8) + "xyz"
    static let fine = #"{"kind":"dm"}"#
    static let preview = String(repeating: "p", count: 40)
    static let tooLarge = String(repeating: "[", count: 8193)

    private func post(_ headers: [(String, String)], _ body: String) async throws -> Answer {
        let answer = try await Stage.current.relay.ask("POST", "/v1/push", headers: headers, body: body)
        expectForm(of: answer)
        return answer
    }

    /// Values of `Authorization` that carry no capability.
    static let notACapability = [
        "", "Bearer", "Bearer ", "Basic \(capability)", capability, "Bearer\(capability)", "Bearer=\(capability)",
        "Bearer \(capability.dropLast())", "Bearer \(capability)A", "Bearer \(capability.dropFirst(2))",
        "Bearer P_\(capability.dropFirst(2))", "Bearer q_\(capability.dropFirst(2))", " Bearer  x\(capability)",
        "Bearer\t\(capability)", "Bearer \t\(capability)", "Bearer \(capability),", "Bearer \(capability) x",
        "Bearer \"\(capability)\"",
        "Bearer \(capability.dropLast())=", "Bearer \(capability.dropLast())+", "Bearer \(capability.dropLast())/",
        "Bearer \(capability.dropLast())é", "Bearer \(capability), Bearer \(capability)", "Token \(capability)",
    ]

    @Test(arguments: notACapability)
    func `without a capability nothing else is looked at`(value: String) async throws {
        for body in [Self.fine, "", "{", #"{"kind":"x"}"#] {
            let answer = try await post([("Authorization", value)], body)
            #expect(answer.summary == "401 missing_capability")
            #expect(answer["www-authenticate"] == "Bearer")
        }
        let removal = try await Stage.current.relay.ask("DELETE", "/v1/push", headers: [("Authorization", value)])
        expectForm(of: removal)
        #expect(removal.summary == "401 missing_capability")
    }

    @Test func `no header, and two of them, carry no capability`() async throws {
        for headers in [[], [bearer(Self.capability), bearer(Self.capability)], [("X-Authorization", "Bearer x")]] {
            #expect(try await post(headers, Self.fine).summary == "401 missing_capability")
            let removal = try await Stage.current.relay.ask("DELETE", "/v1/push", headers: headers)
            #expect(removal.summary == "401 missing_capability")
        }
    }

    @Test func `a capability is asked for before the length of the body`() async throws {
        #expect(try await post([], Self.tooLarge).summary == "401 missing_capability")
        #expect(try await post([bearer("p_short")], Self.tooLarge).summary == "401 missing_capability")
        #expect(try await post([bearer(Self.capability)], Self.tooLarge).summary == "413 body_too_large")
        let chunked =
            "POST /v1/push HTTP/1.1\r\nHost: relay.test\r\nTransfer-Encoding: chunked\r\n\r\n"
            + "2001\r\n\(Self.tooLarge)\r\n0\r\n\r\n"
        #expect(try await Stage.current.relay.raw(chunked).summary == "401 missing_capability")
    }

    @Test(arguments: [
        ("Authorization", "Bearer "), ("authorization", "bearer "), ("AUTHORIZATION", "BEARER "),
        ("aUtHoRiZaTiOn", "bEaReR "), ("Authorization", "Bearer    "),
    ])
    func `neither the header's name nor the scheme's knows upper case from lower`(
        name: String, scheme: String
    ) async throws {
        #expect(try await post([(name, scheme + Self.capability)], Self.fine).summary == "404 unknown_capability")
    }

    @Test func `blanks around a header's value are none of it`() async throws {
        for value in ["  Bearer \(Self.capability)", "Bearer \(Self.capability) ", "\tBearer \(Self.capability)\t \t"] {
            #expect(try await post([("Authorization", value)], Self.fine).summary == "404 unknown_capability")
        }
    }

    @Test(arguments: [
        // Each has later faults as well, an unknown capability the least of them: the first one is told.
        ("", "400 bad_json"), ("null", "400 bad_json"), ("[]", "400 bad_json"), ("{", "400 bad_json"),
        (#"{"kind":"dm","kind":"dm"}"#, "400 bad_json"), (#"{"kind":"x","x":}"#, "400 bad_json"),
        (#"{"preview":"","preview":""}"#, "400 bad_json"),
        ("{}", "400 bad_kind"), (#"{"kind":null,"preview":1}"#, "400 bad_kind"), (#"{"kind":1}"#, "400 bad_kind"),
        (#"{"kind":"Mention"}"#, "400 bad_kind"), (#"{"kind":"call","preview":"x"}"#, "400 bad_kind"),
        (#"{"kind":["dm"]}"#, "400 bad_kind"), (#"{"kind":""}"#, "400 bad_kind"),
        (#"{"kind":"dm","preview":null}"#, "400 bad_preview"), (#"{"kind":"dm","preview":1}"#, "400 bad_preview"),
        (#"{"kind":"dm","preview":""}"#, "400 bad_preview"), (#"{"kind":"dm","preview":{}}"#, "400 bad_preview"),
        (#"{"kind":"dm","preview":"\#(preview.dropLast())"}"#, "400 bad_preview"),
        (#"{"kind":"dm","preview":"\#(String(repeating: "p", count: 2049))"}"#, "400 bad_preview"),
        (#"{"kind":"dm","preview":"\#(preview)="}"#, "400 bad_preview"),
        (#"{"kind":"dm","preview":"\#(preview)+"}"#, "400 bad_preview"),
        (#"{"kind":"dm","preview":"\#(preview)\n"}"#, "400 bad_preview"),
        (#"{"kind":"dm","preview":"\#(preview)é"}"#, "400 bad_preview"),
        (#"{"kind":"dm","preview":"\#(preview)","title":"shown?","token":"x"}"#, "404 unknown_capability"),
        (#"{"kind":"mention"}"#, "404 unknown_capability"), (#"{"kind":"message"}"#, "404 unknown_capability"),
    ])
    func `the first thing that is wrong is what is told`(body: String, summary: String) async throws {
        #expect(try await post([bearer(Self.capability)], body).summary == summary)
    }

    @Test func `to take back what nobody has is told so, with or without a body`() async throws {
        let relay = try Stage.current.relay
        for body in [nil, Array("{".utf8)] {
            let answer = try await relay.ask("DELETE", "/v1/push", headers: [bearer(Self.capability)], body: body)
            expectForm(of: answer)
            #expect(answer.summary == "404 unknown_capability")
        }
    }
}
