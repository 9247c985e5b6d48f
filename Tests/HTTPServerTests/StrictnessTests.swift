import HTTPServer
import Synchronization
import Testing

/// A request that must be refused, byte for byte.
struct Refused: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: String
    let status: Int
    let refusal: HTTPRefusal
    var testDescription: String { name }

    init(_ name: String, _ bytes: String, _ status: Int, _ refusal: HTTPRefusal) {
        self.name = name
        self.bytes = bytes
        self.status = status
        self.refusal = refusal
    }

    /// One that breaks a rule of the head.
    init(_ name: String, _ bytes: String, _ malformation: Malformation) {
        self.init(name, bytes, 400, .malformed(malformation))
    }
}

private let get = "GET / HTTP/1.1\r\nHost: x\r\n"
private let post = "POST / HTTP/1.1\r\nHost: x\r\n"

private let requestLines = [
    Refused("an absolute target", "GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n", .target),
    Refused("an asterisk for a target", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", .target),
    Refused("an authority for a target", "GET x:443 HTTP/1.1\r\nHost: x\r\n\r\n", .target),
    Refused("CONNECT", "CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n", .method),
    Refused("CONNECT to a path", "CONNECT / HTTP/1.1\r\nHost: x\r\n\r\n", .method),
    Refused("a blank in the target", "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n", .target),
    Refused("a tab in the target", "GET /a\tb HTTP/1.1\r\nHost: x\r\n\r\n", .target),
    Refused("a fragment in the target", "GET /a#b HTTP/1.1\r\nHost: x\r\n\r\n", .target),
    Refused("a letter outside ASCII in the target", "GET /ä HTTP/1.1\r\nHost: x\r\n\r\n", .target),
    Refused("a bare CR in the target", "GET /a\rb HTTP/1.1\r\nHost: x\r\n\r\n", .target),
    Refused("a NUL in the target", "GET /a\0b HTTP/1.1\r\nHost: x\r\n\r\n", .target),
    Refused("a NUL in the query", "GET /a?b\0c HTTP/1.1\r\nHost: x\r\n\r\n", .target),
    Refused("a NUL in the method", "GE\0T / HTTP/1.1\r\nHost: x\r\n\r\n", .method),
    Refused("two blanks before the target", "GET  / HTTP/1.1\r\nHost: x\r\n\r\n", .target),
    Refused("two blanks before the version", "GET /  HTTP/1.1\r\nHost: x\r\n\r\n", .target),
    Refused("a blank after the version", "GET / HTTP/1.1 \r\nHost: x\r\n\r\n", .version),
    Refused("a tab for a blank", "GET\t/ HTTP/1.1\r\nHost: x\r\n\r\n", .method),
    Refused("a method that is no token", "G(T / HTTP/1.1\r\nHost: x\r\n\r\n", .method),
    Refused("a request line that ends with a bare LF", "GET / HTTP/1.1\nHost: x\r\n\r\n", .layout),
    Refused("HTTP/1.9", "GET / HTTP/1.9\r\nHost: x\r\n\r\n", 505, .unsupportedVersion),
    Refused("HTTP/1.2", "GET / HTTP/1.2\r\nHost: x\r\n\r\n", 505, .unsupportedVersion),
    Refused("HTTP/2.0", "GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505, .unsupportedVersion),
    Refused("HTTP/0.9 with a version", "GET / HTTP/0.9\r\nHost: x\r\n\r\n", 505, .unsupportedVersion),
    Refused("HTTP/0.9 without a version", "GET /\r\n\r\n", .version),
    Refused("a lower-case version", "GET / http/1.1\r\nHost: x\r\n\r\n", .version),
    Refused("a version with two digits", "GET / HTTP/1.11\r\nHost: x\r\n\r\n", .version),
    Refused("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, .unsupportedVersion),
]

private let fields = [
    Refused("HTTP/1.1 without a host", "GET / HTTP/1.1\r\n\r\n", .host),
    Refused("two hosts", get + "Host: y\r\n\r\n", .host),
    Refused("two equal hosts", get + "Host: x\r\n\r\n", .host),
    Refused("two hosts in HTTP/1.0", "GET / HTTP/1.0\r\nHost: x\r\nhost: y\r\n\r\n", .host),
    Refused("a host with a path", "GET / HTTP/1.1\r\nHost: x/y\r\n\r\n", .host),
    Refused("a host with a user", "GET / HTTP/1.1\r\nHost: u@x\r\n\r\n", .host),
    Refused("a list of hosts", "GET / HTTP/1.1\r\nHost: x, y\r\n\r\n", .host),
    Refused("a blank before the colon", get + "X : y\r\n\r\n", .fieldName),
    Refused("a tab before the colon", get + "X\t: y\r\n\r\n", .fieldName),
    Refused("a blank before the first name", "GET / HTTP/1.1\r\n Host: x\r\n\r\n", .layout),
    Refused("an empty name", get + ": y\r\n\r\n", .fieldName),
    Refused("a name that is no token", get + "X(y): z\r\n\r\n", .fieldName),
    Refused("a letter outside ASCII in a name", get + "Xä: z\r\n\r\n", .fieldName),
    Refused("a NUL in a name", get + "X\0Y: z\r\n\r\n", .fieldName),
    Refused("a NUL in a value", get + "X: y\0z\r\n\r\n", .fieldValue),
    Refused("a NUL at the end of a value", get + "X: y\0\r\n\r\n", .fieldValue),
    Refused("a NUL at the end of the last value and more", get + "X: y\0z: a\r\n\r\n", .fieldValue),
    Refused("a line that begins with a NUL", get + "\0X: y\r\n\r\n", .fieldName),
    Refused("a NUL for the empty line", get + "\0\r\n\r\n", .fieldName),
    Refused("a bare CR in a value", get + "X: y\rz\r\n\r\n", .fieldValue),
    Refused("a bare CR that hides a field", get + "X: y\rContent-Length: 5\r\n\r\n", .fieldValue),
    Refused("two CRs at the end of a line", get + "X: y\r\r\n\r\n", .fieldValue),
    Refused("a bell in a value", get + "X: \u{7}\r\n\r\n", .fieldValue),
    Refused("a DEL in a value", get + "X: \u{7f}\r\n\r\n", .fieldValue),
    Refused("a folded line", get + "X: y\r\n z\r\n\r\n", .layout),
    Refused("a folded line in between", get + "X: y\r\n\tz\r\nA: b\r\n\r\n", .layout),
    Refused("a folded Content-Length", post + "Content-Length:\r\n 5\r\n\r\nhello", .contentLength),
    Refused("a folded Transfer-Encoding", post + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", .layout),
    Refused("a field that ends with a bare LF", get + "X: y\nA: b\r\n\r\n", .layout),
    Refused("a head that ends with bare LFs", "GET / HTTP/1.1\nHost: x\n\n", .layout),
    Refused("an empty line that is a bare LF", get + "\n", .layout),
    Refused("a line without a colon", get + "nothing\r\n\r\n", .fieldName),
    Refused(
        "a hundred and one fields", get + String(repeating: "A: b\r\n", count: 100) + "\r\n", 431, .headersTooLarge),
    Refused("a head above its bound", get + "X: \(String(repeating: "y", count: 8192))\r\n\r\n", 431, .headersTooLarge),
    Refused("a head of 64 kB", get + "X: \(String(repeating: "y", count: 65536))\r\n\r\n", 431, .headersTooLarge),
    Refused(
        "a target above the head's bound", "GET /\(String(repeating: "y", count: 8192)) HTTP/1.1\r\n\r\n", 414,
        .targetTooLong),
    Refused("a target of 64 kB", "GET /\(String(repeating: "y", count: 65536)) HTTP/1.1\r\n\r\n", 414, .targetTooLong),
]

private let framing = [
    Refused("two Content-Lengths", post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", .contentLength),
    Refused("two equal Content-Lengths", post + "Content-Length: 5\r\ncontent-length: 5\r\n\r\nhello", .contentLength),
    Refused("a list of Content-Lengths", post + "Content-Length: 5, 5\r\n\r\nhello", .contentLength),
    Refused("a negative Content-Length", post + "Content-Length: -5\r\n\r\nhello", .contentLength),
    Refused("a Content-Length with a plus", post + "Content-Length: +5\r\n\r\nhello", .contentLength),
    Refused("a Content-Length in hex", post + "Content-Length: 0x5\r\n\r\nhello", .contentLength),
    Refused("an empty Content-Length", post + "Content-Length: \r\n\r\nhello", .contentLength),
    Refused("a Content-Length with a blank", post + "Content-Length: 5 5\r\n\r\nhello", .contentLength),
    Refused("a Content-Length with a blank after it", post + "Content-Length: 5 \r\n\r\nhello", .contentLength),
    Refused(
        "a Content-Length above 64 bits", post + "Content-Length: 99999999999999999999\r\n\r\nhello", 413, .bodyTooLarge
    ),
    Refused(
        "a Content-Length of 64 bits", post + "Content-Length: 18446744073709551615\r\n\r\nhello", 413, .bodyTooLarge),
    Refused("a Content-Length just above the bound", post + "Content-Length: 8193\r\n\r\n", 413, .bodyTooLarge),
    Refused(
        "Content-Length with Transfer-Encoding",
        post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", .transferEncoding),
    Refused(
        "Transfer-Encoding with Content-Length",
        post + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", .transferEncoding),
    Refused(
        "a broken Content-Length behind a Transfer-Encoding",
        post + "Transfer-Encoding: chunked\r\nContent-Length: x\r\n\r\n0\r\n\r\n", .contentLength),
    Refused(
        "Transfer-Encoding in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        .transferEncoding),
    Refused("an unknown transfer coding", post + "Transfer-Encoding: gzip\r\n\r\n", 501, .unsupportedTransferCoding),
    Refused("the identity coding", post + "Transfer-Encoding: identity\r\n\r\n", 501, .unsupportedTransferCoding),
    Refused(
        "an unknown coding before chunked", post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501,
        .unsupportedTransferCoding),
    Refused(
        "an unknown coding on a line before chunked",
        post + "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501, .unsupportedTransferCoding
    ),
    Refused(
        "chunked before another coding", post + "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", .transferEncoding),
    Refused(
        "chunked on a line before another coding",
        post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n\r\n0\r\n\r\n", .transferEncoding),
    Refused("chunked twice", post + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", .transferEncoding),
    Refused(
        "chunked on two lines", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        .transferEncoding),
    Refused("chunked with a parameter", post + "Transfer-Encoding: chunked;a=b\r\n\r\n0\r\n\r\n", .transferEncoding),
    Refused("chunked with a blank after it", post + "Transfer-Encoding: chunked \r\n\r\n0\r\n\r\n", .transferEncoding),
    Refused("chunked in an empty list", post + "Transfer-Encoding: , chunked\r\n\r\n0\r\n\r\n", .transferEncoding),
    Refused("an empty transfer coding", post + "Transfer-Encoding:\r\n\r\n", .transferEncoding),
    Refused(
        "a coding that looks like chunked", post + "Transfer-Encoding: xchunked\r\n\r\n", 501,
        .unsupportedTransferCoding),
    Refused("a vertical tab before chunked", post + "Transfer-Encoding: \u{b}chunked\r\n\r\n", .fieldValue),
    Refused(
        "a blank before the colon of Transfer-Encoding",
        post + "Transfer-Encoding : chunked\r\nContent-Length: 5\r\n\r\nhello", .fieldName),
    Refused(
        "a chunk size that is no number", post + "Transfer-Encoding: chunked\r\n\r\nx\r\nhello\r\n0\r\n\r\n", .chunks),
    Refused("a negative chunk size", post + "Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n", .chunks),
    Refused("a chunk size with 0x", post + "Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n", .chunks),
    Refused(
        "a chunk size with a blank before it", post + "Transfer-Encoding: chunked\r\n\r\n 5\r\nhello\r\n0\r\n\r\n",
        .chunks),
    Refused(
        "a chunk size with a blank after it", post + "Transfer-Encoding: chunked\r\n\r\n5 \r\nhello\r\n0\r\n\r\n",
        .chunks),
    Refused("an empty chunk size", post + "Transfer-Encoding: chunked\r\n\r\n\r\nhello\r\n0\r\n\r\n", .chunks),
    Refused(
        "a chunk size above 64 bits", post + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nhello", .chunks),
    Refused(
        "a chunk that is longer than its size", post + "Transfer-Encoding: chunked\r\n\r\n4\r\nhello\r\n0\r\n\r\n",
        .chunks),
    Refused(
        "an expectation that cannot be met", post + "Expect: miracles\r\nContent-Length: 5\r\n\r\n", 417,
        .expectationFailed),
    Refused(
        "an expected body above the bound", post + "Expect: 100-continue\r\nContent-Length: 9000\r\n\r\n", 413,
        .bodyTooLarge),
]

@Suite(.timeLimit(.minutes(1)))
struct StrictnessTests {
    @Test(arguments: requestLines) func `a broken request line is refused`(_ request: Refused) async throws {
        try await expectRefusal(of: request)
    }

    @Test(arguments: fields) func `a broken head is refused`(_ request: Refused) async throws {
        try await expectRefusal(of: request)
    }

    @Test(arguments: framing) func `a body of unclear length is refused`(_ request: Refused) async throws {
        try await expectRefusal(of: request)
    }

    /// The refusal comes first, nothing that follows is taken for a request, the connection closes, and no handler has
    /// seen a thing.
    private func expectRefusal(of request: Refused) async throws {
        let handler = TestHandler()
        try await withServer(handler) { port, server in
            try await onOwnThread { try sendAndExpectRefusal(of: request, port: port) }
            while await server.openConnections > 0 { await Task.yield() }
            #expect(await server.exchangesInFlight == 0)
        }
        #expect(handler.seen.withLock { $0.count } == 0)
        #expect(handler.refused.withLock { $0.first } == request.refusal)
    }
}

private func sendAndExpectRefusal(of request: Refused, port: UInt16) throws {
    let client = try RawClient(port: port)
    try client.send(request.bytes + "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n")
    let response = try #require(try client.response())
    #expect(response.status == request.status, "\(request.name)")
    #expect(response["connection"] == "close", "\(request.name)")
    #expect(response.body == #"{"error":"refused"}"#, "\(request.name)")
    #expect(try client.rest() == "", "\(request.name)")
}
