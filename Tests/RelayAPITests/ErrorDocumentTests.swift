import PushModel
import Relay
import RelayAPI
import Testing

/// `docs/errors.md` is what people read who never see the code, so it must say what the code says.
@Suite(.timeLimit(.minutes(1)))
struct ErrorDocumentTests {
    @Test
    func `the document lists each code with its status and whether it says when to come back`() throws {
        let listed =
            try Document.errors.rows(under: "What a phone or a server may meet")
            + Document.errors.rows(under: "What only a broken client meets")
        let documented = listed.map { DocumentedCode(code: $0[0], status: $0[1], retryAfter: $0[2]) }
        #expect(documented.count == Set(documented).count, "a code stands there twice")
        #expect(Set(documented) == Set(DocumentedCode.all))
    }

    @Test
    func `the document lists each reason of a 502`() throws {
        let reasons = try Document.errors.rows(under: "Whose fault a 502 is").map { $0[0] }
        #expect(reasons == UpstreamReason.allCases.map(\.rawValue))
    }

    @Test
    func `the document names a test for each code, in the order of its tables`() throws {
        let codes =
            try Document.errors.rows(under: "What a phone or a server may meet").map { $0[0] }
            + Document.errors.rows(under: "What only a broken client meets").map { $0[0] }
        #expect(try Document.errors.rows(under: "Which test shows it").map { $0[0] } == codes)
    }

    @Test
    func `every row says what it means and what to do`() throws {
        for heading in ["What a phone or a server may meet", "What only a broken client meets"] {
            for row in try Document.errors.rows(under: heading) {
                #expect(row.count == 5 && row.allSatisfy { !$0.isEmpty }, "\(row)")
            }
        }
    }
}

/// The first three columns of a row.
private struct DocumentedCode: Hashable {
    var code: String
    var status: String
    var retryAfter: String

    /// What the code says, with "some" where one code comes with and without a time to come back at.
    static var all: [DocumentedCode] {
        Dictionary(grouping: Refusal.ofEveryCase, by: \.code).map { code, refusals in
            let waits = Set(refusals.map { $0.retryAfter != nil })
            let statuses = Set(refusals.map { String($0.status) }).sorted().joined(separator: ", ")
            let retryAfter = waits == [true] ? "yes" : waits == [false] ? "no" : "some"
            return DocumentedCode(code: code, status: statuses, retryAfter: retryAfter)
        }
    }
}
