import CMicrohttpd
import EventLoops

/// The library's daemon, run by the loop: its epoll descriptor is watched, and after each run it is asked when it wants
/// the next one. Loop thread throughout; what the library reports is in `Daemon+Requests.swift`.
@safe final class Daemon: TurnEnd {
    let loop: EventLoop
    let configuration: HTTPServerConfiguration
    let handler: any HTTPRequestHandler
    let retainedNames: [RetainedName]
    /// Called once for each request that is whole.
    let begin: (HTTPExchange, HTTPRequest) -> Void
    /// Called when there is one connection or one exchange less.
    let settled: () -> Void

    /// The time at the start of the run; precise enough for time-outs of seconds.
    private(set) var now = ContinuousClock.now
    var connections: [Connection] = []
    /// How many of the connections were refused when they came.
    var refusedConnections = 0
    var exchangesInFlight = 0
    private(set) var isDraining = false
    private var drainBegan = ContinuousClock.now
    private(set) var isStopping = false
    let linger: Linger

    private var handle: OpaquePointer?
    private var watcher: DescriptorWatcher?
    private var runTimer: LoopTimer?
    private var runTimerDue: ContinuousClock.Instant?
    private var sweepTimer: LoopTimer?
    private var sweepDue: ContinuousClock.Instant?
    private var lastLookForPeers = ContinuousClock.now
    private var fallbackTimer: LoopTimer?
    private var deadlines = DeadlineList()
    private var isAccepting = false
    private var isRunning = false
    private var isRunDue = false
    private var mustStop = false
    /// Counts what the library reports, to see whether a run got anywhere.
    var reports = 0
    /// Whether a connection was closed at the bound. The library takes its listener back into its epoll set at the
    /// start of a run, but asks for none.
    var mustRunAgain = false
    private var fruitlessRuns = 0

    init(
        on loop: EventLoop, configuration: HTTPServerConfiguration, handler: any HTTPRequestHandler,
        begin: @escaping (HTTPExchange, HTTPRequest) -> Void, settled: @escaping () -> Void
    ) {
        loop.preconditionOnLoop()
        self.loop = loop
        self.configuration = configuration
        self.handler = handler
        self.begin = begin
        self.settled = settled
        retainedNames = configuration.retainedHeaders.map { RetainedName(name: $0, bytes: Array($0.utf8)) }
        linger = Linger(on: loop)
    }

    deinit { precondition(unsafe handle == nil, "an HTTP server is stopped before it is let go") }

    /// At how many connections the library stops to accept: beyond the bound there is room for those that are being
    /// refused. Waiting in the backlog they would hear nothing.
    var connectionLimit: Int { configuration.maximumConnections + 256 }

    // MARK: Life

    /// Starts to accept.
    ///
    /// - Returns: false when the library cannot start (out of memory or descriptors); the listener is closed then.
    func start(listening listener: consuming ListeningSocket) -> Bool {
        let descriptor = listener.release()
        var settings = unsafe gryt_mhd_settings()
        unsafe settings.listener = descriptor
        unsafe settings.connection_memory = configuration.connectionMemory
        unsafe settings.connection_limit = UInt32(connectionLimit)
        unsafe settings.idle_seconds = UInt32(clamping: configuration.idleTimeout.components.seconds)
        unsafe settings.context = Unmanaged.passUnretained(self).toOpaque()
        unsafe settings.handle = requestArrived
        unsafe settings.target = targetArrived
        unsafe settings.completed = requestCompleted
        unsafe settings.connection = connectionChanged
        guard let handle = unsafe gryt_mhd_start(&settings) else {
            closeDescriptor(descriptor)
            return false
        }
        unsafe self.handle = unsafe handle
        isAccepting = true
        let watcher = DescriptorWatcher(on: loop, descriptor: unsafe gryt_mhd_epoll_descriptor(handle)) {
            [unowned self] in run()
        }
        watcher.watchReads(true)
        self.watcher = watcher
        runTimer = LoopTimer(on: loop) { [unowned self] in
            runTimerDue = nil
            run()
        }
        sweepTimer = LoopTimer(on: loop) { [unowned self] in sweep() }
        fallbackTimer = LoopTimer(on: loop) { [unowned self] in fallBack() }
        run()
        return true
    }

