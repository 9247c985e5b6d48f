import EventLoops

/// One request, whole, and its answer. Lives on the loop of its server.
///
/// Exits of its stages: `.handled` leaves for `.answered` with the handler's answer or the fallback; `.ended` is last:
/// the server is done with the request, with or without an answer.
package final class HTTPExchange {
    private enum Stage { case handled, answered, ended }

    private let server: ServerLoop
    let connection: Connection
    private var stage = Stage.handled

    // The fallback, and the exchange's place in the list of deadlines.
    private(set) var fallback: HTTPResponse?
    /// As ``ServerLoop/time`` has it.
    private(set) var deadline = Duration.zero
    var next: HTTPExchange?
    unowned var previous: HTTPExchange?
    var isListed = false

    /// Whether the connection ended before an answer was given. A sender that hangs up while its request is being
    /// handled does not end it, so this turns true only where the server is stopped. Loop thread.
    package private(set) var isAbandoned = false

    init(server: ServerLoop, connection: Connection) {
        self.server = server
        self.connection = connection
    }

    /// Whether the handler's answer is still awaited.
    var isHandled: Bool { stage == .handled }

    /// Whether an answer has been given, be it the handler's or the fallback. Loop thread.
    package var isAnswered: Bool { stage == .answered || (stage == .ended && !isAbandoned) }

    /// Sends this answer if the handler has given none after that time. The handler runs on to its end, and its late
    /// answer is dropped. Another call takes the place of the first; one after the answer does nothing. Loop thread.
    package func answer(with response: HTTPResponse, after duration: Duration) {
        server.loop.preconditionOnLoop()
        guard isHandled else { return }
        server.dropDeadline(of: self)
        fallback = response
        deadline = server.time + duration
        server.keepDeadline(of: self, for: duration)
    }

    /// Takes the handler's answer, which is dropped unless it is the first.
    func finish(with response: HTTPResponse) {
        guard isHandled else { return }
        server.answer(self, with: response)
    }

    /// An answer is on its way.
    func becomeAnswered() {
        stage = .answered
        server.dropDeadline(of: self)
        fallback = nil
    }

    /// The server is done with it.
    func end() {
        if isHandled {
            isAbandoned = true
            server.dropDeadline(of: self)
            fallback = nil
        }
        stage = .ended
    }
}
