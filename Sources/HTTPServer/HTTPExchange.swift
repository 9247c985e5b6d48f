import EventLoops

/// One request and its answer. Lives on the loop of its server.
///
/// Exits of its stages: `.head` leaves for `.body` once the head has passed the check, or for `.answered` with a
/// refusal; `.body` leaves for `.handled` once the body is whole; `.handled` leaves for `.answered` with the handler's
/// answer or the fallback. `.ended` is last: the library is done with the request, with or without an answer.
package final class HTTPExchange {
    enum Stage { case head, body, handled, answered, ended }

    private let daemon: Daemon
    let connection: Connection
    let target: RequestTarget
    var stage: Stage = .head
    var method = HTTPMethod.get
    var body: [UInt8] = []
    var retained: [RetainedField] = []
    /// Whether the connection closes after the answer, whatever the sender asked for.
    var mustClose = false
    /// Whether the sender may still be writing when the connection closes.
    var mustLinger = false
    /// Whether the library waits for the answer outside of the handler's call.
    var isSuspended = false
    /// The answer that was there when the handler was called; the library takes it without being suspended.
    var immediateAnswer: HTTPResponse?

    // The fallback, and the exchange's place in the list of deadlines.
    private(set) var fallback: HTTPResponse?
    private(set) var deadline = ContinuousClock.now
    var next: HTTPExchange?
    unowned var previous: HTTPExchange?
    var isListed = false

    /// Whether the connection ended before an answer was given. A sender that hangs up while its request is being
    /// handled is not noticed before the answer is sent, so this turns true only where the server cannot answer any
    /// more. Loop thread.
    package private(set) var isAbandoned = false

    init(daemon: Daemon, connection: Connection, target: RequestTarget) {
        self.daemon = daemon
        self.connection = connection
        self.target = target
    }

    /// Whether an answer has been given, be it the handler's, the fallback or a refusal. Loop thread.
    package var isAnswered: Bool { stage == .answered || (stage == .ended && !isAbandoned) }

    /// Sends this answer if the handler has given none after that time. The handler runs on to its end, and its late
    /// answer is dropped. Another call takes the place of the first; one after the answer does nothing. Loop thread.
    package func answer(with response: HTTPResponse, after duration: Duration) {
        daemon.loop.preconditionOnLoop()
        guard stage == .handled else { return }
        daemon.dropDeadline(of: self)
        fallback = response
        deadline = .now + duration
        daemon.keepDeadline(of: self)
    }

    /// Takes the handler's answer, which is dropped unless it is the first.
    func finish(with response: HTTPResponse) {
        guard stage == .handled else { return }
        daemon.answer(self, with: response)
    }

    /// An answer is on its way.
    func becomeAnswered() {
        stage = .answered
        daemon.dropDeadline(of: self)
        fallback = nil
    }

    /// Hands the body on without keeping it.
    func takeBody() -> [UInt8] {
        defer { body = [] }
        return body
    }

    /// The library is done with it.
    func end() {
        isAbandoned = stage != .answered
        stage = .ended
        daemon.dropDeadline(of: self)
        fallback = nil
    }
}