    /// Closes the listener; connections that wait in its backlog are reset.
    func stopAccepting() {
        guard let handle = unsafe handle, isAccepting else { return }
        isAccepting = false
        closeDescriptor(unsafe MHD_quiesce_daemon(handle))
    }

    /// Lets every connection go as soon as it owes no answer. A request that is still being received has
    /// ``drainGrace`` to arrive, or any stranger could hold a drain up by half a request.
    func drain() {
        stopAccepting()
        guard !isDraining else { return }
        isDraining = true
        drainBegan = .now
        lastLookForPeers = drainBegan - .seconds(1)
        for connection in connections where connection.phase == .waiting { connection.endReading() }
        keepSweeping()
    }

    /// Ends everything; requests that are being handled are answered with a refusal first. Called from within a
    /// handler's first part it waits for the turn's end, for the library cannot be stopped while it runs.
    func stop() {
        guard let handle = unsafe handle else { return }
        guard !isRunning else {
            mustStop = true
            runAtTurnEnd()
            return
        }
        isStopping = true
        drain()
        for connection in connections {
            // The library demands that nothing is suspended when it stops.
            if let exchange = connection.exchange, exchange.isSuspended {
                answer(exchange, with: handler.refusal(.shuttingDown, of: nil))
            }
        }
        isRunning = true
        // The first resumes and mostly writes; the second writes the rest.
        unsafe _ = MHD_run(handle)
        unsafe _ = MHD_run(handle)
        watcher?.cancel()
        watcher = nil
        runTimer = nil
        sweepTimer = nil
        fallbackTimer = nil
        unsafe MHD_stop_daemon(handle)
        unsafe self.handle = nil
        isRunning = false
        linger.stop()
    }

    // MARK: Running

    func turnEnds() {
        isRunDue = false
        if mustStop { stop() } else { run() }
    }

    private func runAtTurnEnd() {
        guard !isRunDue else { return }
        isRunDue = true
        loop.atTurnEnd(self)
    }

    private func run() {
        guard let handle = unsafe handle, !isRunning else { return }
        now = .now
        isRunning = true
        let reportsBefore = reports
        unsafe _ = MHD_run(handle)
        isRunning = false
        if mustRunAgain {
            mustRunAgain = false
            runAtTurnEnd()
        }
        var milliseconds: UInt64 = 0
        guard unsafe MHD_get_timeout(handle, &milliseconds) == .YES else { return }
        guard milliseconds == 0 else {
            fruitlessRuns = 0
            armRunTimer(after: .milliseconds(milliseconds))
            return
        }
        // Zero means that there is more to do now: at the turn's end, so that sockets and jobs have their turn too.
        fruitlessRuns = reports == reportsBefore ? fruitlessRuns + 1 : 0
        if fruitlessRuns < Self.patienceInRuns { runAtTurnEnd() } else { armRunTimer(after: .milliseconds(10)) }
    }

    /// A connection whose memory is used up in the middle of a request (by an endless chunk extension, say) makes the
    /// library ask to be run at once, for ever. After so many runs that got nowhere it has to wait a little; sockets
    /// with news still wake it.
    private static let patienceInRuns = 16

    /// Leaves a timer alone that is due early enough: the library's next time-out moves away with each request.
    private func armRunTimer(after duration: Duration) {
        let due = now + duration
        if let runTimerDue, runTimerDue <= due { return }
        runTimerDue = due
        runTimer?.arm(after: duration)
    }

    // MARK: Time-outs

    /// What a request that is being received gets when a drain begins.
    private static let drainGrace = Duration.milliseconds(500)
    /// How long a connection that was refused when it came may stay, or any refused one during a drain.
    private static let shortPatience = Duration.milliseconds(250)

