import CSystem
import EventLoops

#if canImport(Glibc)
    import Glibc
#endif

/// The server on its loop: accepts, keeps all connections in sight, and ends. What happens on one connection is in
/// `ServerLoop+Connections.swift`. Loop thread throughout.
@safe final class ServerLoop: TurnEnd {
    let loop: EventLoop
    let configuration: HTTPServerConfiguration
    let rules: RequestRules
    let handler: any HTTPRequestHandler
    /// Called once for each request that is whole.
    let begin: (HTTPExchange, HTTPRequest) -> Void
    /// Called during a drain, when there is one connection or one exchange less.
    let settled: () -> Void

    var connections: [Connection] = []
    /// How many of the connections were refused when they came.
    var refusedConnections = 0
    var exchangesInFlight = 0
    private(set) var isDraining = false
    /// Whether every answer ends its connection.
    private(set) var isParting = false
    private(set) var isStopping = false
    /// Where all sockets are read into. It is overwritten after each read.
    let scratch: UnsafeMutableRawBufferPointer
    var encoder = AnswerEncoder()
    /// How many connections are being read, further up the stack.
    var reading = 0

    private let madeAt = ContinuousClock.now
    private var drainBegan = Duration.zero
    private var listener: Int32 = -1
    private var listenerWatcher: DescriptorWatcher?
    private var acceptTimer: LoopTimer?
    private var sweepTimer: LoopTimer?
    private var sweepDue: Duration?
    private var fallbackTimer: LoopTimer?
    /// What that timer is armed for.
    private var fallbackDue: Duration?
    private let deadlines = DeadlineList()
    private var isOver = false

    init(
        on loop: EventLoop, configuration: HTTPServerConfiguration, handler: any HTTPRequestHandler,
        begin: @escaping (HTTPExchange, HTTPRequest) -> Void, settled: @escaping () -> Void
    ) {
        loop.preconditionOnLoop()
        self.loop = loop
        self.configuration = configuration
        rules = RequestRules(configuration)
        self.handler = handler
        self.begin = begin
        self.settled = settled
        unsafe scratch = .allocate(byteCount: Self.maximumInput, alignment: 1)
    }

    deinit {
        precondition(isOver, "an HTTP server is stopped before it is let go")
        unsafe scratch.deallocate()
    }

    // MARK: Life

    /// The time here: how long ago the server was made, on the clock that goes on while the machine is suspended.
    var time: Duration { madeAt.duration(to: .now) }

    /// Starts to accept.
    func start(listening listener: consuming ListeningSocket) {
        let descriptor = listener.release()
        self.listener = descriptor
        // Every connection inherits them. Without them the system lets each grow to megabytes, for those who read
        // nothing of their answers or send what nobody reads.
        setBuffer(SO_SNDBUF, Self.sendBuffer)
        setBuffer(SO_RCVBUF, Self.receiveBuffer)
        let watcher = DescriptorWatcher(on: loop, descriptor: descriptor) { [unowned self] in accept() }
        watcher.watchReads(true)
        listenerWatcher = watcher
        acceptTimer = LoopTimer(on: loop) { [unowned self] in listenerWatcher?.watchReads(true) }
        sweepTimer = LoopTimer(on: loop) { [unowned self] in sweep() }
        fallbackTimer = LoopTimer(on: loop) { [unowned self] in fallBack() }
    }

    /// Of a connection's answers the system keeps so many bytes, as it counts (twice what is asked for).
    private static let sendBuffer: Int32 = 128 * 1024
    private static let receiveBuffer: Int32 = 64 * 1024

