import FoundationEssentials
import PushSimulator

/// `docs/openapi.json`, read as somebody who writes a client reads it: what may come back for a request, and whether an
/// answer is that.
package struct OpenAPIDocument: Sendable {
    /// The document of this repository, found from where this file stands.
    package static let ofRepository: OpenAPIDocument = {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        guard let bytes = try? Data(contentsOf: root.appending(path: "docs/openapi.json")),
            let json = JSON(Array(bytes))
        else { preconditionFailure("docs/openapi.json is not there, or is no JSON") }
        return OpenAPIDocument(bytes: Array(bytes), json: json)
    }()

    /// The file, byte for byte.
    package let bytes: [UInt8]
    private let json: JSON

    private init(bytes: [UInt8], json: JSON) {
        self.bytes = bytes
        self.json = json
    }

    /// An answer as it came.
    package struct Answer: Sendable {
        package var status: Int
        /// Names in lower case.
        package var headers: [(name: String, value: String)]
        package var body: String

        package init(status: Int, headers: [(name: String, value: String)], body: String) {
            self.status = status
            self.headers = headers
            self.body = body
        }

        /// The status, and the code where it has one: `404 unknown_capability`.
        package var summary: String {
            guard let code = JSON(text: body)?["error"]?.string else { return String(status) }
            return "\(status) \(code)"
        }
    }

    /// The methods of each path, in upper case.
    package var methods: [String: Set<String>] {
        let paths = json["paths"]?.members ?? []
        return paths.reduce(into: [:]) { all, path in
            all[path.name] = Set((path.value.members ?? []).map { $0.name.uppercased() })
        }
    }

    /// Everything that may come back, as `POST /v1/push 404 unknown_capability`, or without a code where there is none.
    package var answers: Set<String> {
        var answers: Set<String> = []
        for path in json["paths"]?.members ?? [] {
            for operation in path.value.members ?? [] {
                for response in operation.value["responses"]?.members ?? [] {
                    let head = "\(operation.name.uppercased()) \(path.name) \(response.name)"
                    let codes = codes(of: schema(of: resolved(response.value)))
                    answers.formUnion(codes.isEmpty ? [head] : codes.map { "\(head) \($0)" })
                }
            }
        }
        return answers
    }

    /// Each code, with the statuses that it comes with anywhere in the document.
    package var statuses: [String: Set<String>] {
        var statuses: [String: Set<String>] = [:]
        func note(_ response: JSON, _ status: String) {
            for code in codes(of: schema(of: response)) { statuses[code, default: []].insert(status) }
        }
        for answer in answers {
            let parts = answer.split(separator: " ").map { String($0) }
            if parts.count == 4 { statuses[parts[3], default: []].insert(parts[2]) }
        }
        for (status, name) in [("404", "NotFound"), ("405", "MethodNotAllowed")] {
            note(json["components"]?["responses"]?[name] ?? .null, status)
        }
        return statuses
    }

    /// The members that a code's schema lists, each with whether it must be there.
    package func members(ofCode code: String) -> [String: Bool] {
        let schema = json["components"]?["schemas"]?[code]
        let required = strings(schema?["required"])
        return (schema?["properties"]?.members ?? []).reduce(into: [:]) { $0[$1.name] = required.contains($1.name) }
    }

    /// The values that a member of a code's schema may have, where they are counted up.
    package func values(of member: String, ofCode code: String) -> [String] {
        let schema = json["components"]?["schemas"]?[code]?["properties"]?[member] ?? .null
        return strings(schema["enum"]) + [schema["const"]?.string].compactMap { $0 }
    }

    // MARK: Whether an answer is what was promised

    /// What of an answer is otherwise than the document says; empty where all is as it says. For a path or method that it
    /// does not have, the answer must be a 404 or 405.
    package func faults(of answer: Answer, to method: String, _ path: String) -> [String] {
        let known = json["paths"]?[path]
        let operation = known?[method.lowercased()]
        let response: JSON?
        if let operation {
            response = operation["responses"]?[String(answer.status)].map(resolved)
        } else {
            response = json["components"]?["responses"]?[known == nil ? "NotFound" : "MethodNotAllowed"]
            guard answer.status == (known == nil ? 404 : 405) else { return ["it has the status \(answer.status)"] }
        }
        guard let response else { return ["the status \(answer.status) is not in the document"] }
        return headerFaults(of: answer, response) + bodyFaults(of: answer, response, toHead: method == "HEAD")
    }

    private func headerFaults(of answer: Answer, _ response: JSON) -> [String] {
        var faults: [String] = []
        let documented = response["headers"]?.members ?? []
        for header in documented {
            let values = answer.headers.filter { $0.name == header.name }.map(\.value)
            let description = resolved(header.value)
            guard let value = values.first else {
                if description["required"] == true { faults.append("there is no \(header.name)") }
                continue
            }
            if values.count > 1 { faults.append("\(header.name) comes twice") }
            let schema = resolved(description["schema"] ?? .null)
            let typed: JSON = schema["type"]?.string == "integer" ? .number(value) : .string(value)
            faults += self.faults(of: typed, under: schema, at: header.name)
        }
        // What every answer of HTTP has, and what the content below is about.
        let usual = ["date", "connection", "content-length", "content-type"]
        for header in answer.headers where !usual.contains(header.name) {
            guard documented.contains(where: { $0.name == header.name }) || header.name.isEmpty else {
                faults.append("\(header.name) is not in the document")
                continue
            }
        }
        return faults
    }

    private func bodyFaults(of answer: Answer, _ response: JSON, toHead: Bool) -> [String] {
        guard let content = response["content"]?.members?.first else {
            return answer.body.isEmpty ? [] : ["it has a body"]
        }
        if toHead { return answer.body.isEmpty ? [] : ["it has a body"] }
        let type = answer.headers.first { $0.name == "content-type" }?.value
        guard type == content.name else { return ["its type is \(type ?? "missing")"] }
        guard let body = JSON(text: answer.body) else { return ["its body is no JSON"] }
        return faults(of: body, under: content.value["schema"] ?? .null, at: "body")
    }

    // MARK: Finding one's way

    /// What a reference stands for; itself where it is none.
    func resolved(_ json: JSON) -> JSON {
        guard let reference = json["$ref"]?.string else { return json }
        let place = reference.split(separator: "/").dropFirst()
        guard let target = place.reduce(self.json, { $0?[String($1)] }) else {
            preconditionFailure("\(reference) leads nowhere")
        }
        return resolved(target)
    }

    private func schema(of response: JSON) -> JSON {
        resolved(response["content"]?.members?.first?.value["schema"] ?? .null)
    }

    private func codes(of schema: JSON) -> [String] {
        if case .array(let choices)? = schema["oneOf"] { return choices.flatMap { codes(of: resolved($0)) } }
        return [schema["properties"]?["error"]?["const"]?.string].compactMap { $0 }
    }

    /// The texts of an array.
    func strings(_ json: JSON?) -> [String] {
        guard case .array(let values)? = json else { return [] }
        return values.compactMap(\.string)
    }
}
