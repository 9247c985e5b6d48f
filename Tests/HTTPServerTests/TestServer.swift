import EventLoops
import Synchronization
import Testing

@testable import HTTPServer

/// Answers as a test says, and records what it was asked and what was refused.
final class TestHandler: HTTPRequestHandler {
    typealias Answer = @Sendable (HTTPRequest, HTTPExchange) async -> HTTPResponse

    let seen = Mutex<[HTTPRequest]>([])
    let refused = Mutex<[HTTPRefusal]>([])
    private let answer: Answer?

    /// Without an answer of its own it says at once what it was asked: method, target and body.
    init(_ answer: Answer? = nil) { self.answer = answer }

    func handle(_ request: HTTPRequest) -> HTTPHandling {
        seen.withLock { $0.append(request) }
        guard let answer else { return .answered(.echo(request)) }
        return .awaited { exchange in await answer(request, exchange) }
    }

    func refusal(_ refusal: HTTPRefusal, of request: HTTPRequest?) -> HTTPResponse {
        refused.withLock { $0.append(refusal) }
        return HTTPResponse(
            status: refusal.meantStatus, headers: [("content-type", "application/json")],
            body: Array(#"{"error":"refused"}"#.utf8))
    }
}

extension HTTPResponse {
    static func text(_ text: String, status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, headers: [("content-type", "text/plain")], body: Array(text.utf8))
    }

    static func echo(_ request: HTTPRequest) -> HTTPResponse {
        let query = request.query.map { "?" + $0 } ?? ""
        return text("\(request.method) \(request.path)\(query) \(String(decoding: request.body, as: UTF8.self))")
    }
}

extension HTTPRefusal {
    /// The status that each case's comment says.
    var meantStatus: Int {
        switch self {
        case .malformed: 400
        case .requestTimeout: 408
        case .bodyTooLarge: 413
        case .targetTooLong: 414
        case .expectationFailed: 417
        case .headersTooLarge: 431
        case .unsupportedTransferCoding: 501
        case .unsupportedVersion: 505
        case .tooManyConnections, .shuttingDown: 503
        }
    }
}

/// Runs a server on a loop of its own, and something that talks to it on a thread of its own.
@discardableResult
func withServer<Value: Sendable>(
    _ handler: TestHandler = TestHandler(), configure: (inout HTTPServerConfiguration) -> Void = { _ in },
    host: String = "127.0.0.1", _ talk: @escaping @Sendable (UInt16, HTTPServer) async throws -> Value
) async throws -> Value {
    let loop = try EventLoop(name: "http-test")
    try loop.start()
    var configuration = HTTPServerConfiguration()
    configure(&configuration)
    let server = HTTPServer(
        on: loop, listener: try .open(host: host, port: 0), configuration: configuration, handler: handler)
    await server.start()
    let result: Result<Value, any Error>
    do { result = .success(try await talk(server.port, server)) } catch { result = .failure(error) }
    await server.stop()
    #expect(await server.openConnections == 0)
    loop.stopAndJoin()
    return try result.get()
}

/// The same, for tests that only need the port.
@discardableResult
func talking<Value: Sendable>(
    to handler: TestHandler = TestHandler(), configure: (inout HTTPServerConfiguration) -> Void = { _ in },
    _ talk: @escaping @Sendable (UInt16) throws -> Value
) async throws -> Value {
    try await withServer(handler, configure: configure) { port, _ in try await onOwnThread { try talk(port) } }
}
