import HTTPServer
import OpenAPIDocument
import Relay
import RelayAPI
import Telemetry
import Testing

/// `docs/openapi.json` says what the code says: every path, method and code, and each code's members. That the program
/// answers so is the matter of `Tests/ProgramTests/OpenAPITests.swift`.
@Suite(.timeLimit(.minutes(1)))
struct OpenAPIDocumentTests {
    private let document = OpenAPIDocument.ofRepository

    @Test func `what is served is the file, byte for byte`() {
        #expect(Answers.openAPI.status == 200)
        #expect(Answers.openAPI.body == document.bytes)
    }

    @Test func `every path is there with its methods, and no other`() {
        let paths = PublicPath.allCases.map { path in
            (path.rawValue, Set(path.methods.split(separator: ",").map { String($0.drop { $0 == " " }) }))
        }
        #expect(document.methods == Dictionary(uniqueKeysWithValues: paths))
    }

    @Test func `every code is there with its status, and no other`() {
        let statuses = Dictionary(grouping: Refusal.everyOne, by: \.code).mapValues {
            Set($0.map { String($0.status) })
        }
        #expect(statuses.count == RefusalCode.allCases.count)
        #expect(document.statuses == statuses)
    }

    @Test(arguments: RefusalCode.allCases)
    func `a code has the members that its refusals have, and needs those that all have`(code: RefusalCode) {
        let refusals = Refusal.everyOne.filter { $0.label == code }
        let members = refusals.map { refusal -> Set<String> in
            var members: Set<String> = ["error"]
            if refusal.retryAfter != nil { members.insert("retry_after") }
            if refusal.limit != nil { members.insert("limit") }
            if refusal.reason != nil { members.insert("reason") }
            return members
        }
        let all = members.reduce(Set<String>()) { $0.union($1) }
        let always = members.dropFirst().reduce(members[0]) { $0.intersection($1) }
        let needed = Dictionary(uniqueKeysWithValues: all.map { ($0, always.contains($0)) })
        #expect(document.members(ofCode: code.rawValue) == needed)
        #expect(
            Set(document.values(of: "limit", ofCode: code.rawValue))
                == Set(refusals.compactMap { $0.limit?.rawValue }))
        #expect(
            Set(document.values(of: "reason", ofCode: code.rawValue))
                == Set(refusals.compactMap { $0.reason?.rawValue }))
    }

    @Test func `every refusal is as the document has it, wherever it may be met`() {
        for refusal in Refusal.everyOne {
            let response = Answers.refused(refusal)
            let answer = OpenAPIDocument.Answer(
                status: response.status, headers: response.headers, body: String(decoding: response.body, as: UTF8.self)
            )
            var places = document.answers.filter { $0.hasSuffix(" \(refusal.status) \(refusal.code)") }
            if refusal.label == .notFound { places = ["GET /nowhere"] }
            if case .methodNotAllowed(let allow) = refusal {
                places = Set(PublicPath.allCases.filter { $0.methods == allow }.map { "PUT \($0.rawValue)" })
            }
            #expect(!places.isEmpty)
            for place in places {
                let words = place.split(separator: " ").map { String($0) }
                #expect(document.faults(of: answer, to: words[0], words[1]) == [], "\(refusal) to \(place)")
            }
        }
    }

    @Test func `the page for servers says what to do about every code that a push may meet`() throws {
        // What only a broken client meets is one row there.
        let usual = try Set(Document.errors.rows(under: "What a phone or a server may meet").map { $0[0] })
            .union(["body_too_large"])
        let met = document.answers.filter { $0.hasPrefix("POST /v1/push ") }
            .compactMap { $0.split(separator: " ").dropFirst(3).first.map { String($0) } }
        let listed = try Document.forServers.rows(under: "What each answer to a push asks of the server").flatMap {
            row in
            row[1].matches(of: /[a-z]+_[a-z_]+|gone|overloaded|internal/).map { String($0.output) }
        }
        #expect(Set(listed).subtracting(["retry_after"]) == Set(met).intersection(usual))
    }

    @Test func `answers that are not as the document has them are found out`() {
        let fine = [
            ("content-type", "application/json; charset=utf-8"), ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
        ]
        let wait = fine + [("retry-after", "7")]
        let limited = #"{"error":"too_many_pushes","limit":"address","retry_after":7}"#
        func faults(_ status: Int, _ headers: [(String, String)], _ body: String, _ path: String = "/v1/push") -> Int {
            let answer = OpenAPIDocument.Answer(status: status, headers: headers, body: body)
            return document.faults(of: answer, to: "POST", path).count
        }
        #expect(faults(202, fine, #"{"ok":true}"#) == 0)
        #expect(faults(429, wait, limited) == 0)
        #expect(faults(202, fine, #"{"ok":false}"#) > 0)
        #expect(faults(202, fine, #"{"ok":true,"token":"x"}"#) > 0)
        #expect(faults(202, fine, #"{}"#) > 0)
        #expect(faults(202, fine, "") > 0)
        #expect(faults(202, Array(fine.dropFirst()), #"{"ok":true}"#) > 0)
        #expect(faults(202, Array(fine.dropLast()), #"{"ok":true}"#) > 0)
        #expect(faults(202, fine + [("x-more", "1")], #"{"ok":true}"#) > 0)
        #expect(faults(429, fine, limited) > 0)
        #expect(faults(429, fine + [("retry-after", "soon")], limited) > 0)
        #expect(faults(429, wait, limited.replacing("address", with: "planet")) > 0)
        #expect(faults(429, wait, limited.replacing("7", with: "0")) > 0)
        #expect(faults(400, fine, #"{"error":"bad_token"}"#) > 0)
        #expect(faults(404, fine, #"{"error":"gone"}"#) > 0)
        #expect(faults(418, fine, #"{"error":"bad_json"}"#) > 0)
        #expect(faults(404, fine, #"{"error":"not_found"}"#, "/nowhere") == 0)
        #expect(faults(400, fine, #"{"error":"bad_request"}"#, "/nowhere") > 0)
    }
}
