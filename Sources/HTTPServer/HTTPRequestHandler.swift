/// What the application does with requests.
package protocol HTTPRequestHandler: Sendable {
    /// Answers a request. Called once for each, isolated to the server's actor, so on its loop.
    ///
    /// The answer is sent unless the exchange's fallback has been sent before or the connection is gone; then it is
    /// dropped. A sender that hangs up meanwhile is not noticed: the handler always runs to its end.
    func respond(to request: HTTPRequest, exchange: HTTPExchange) async -> HTTPResponse

    /// The answer to what the server refuses by itself. Called on the loop; must not depend on anything but the refusal.
    func refusal(_ refusal: HTTPRefusal) -> HTTPResponse
}
