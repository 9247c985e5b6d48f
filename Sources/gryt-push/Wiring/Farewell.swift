import HTTPServer
import Synchronization

/// Whether senders are asked to open a new connection for their next request, because another process will answer it.
final class Farewell: Sendable {
    private let isBidden = Atomic<Bool>(false)

    /// From now on every answer ends its connection.
    func bid() { isBidden.store(true, ordering: .relaxed) }

    /// An answer as it is to be given now.
    func added(to response: HTTPResponse) -> HTTPResponse {
        guard isBidden.load(ordering: .relaxed) else { return response }
        return HTTPResponse(
            status: response.status, headers: response.headers + [("Connection", "close")], body: response.body)
    }
}

/// A handler whose answers end their connections once a farewell is bidden. A connection that is closed while nothing is
/// under way may cross with a request; one that is closed by an answer (RFC 9112 section 9.6) costs none.
struct PartingHandler<Handler: HTTPRequestHandler>: HTTPRequestHandler {
    let handler: Handler
    let farewell: Farewell

    func answerAtOnce(to request: HTTPRequest) -> HTTPResponse? {
        handler.answerAtOnce(to: request).map { farewell.added(to: $0) }
    }

    func respond(to request: HTTPRequest, exchange: HTTPExchange) async -> HTTPResponse {
        farewell.added(to: await handler.respond(to: request, exchange: exchange))
    }

    func refusal(_ refusal: HTTPRefusal, of request: HTTPRequest?) -> HTTPResponse {
        handler.refusal(refusal, of: request)
    }
}
