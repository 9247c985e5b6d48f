package import EventLoops

/// An HTTP/1.1 server on one loop: requests come whole to a handler, which answers at once or in a task of
/// the request's own.
///
/// It keeps itself alive from ``start()`` to ``stop()``. Connections, bodies and heads are bounded by the
/// configuration; what breaks the rules of HTTP is refused before the handler sees it (``HTTPRefusal``).
///
/// A sender that half-closes is answered whatever it has sent whole. What is taken for a request, and what becomes of
/// the connection, is in `docs/http.md`.
///
/// Nothing here raises SIGPIPE: everything is sent with `MSG_NOSIGNAL`.
package actor HTTPServer {
    package nonisolated let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// The port of the listener.
    package nonisolated let port: UInt16
    private let configuration: HTTPServerConfiguration
    private let handler: any HTTPRequestHandler
    private var listener: ListeningSocket?
    private var serverLoop: ServerLoop?
    private var isStopped = false
    /// Requests that ``stop()`` told that the relay is shutting down.
    private var cutShort = 0
    private var drained: [CheckedContinuation<Void, Never>] = []
    private var drainTimer: LoopTimer?

    // Private, and read by the property below: what another room may reach is checked for exclusive access each time.
    private var running = 0

    /// The number of handlers that have not returned, among them those whose request was answered by the fallback.
    package var handlersRunning: Int { running }

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

    /// Starts to accept connections. Once only, and not at all where ``stop()`` has come first.
    package func start() {
        guard !isStopped else { return }
        guard let listener = listener.take() else { preconditionFailure("a server starts once") }
        let serverLoop = ServerLoop(
            on: loop, configuration: configuration, handler: handler,
            begin: { exchange, request in self.serve(exchange, request) },
            settled: { self.checkDrained() })
        serverLoop.start(listening: listener)
        self.serverLoop = serverLoop
    }

    /// Closes the listener. Open connections go on; connections that wait in the backlog are reset, unless somebody else has
    /// a descriptor of the same socket (``ListeningSocket/anotherDescriptor()``).
    package func stopAccepting() { serverLoop?.stopAccepting() }

    /// Ends every connection with the next answer on it, and goes on accepting. For whoever hands the port on: a connection
    /// that is closed while nothing is under way may cross with a request, and one that an answer closes costs none (RFC
    /// 9112 section 9.6).
    package func part() { serverLoop?.part() }

    /// Closes the listener and lets each connection go once it owes no answer: idle ones at once, others with
    /// `Connection: close` after the answer to the request they are sending or waiting for. A request that is not whole
    /// half a second later is refused (``HTTPRefusal/shuttingDown``); an answer of which the socket has taken nothing for as
    /// long, because its sender reads none, is given up, and is none that was cut short.
    ///
    /// - Returns: how many requests had no answer at the deadline; 0 as soon as there are none. They go on until
    ///   ``stop()``. If that came first, how many it cut short.
    package func drain(within duration: Duration) async -> Int {
        guard let serverLoop else { return cutShort }
        serverLoop.drain()
        await withCheckedContinuation { waiter in
            // A task that does not prefer the loop goes through its queue once more before it comes to be here, and by
            // then the server may have been stopped, or the last answer given.
            guard exchangesInFlight > 0 else { return waiter.resume() }
            drained.append(waiter)
            let timer = loop.timer(for: self) { $0.endDrain() }
            drainTimer = timer
            timer.arm(after: duration)
        }
        return isStopped ? cutShort : exchangesInFlight
    }

    /// Ends the server at once: requests that are being handled are answered with ``HTTPRefusal/shuttingDown``, all
    /// connections are closed. Handlers run on to their end; their answers are dropped. Called by a handler it takes
    /// effect at the turn's end.
    package func stop() {
        isStopped = true
        listener = nil
        cutShort += exchangesInFlight
        serverLoop?.stop()
        serverLoop = nil
        endDrain()
    }

    /// The number of open connections.
    package var openConnections: Int { serverLoop?.connections.count ?? 0 }

    /// The number of requests whose first line has arrived and whose answer has not been sent.
    package var exchangesInFlight: Int { serverLoop?.exchangesInFlight ?? 0 }

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
    ///
    /// It prefers the loop although its isolation would bring it here anyway: a continuation resumes on the executor
    /// that its task prefers, and where there is none on the global pool, from where it comes back by a wake-up.
    private func serve(_ exchange: HTTPExchange, _ request: HTTPRequest) {
        switch handler.handle(request) {
        case .answered(let response): exchange.finish(with: response)
        case .awaited(let work):
            running += 1
            // The exchange stays on the loop: the task runs there from its first step to its last.
            nonisolated(unsafe) let exchange = exchange
            Task(executorPreference: loop) { await self.finish(unsafe exchange, by: work) }
        }
    }

    private func finish(_ exchange: HTTPExchange, by work: (HTTPExchange) async -> HTTPResponse) async {
        exchange.finish(with: await work(exchange))
        running -= 1
    }
}
