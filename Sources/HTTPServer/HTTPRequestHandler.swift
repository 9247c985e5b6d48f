/// What the application does with requests.
package protocol HTTPRequestHandler: Sendable {
    /// Looks at a request and says what is done about it. Called on the loop, once for each; must not wait.
    func handle(_ request: HTTPRequest) -> HTTPHandling

    /// The answer to what the server refuses by itself. Called on the loop; must not wait.
    ///
    /// `request` is there where only the body is at fault (``HTTPRefusal/bodyTooLarge``) and is empty of it: an
    /// application that would have refused the request for its head says that first.
    func refusal(_ refusal: HTTPRefusal, of request: HTTPRequest?) -> HTTPResponse

    /// Whether a request, which is without its body here, is answered without a look at it. Asked where the body is larger
    /// than ``HTTPServerConfiguration/maximumBody``: such a request is handed on with an empty one in place of being
    /// refused, and the connection closes after the answer.
    func ignoresBody(of request: HTTPRequest) -> Bool

    /// The system has no descriptor or no memory left for one more connection, by its number for that. None is accepted for
    /// a moment, those that there are go on, and it is tried again. Called on the loop, each time; must not wait.
    func couldNotAccept(_ errno: Int32)
}

extension HTTPRequestHandler {
    /// No body is ignored.
    package func ignoresBody(of request: HTTPRequest) -> Bool { false }

    /// Nobody is told.
    package func couldNotAccept(_ errno: Int32) {}
}

/// What is done about a request.
package enum HTTPHandling {
    /// This is the answer. It costs neither a task nor three system calls: it is for refusals that come in floods.
    case answered(HTTPResponse)

    /// The answer has to be waited for. The work is done in a task of its own that prefers the loop, isolated to the
    /// server's actor: on the loop's thread.
    ///
    /// Its answer is sent unless the exchange's fallback has been sent before or the connection is gone; then it is
    /// dropped. A sender that hangs up meanwhile is not noticed: the work is always done to its end.
    case awaited(@Sendable (HTTPExchange) async -> HTTPResponse)
}