    private func setBuffer(_ option: Int32, _ bytes: Int32) {
        var bytes = bytes
        unsafe _ = setsockopt(listener, SOL_SOCKET, option, &bytes, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Closes the listener; connections that wait in its backlog are reset.
    func stopAccepting() {
        guard listener >= 0 else { return }
        listenerWatcher?.cancel()
        listenerWatcher = nil
        acceptTimer = nil
        closeDescriptor(listener)
        listener = -1
    }

    /// From now on every answer ends its connection.
    func part() { isParting = true }

    /// Lets every connection go as soon as it owes no answer. A request that is still being received has
    /// ``drainGrace`` to arrive, or any stranger could hold a drain up by half a request; and an answer that its peer does
    /// not read goes no further after as long, or anybody could by reading nothing.
    func drain() {
        stopAccepting()
        guard !isDraining else { return }
        isDraining = true
        isParting = true
        drainBegan = time
        for connection in connections where connection.phase == .waiting {
            // What has arrived is taken.
            readable(connection)
            if connection.phase == .waiting { close(connection) }
        }
        keepSweeping()
    }

    /// Ends everything; requests that are being handled are answered with a refusal first. Called while a connection is
    /// being read it waits for the turn's end.
    func stop() {
        guard !isOver else { return }
        guard reading == 0 else {
            loop.atTurnEnd(self)
            return
        }
        isStopping = true
        drain()
        for connection in connections {
            // Their requests may have arrived by now, and are refused.
            if connection.phase == .receiving { readable(connection) }
            if let exchange = connection.exchange, exchange.isHandled {
                answer(exchange, with: handler.refusal(.shuttingDown, of: nil))
            }
        }
        for connection in connections { close(connection) }
        sweepTimer = nil
        fallbackTimer = nil
        isOver = true
    }

    func turnEnds() { stop() }

    // MARK: Accepting

    /// At how many connections no more are accepted: beyond the bound there is room for those that are being refused.
    /// Waiting in the backlog they would hear nothing.
    private var connectionLimit: Int { configuration.maximumConnections + configuration.refusalRoom }
    /// How many connections are accepted before others have their turn.
    private static let acceptsPerTurn = 64
    /// How long nothing is accepted when the system has no descriptors or no memory left.
    private static let acceptPause = Duration.milliseconds(100)

    private func accept() {
        for _ in 0..<Self.acceptsPerTurn {
            guard connections.count < connectionLimit else {
                listenerWatcher?.watchReads(false)
                return
            }
            var address = sockaddr_storage()
            var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let (descriptor, peer) = unsafe withUnsafeMutablePointer(to: &address) { storage in
                let general = unsafe UnsafeMutableRawPointer(storage).assumingMemoryBound(to: sockaddr.self)
                let descriptor = unsafe gryt_accept(listener, general, &size)
                return unsafe (descriptor, PeerAddress(general))
            }
            if descriptor >= 0 {
                open(descriptor, peer)
                continue
            }
            let code = errno
            switch code {
            case EAGAIN: return
            case EMFILE, ENFILE, ENOBUFS, ENOMEM:
                handler.couldNotAccept(code)
                listenerWatcher?.watchReads(false)
                acceptTimer?.arm(after: Self.acceptPause)
                return
            case EBADF, EFAULT, EINVAL, ENOTSOCK: preconditionFailure("the listener is none")
            // Anything else is of that one connection (accept(2)).
            default: continue
            }
        }
    }

    private func open(_ descriptor: Int32, _ peer: PeerAddress) {
        let connection = Connection(descriptor: descriptor, peer: peer, at: time)
        let watcher = DescriptorWatcher(
            on: loop, descriptor: descriptor,
            readable: { [unowned self, unowned connection] in readable(connection) },
            writable: { [unowned self, unowned connection] in writable(connection) })
        connection.watcher = watcher
        connection.index = connections.count
        connections.append(connection)
        watcher.watchReads(true)
        if !admits(connection) {
            refusedConnections += 1
            connection.isRefused = true
            answerLast(connection, with: handler.refusal(.tooManyConnections, of: nil))
        }
        keepSweeping()
    }

    /// Whether the bounds allow one more connection, which is in the list already.
    private func admits(_ connection: Connection) -> Bool {
        guard connections.count - refusedConnections <= configuration.maximumConnections else { return false }
        return configuration.addressCensus?.admit(connection.peer) ?? true
    }

    /// Closes a connection in whatever phase; an answer that it owes is owed no more. Does nothing a second time.
    func close(_ connection: Connection) {
        guard connection.phase != .closed else { return }
        connection.enter(.closed, at: time)
        connection.watcher?.cancel()
        closeDescriptor(connection.descriptor)
        let last = connections.removeLast()
        if last !== connection {
            connections[connection.index] = last
            last.index = connection.index
        }
        if connection.isRefused {
            refusedConnections -= 1
        } else {
            configuration.addressCensus?.leave(connection.peer)
        }
        // There is room for one again.
        listenerWatcher?.watchReads(true)
        endExchange(of: connection)
    }

    // MARK: Time-outs

    /// What a request that is being received gets when a drain begins, and a peer to take some more of its answer.
    private static let drainGrace = Duration.milliseconds(500)
    /// How long a peer may take to read its last answer and close.
    private static let patience = Duration.seconds(2)
    /// The same for a connection that was refused when it came, and for all during a drain.
    private static let shortPatience = Duration.milliseconds(250)

    private var sweepInterval: Duration {
        let usual = min(.seconds(1), configuration.requestTimeout / 4)
        if isDraining { return min(.milliseconds(50), usual) }
        return refusedConnections > 0 ? min(.milliseconds(100), usual) : usual
    }

    /// Has the sweep go round while there are connections; sooner, where it was to go later than it is needed now.
    private func keepSweeping() {
        let interval = sweepInterval
        let due = time + interval
        if let sweepDue, sweepDue <= due { return }
        sweepDue = due
        sweepTimer?.arm(after: interval)
    }

    private func sweep() {
        let now = time
        sweepDue = nil
        guard !connections.isEmpty else { return }
        keepSweeping()
        for connection in connections {
            let age = now - connection.since
            switch connection.phase {
            case .waiting:
                if age > configuration.idleTimeout { close(connection) }
            case .receiving:
                if age > configuration.requestTimeout {
                    answerLast(connection, with: handler.refusal(.requestTimeout, of: nil))
                } else if isDraining && now - drainBegan > Self.drainGrace {
                    answerLast(connection, with: handler.refusal(.shuttingDown, of: nil))
                }
            case .writing:
                let isStuck = isDraining && now - max(drainBegan, connection.tookAt) > Self.drainGrace
                if age > configuration.idleTimeout || isStuck { close(connection) }
            case .lingering:
                if age > (isDraining || connection.isRefused ? Self.shortPatience : Self.patience) {
                    close(connection)
                }
            case .answering, .closed: break
            }
        }
    }

    // MARK: Fallbacks

    private func fallBack() {
        fallbackDue = nil
        let now = time
        while let first = deadlines.first {
            guard first.deadline <= now else {
                armFallback(at: first.deadline, after: first.deadline - now)
                return
            }
            deadlines.remove(first)
            if let fallback = first.fallback { answer(first, with: fallback) }
        }
    }

    /// Keeps a fallback, which is due after that duration, until the exchange is answered.
    func keepDeadline(of exchange: HTTPExchange, for duration: Duration) {
        deadlines.insert(exchange)
        armFallback(at: exchange.deadline, after: duration)
    }

    /// The timer is left alone where it is due earlier, be it for an exchange that has its answer by now: it goes on from
    /// there to the next. Armed for each and forgotten with its answer it would cost more than all the rest of a deadline.
    private func armFallback(at deadline: Duration, after duration: Duration) {
        if let fallbackDue, fallbackDue <= deadline { return }
        fallbackDue = deadline
        fallbackTimer?.arm(after: duration)
    }

    /// Forgets a fallback, if there is one.
    func dropDeadline(of exchange: HTTPExchange) { deadlines.remove(exchange) }
}

/// `close`, where a method of that name is in the way.
func closeDescriptor(_ descriptor: Int32) { close(descriptor) }
