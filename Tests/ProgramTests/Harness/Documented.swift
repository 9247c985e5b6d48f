import OpenAPIDocument
import Testing

/// Expects of an answer what `docs/openapi.json` says of it.
func expectDocumented(
    _ answer: Answer, to method: String, _ path: String, sourceLocation: SourceLocation = #_sourceLocation
) {
    let faults = OpenAPIDocument.ofRepository.faults(of: OpenAPIDocument.Answer(answer), to: method, path)
    #expect(faults == [], "\(method) \(path): \(answer.summary)", sourceLocation: sourceLocation)
}

extension OpenAPIDocument.Answer {
    init(_ answer: Answer) {
        // What follows the last line of the head is no field.
        self.init(status: answer.status, headers: answer.fields.filter { !$0.name.isEmpty }, body: answer.body)
    }
}

/// Method and path of a request that begins with a well-formed line of HTTP/1.1; nil where it does not.
func operation(in request: [UInt8]) -> (method: String, path: String)? {
    guard let end = request.firstIndex(of: 13) else { return nil }
    let words = String(decoding: request[..<end], as: UTF8.self).split(
        separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3, words[2] == "HTTP/1.1" else { return nil }
    return (String(words[0]), String(words[1].prefix { $0 != "?" }))
}