    private var sweepInterval: Duration {
        let usual = min(.seconds(1), configuration.requestTimeout / 4)
        if isDraining { return min(.milliseconds(50), usual) }
        return refusedConnections > 0 ? min(.milliseconds(100), usual) : usual
    }

    /// Has the sweep go round while there are connections; sooner, where it was to go later than it is needed now.
    func keepSweeping() {
        let interval = sweepInterval
        let due = ContinuousClock.now + interval
        if let sweepDue, sweepDue <= due { return }
        sweepDue = due
        sweepTimer?.arm(after: interval)
    }

    private func sweep() {
        now = .now
        sweepDue = nil
        // A system call for each connection: not in every sweep, where they are frequent.
        let looksForPeers = now - lastLookForPeers >= .seconds(1)
        if looksForPeers { lastLookForPeers = now }
        guard !connections.isEmpty else { return }
        keepSweeping()
        for connection in connections {
            let age = now - connection.since
            if looksForPeers, age > .seconds(1), connection.phase == .waiting || connection.phase == .receiving,
                connection.isPeerGone
            {
                connection.cut()
                continue
            }
            switch connection.phase {
            case .waiting:
                // A silent one is closed by the library after the idle time-out, so this one has sent a byte now and
                // then.
                if age > configuration.idleTimeout + configuration.requestTimeout { timeOut(connection) }
            case .receiving:
                if age > configuration.requestTimeout {
                    timeOut(connection)
                } else if isDraining && now - drainBegan > Self.drainGrace {
                    connection.condemn(with: handler.refusal(.shuttingDown, of: nil), now: now)
                }
            case .answering: break
            case .condemned:
                if age > (isDraining || connection.isRefused ? Self.shortPatience : Linger.patience) {
                    connection.cut()
                }
            }
        }
    }

    private func timeOut(_ connection: Connection) {
        connection.condemn(with: handler.refusal(.requestTimeout, of: nil), now: now)
    }

    private func fallBack() {
        let now = ContinuousClock.now
        while let first = deadlines.first {
            guard first.deadline <= now else {
                fallbackTimer?.arm(after: first.deadline - now)
                return
            }
            deadlines.remove(first)
            if let fallback = first.fallback { answer(first, with: fallback) }
        }
    }

    /// Keeps a fallback until the exchange is answered. The timer is left alone when another one is due earlier.
    func keepDeadline(of exchange: HTTPExchange) {
        deadlines.insert(exchange)
        if deadlines.first === exchange { fallbackTimer?.arm(after: exchange.deadline - .now) }
    }

    /// Forgets a fallback, if there is one.
    func dropDeadline(of exchange: HTTPExchange) { deadlines.remove(exchange) }

    // MARK: Answers

    /// Gives the library the answer to a request that is being handled.
    func answer(_ exchange: HTTPExchange, with response: HTTPResponse) {
        loop.preconditionOnLoop()
        exchange.becomeAnswered()
        guard exchange.isSuspended else {
            exchange.immediateAnswer = response
            return
        }
        exchange.isSuspended = false
        let connection = exchange.connection
        if connection.isPeerGone {
            // The library reads before it writes, and an end of the stream makes it give up. It asks for the request's
            // answer again and is told to close.
            exchange.mustLinger = true
            connection.writeLast(response, toHead: exchange.method == .head)
        } else {
            queue(response, for: exchange)
        }
        unsafe MHD_resume_connection(exchange.connection.handle)
        runAtTurnEnd()
    }

    /// Queues the answer, which closes the connection where it must.
    func queue(_ response: HTTPResponse, for exchange: HTTPExchange) {
        let taken = unsafe response.queue(
            on: exchange.connection.handle, closing: exchange.mustClose || isDraining)
        precondition(taken, "the library took no answer to a request that has none")
    }
}

/// A header name to keep, as text for the application and as bytes to compare.
struct RetainedName {
    let name: String
    let bytes: [UInt8]
}
