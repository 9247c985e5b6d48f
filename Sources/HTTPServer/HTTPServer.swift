package import EventLoops

/// An HTTP/1.1 server on one loop: requests come whole to a handler, one Swift task each, and its answers go out.
///
/// It keeps itself alive from ``start()`` to ``stop()``. Connections, bodies and heads are bounded by the
/// configuration; what breaks the rules of HTTP is refused before the handler sees it (``HTTPRefusal``).
///
/// A sender that half-closes after its request is answered, but nothing else on that connection is. Where the end of
/// the stream arrives together with a request or a part of one, the connection is closed up to two seconds later.
///
/// Nothing here raises SIGPIPE: the library and this room send with `MSG_NOSIGNAL`.
package actor HTTPServer {
    package nonisolated let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// The port of the listener.
    package nonisolated let port: UInt16
    private let configuration: HTTPServerConfiguration
    private let handler: any HTTPRequestHandler
    private var listener: ListeningSocket?
    private var daemon: Daemon?
    private var drained: [CheckedContinuation<Void, Never>] = []
    private var drainTimer: LoopTimer?

    /// The number of handlers that have not returned, among them those whose request was answered by the fallback.
    package private(set) var handlersRunning = 0

    /// Makes a server that does not accept yet. Traps where a bound of the configuration cannot work.
    package init(
        on loop: EventLoop, listener: consuming ListeningSocket, configuration: HTTPServerConfiguration,
        handler: any HTTPRequestHandler
    ) {
        configuration.check()
        self.loop = loop
        port = listener.port
        self.listener = consume listener
        self.configuration = configuration
        self.handler = handler
    }

    /// Starts to accept connections. Once only.
    ///
    /// - Throws: ``HTTPServerError/cannotStart`` when memory or descriptors ran out.
    package func start() throws(HTTPServerError) {
        guard let listener = listener.take() else { preconditionFailure("a server starts once") }
        let daemon = Daemon(
            on: loop, configuration: configuration, handler: handler,
            begin: { exchange, request in self.serve(exchange, request) },
            settled: { self.checkDrained() })
        guard daemon.start(listening: listener) else { throw .cannotStart }
        self.daemon = daemon
    }

    /// Closes the listener. Open connections go on; connections that wait in the backlog are reset, unless somebody else has
    /// a descriptor of the same socket (``ListeningSocket/anotherDescriptor()``).
    package func stopAccepting() { daemon?.stopAccepting() }

    /// Closes the listener and lets each connection go once it owes no answer: idle ones at once, others with
    /// `Connection: close` after the answer to the request they are sending or waiting for. A request that is not whole
    /// half a second later is refused (``HTTPRefusal/shuttingDown``).
    ///
    /// - Returns: how many requests had no answer at the deadline; 0 as soon as there are none. They go on until
    ///   ``stop()``.
    package func drain(within duration: Duration) async -> Int {
        guard let daemon else { return 0 }
        daemon.drain()
        await withCheckedContinuation { waiter in
            // A task that does not prefer the loop goes through its queue once more before it comes to be here, and by
            // then the server may have been stopped, or the last answer given.
            guard exchangesInFlight > 0 else { return waiter.resume() }
            drained.append(waiter)
            let timer = loop.timer(for: self) { $0.endDrain() }
            drainTimer = timer
            timer.arm(after: duration)
        }
        return exchangesInFlight
    }

    /// Ends the server at once: requests that are being handled are answered with ``HTTPRefusal/shuttingDown``, all
    /// connections are closed. Handlers run on to their end; their answers are dropped. Called by a handler it takes
    /// effect at the turn's end.
    package func stop() {
        listener = nil
        daemon?.stop()
        daemon = nil
        endDrain()
    }

    /// The number of open connections.
    package var openConnections: Int { daemon?.connections.count ?? 0 }

    /// The number of requests whose first line has arrived and whose answer has not been sent.
    package var exchangesInFlight: Int { daemon?.exchangesInFlight ?? 0 }

    private func checkDrained() {
        if exchangesInFlight == 0, !drained.isEmpty { endDrain() }
    }

    private func endDrain() {
        drainTimer = nil
        for waiter in drained { waiter.resume() }
        drained = []
    }

    /// Answers at once, or starts the task of a request. The task is enqueued on the loop, not started from here:
    /// within a callback from C the runtime (6.3) does not know which executor it is on, so a task that is begun there
    /// by `Task.immediate` resumes from its first continuation on the global pool, even inside an actor of the loop.
    private func serve(_ exchange: HTTPExchange, _ request: HTTPRequest) {
        if let response = handler.answerAtOnce(to: request) {
            exchange.finish(with: response)
            return
        }
        handlersRunning += 1
        // The exchange stays on the loop: the task runs there from its first step to its last.
        nonisolated(unsafe) let exchange = exchange
        Task(executorPreference: loop) { await self.handle(unsafe exchange, request) }
    }

    private func handle(_ exchange: HTTPExchange, _ request: HTTPRequest) async {
        let response = await handler.respond(to: request, exchange: exchange)
        exchange.finish(with: response)
        handlersRunning -= 1
    }
}

/// Why a server could not start.
package enum HTTPServerError: Error, Equatable, CustomStringConvertible {
    /// libmicrohttpd refused: out of memory or of file descriptors.
    case cannotStart

    package var description: String {
        switch self {
        case .cannotStart: "the HTTP server could not be started (out of memory or file descriptors)"
        }
    }
}
