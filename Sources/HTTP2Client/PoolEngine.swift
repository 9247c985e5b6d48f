import EventLoops

/// What ``HTTP2Pool`` is made of: the table of requests, the waiting line, the deadlines and the connections.
///
/// A plain class of the loop's thread, so that sockets, timers and nghttp2 call it directly; the actor in front of it
/// is the only way in for everybody else. Nothing here is called from another thread.
@safe final class PoolEngine {
    let loop: EventLoop
    let origin: Origin
    let proxy: HTTPProxy?
    let authority: String
    let configuration: HTTP2PoolConfiguration
    /// For connections opened from now on.
    var trust: TLSTrust
    /// Where connections read into, one after the other.
    let readBuffer: UnsafeMutableRawBufferPointer
    /// The moment of the event that is being worked on.
    var now = Moment.now

    private let resolve: Resolve
    private let observer: (@Sendable (HTTP2ConnectionEvent) -> Void)?
    private let retainedNames: [String]
    private(set) var connections: [HTTP2Connection] = []
    /// When connections are opened.
    var plan: PoolPlan
    /// Which of the origin's addresses are worth a try.
    var addresses = AddressMemory()

    private(set) var exchanges: [Exchange] = []
    private var free: [Int] = []
    private(set) var waiting = LinkedSlots(lists: WaitingLine.allCases.count)
    private(set) var waitingCount = 0
    private var pendingCount = 0
    private var wheel = DeadlineWheel(now: .now)
    private var wheelTimer: LoopTimer?
    private var wheelArmedFor = Moment(nanoseconds: .max)
    private var planTimer: LoopTimer?
    private var isQuiescing = false
    private var quiesceWaiters: [CheckedContinuation<Void, Never>] = []
    private(set) var totals = HTTP2PoolTotals()

    init(
        on loop: EventLoop, origin: Origin, proxy: HTTPProxy?, trust: TLSTrust, configuration: HTTP2PoolConfiguration,
        resolve: @escaping Resolve, observer: (@Sendable (HTTP2ConnectionEvent) -> Void)?
    ) {
        precondition(
            configuration.initialStreamLimit >= 0 && configuration.maximumConnections > 0
                && configuration.openingBurst > 0, "a configuration under which no request could ever be sent")
        self.loop = loop
        self.origin = origin
        self.proxy = proxy
        self.resolve = resolve
        self.trust = trust
        self.configuration = configuration
        self.observer = observer
        authority = origin.authority
        retainedNames = configuration.retainedHeaders
        plan = PoolPlan(configuration)
        unsafe readBuffer = .allocate(byteCount: 64 * 1024, alignment: 16)
    }

    deinit {
        unsafe readBuffer.deallocate()
    }

    // MARK: Requests

    /// Takes a request in: on a connection at once, into a waiting line, or not at all.
    func accept(
        _ request: HTTP2Request, timeout: Duration, leavingWithin: Duration?, avoiding avoided: HTTP2ConnectionID?,
        _ continuation: UnsafeContinuation<Exchange.Answer, Never>
    ) {
        now = .now
        if let refusal = refusal(of: request) {
            unsafe continuation.resume(returning: .failure(refusal))
            return
        }
        let exchange = takeExchange()
        unsafe exchange.begin(request, continuation, now: now)
        pendingCount += 1
        exchange.avoided = avoided
        exchange.deadline = now + min(timeout.wholeNanoseconds, configuration.requestTimeout.wholeNanoseconds)
        let line = WaitingLine(exchange)
        if waiting.first(of: line.rawValue) == nil, let connection = roomiest(for: exchange),
            connection.send(exchange, now: now)
        {
            watch(exchange, until: exchange.deadline)
            return
        }
        exchange.leavesBy = min(leavingWithin.map { now + $0 } ?? exchange.deadline, exchange.deadline)
        watch(exchange, until: exchange.leavesBy)
        waiting.append(exchange.slot, to: line.rawValue)
        waitingCount += 1
        replan()
    }

    private func watch(_ exchange: Exchange, until deadline: Moment) {
        wheel.insert(exchange.slot, deadline: deadline)
        armWheel(for: deadline + DeadlineWheel.tickLength)
    }

    private func refusal(of request: HTTP2Request) -> HTTP2Failure? {
        guard !isQuiescing else { return .notSent(.closing) }
        let view = view(body: request.body.count)
        if let reason = plan.refusal(view, now: now) {
            replan()
            return .unreachable(reason)
        }
        let mustWait = waitingCount > 0 || !view.hasRoom
        return mustWait && waitingCount >= configuration.waitingLimit ? .overloaded : nil
    }

    /// Answers a caller before the deadline. The exchange itself is kept until ``release(_:)``.
    func conclude(_ exchange: Exchange, _ answer: Exchange.Answer) {
        wheel.remove(exchange.slot)
        resume(exchange, answer)
    }

    private func resume(_ exchange: Exchange, _ answer: Exchange.Answer) {
        pendingCount -= 1
        // What a connection still answers after its goodbye says nothing about the next one.
        if case .success = answer, exchange.connection?.state.isUsable == true { plan.answered(now: now) }
        exchange.resume(answer)
        if isQuiescing, pendingCount == 0 { finishQuiescing() }
    }

    /// Takes an exchange back that no stream knows any more.
    func release(_ exchange: Exchange) {
        exchange.reset()
        free.append(exchange.slot)
    }

    private func takeExchange() -> Exchange {
        if let slot = free.popLast() { return exchanges[slot] }
        let exchange = Exchange(slot: exchanges.count)
        exchanges.append(exchange)
        return exchange
    }

    /// Sends what waits, as far as there is room.
    func fill() {
        guard waitingCount > 0 else { return }
        now = .now
        for line in WaitingLine.allCases {
            while let slot = waiting.first(of: line.rawValue) {
                let exchange = exchanges[slot]
                guard let connection = roomiest(for: exchange) else { break }
                // Where the machine stood still, a connection may stand before the timer has told that it is too late.
                guard now < exchange.leavesBy else {
                    wheel.remove(slot)
                    expire(exchange)
                    continue
                }
                guard connection.send(exchange, now: now) else { continue }
                waiting.remove(slot, from: line.rawValue)
                waitingCount -= 1
                // It may have been watched for its leaving alone.
                wheel.remove(slot)
                watch(exchange, until: exchange.deadline)
            }
        }
        if waitingCount > 0 { replan() }
    }

    /// The name that the configuration retains, if this is one.
    func retained(_ name: UnsafeBufferPointer<UInt8>) -> String? {
        retainedNames.first { known in
            unsafe known.utf8.count == name.count && known.utf8.elementsEqual(name)
        }
    }

    // MARK: Deadlines

    private func armWheel(for moment: Moment) {
        guard moment < wheelArmedFor else { return }
        wheelArmedFor = moment
        if wheelTimer == nil { wheelTimer = LoopTimer(on: loop) { [unowned self] in deadlinesHaveCome() } }
        wheelTimer?.arm(after: moment.duration(since: now))
    }

    private func deadlinesHaveCome() {
        now = .now
        wheelArmedFor = Moment(nanoseconds: .max)
        while let slot = wheel.takeExpired(now: now) {
            expire(exchanges[slot])
        }
        if let next = wheel.nextTick { armWheel(for: next) }
        fill()
    }

    private func expire(_ exchange: Exchange) {
        guard let connection = exchange.connection else {
            waiting.remove(exchange.slot, from: WaitingLine(exchange).rawValue)
            waitingCount -= 1
            for connection in connections { connection.waitedInVain(since: exchange.arrived, now: now) }
            let late = connections.contains { $0.state.isUsable } ? nil : connections.compactMap(\.state.waitsFor).first
            resume(exchange, .failure(late.map { .unreachable($0) } ?? .notSent(.waitedTooLong)))
            release(exchange)
            return
        }
        // A status without the rest is an answer all the same.
        resume(exchange, exchange.response.map { .success($0) } ?? .failure(.unknownOutcome(.timeout)))
        connection.abandon(exchange, now: now)
    }

    // MARK: Connections

    /// Opens, or sees to it that somebody looks again in time.
    func replan() {
        guard !isQuiescing || pendingCount > 0 else { return }
        now = .now
        let first = WaitingLine.allCases.lazy.compactMap { self.waiting.first(of: $0.rawValue) }.first
        let next = first.map { exchanges[$0].request.body.count } ?? 0
        switch plan.step(view(body: next), now: now) {
        case .nothing: break
        case .lookAgain(let moment):
            if planTimer == nil { planTimer = LoopTimer(on: loop) { [unowned self] in timeToLookHasCome() } }
            planTimer?.arm(after: moment.duration(since: now))
        case .open:
            // Where there is another address, what is silent is not asked again by the same, be it before or after TLS stands.
            for connection in connections
            where connection.state.isSilent(at: now) || connection.state.phase == .handshaking {
                avoidAddress(of: connection)
            }
            let connection = HTTP2Connection(id: .fresh(), engine: self)
            connections.append(connection)
            connection.start()
            // It may hang, and then there is one more to be opened.
            replan()
        }
    }

    private func timeToLookHasCome() {
        now = .now
        fill()
        replan()
    }

    /// Where requests go, and by which way.
    var route: Route {
        Route(
            origin: origin, proxy: proxy, resolve: resolve,
            uselessAddresses: { [weak self] in self?.addresses.useless(now: .now) ?? [] },
            found: { [weak self] in self?.addresses.found($0, isUseful: $1, now: .now) })
    }

    /// A connection takes requests: those that asked to be replaced may go, those that are silent go, and whatever else
    /// was on its way because nobody knew which would arrive is not needed.
    func opened(_ connection: HTTP2Connection) {
        now = .now
        totals.opened += 1
        report(.opened(connection.id))
        for other in connections where other !== connection {
            if other.state.isConnecting {
                other.end(.closing)
            } else if other.state.isSilent(at: now) {
                giveUp(other)
            } else if other.state.wantsReplacement {
                other.retire(.replaced)
            }
        }
        fill()
        replan()
    }

    /// An attempt has come to nothing. Whoever waits for it learns that now, unless another connection is there.
    func gaveUp(_ connection: HTTP2Connection, _ reason: Unreachable) {
        now = .now
        totals.failedAttempts += 1
        // TCP may stand by an address over which TLS never does: by one that loses all large packets, say.
        avoidAddress(of: connection)
        report(.failed(reason))
        forget(connection, fault: reason)
    }

    /// A connection is gone, and everything that was in flight on it is answered now.
    func ended(_ connection: HTTP2Connection, _ end: HTTP2ConnectionEnd) {
        now = .now
        guard !connection.state.isConnecting else {
            forget(connection, fault: nil)
            return
        }
        totals.closed += 1
        for exchange in exchanges where exchange.connection === connection {
            if exchange.isPending { conclude(exchange, connection.fate(of: exchange, end)) }
            release(exchange)
        }
        report(.closed(connection.id, end))
        forget(connection, fault: connection.state.fault(end))
    }

    private func forget(_ connection: HTTP2Connection, fault: Unreachable?) {
        now = .now
        connections.removeAll { $0 === connection }
        if let fault {
            plan.failed(fault, isWanted: waitingCount > 0, now: now, lot: Double.random(in: 0...1))
            let view = view(body: 0)
            let isAnyLeft = connections.contains { $0.state.isUsable || $0.state.isConnecting }
            if !isAnyLeft { failWaiting(.anywhere, .unreachable(fault)) }
            if !isAnyLeft || view.connecting == 0 && view.needsAnother {
                failWaiting(.elsewhere, .unreachable(fault))
            }
        }
        fill()
        replan()
    }

    /// Opens no connection for a while.
    func pause(_ fault: Unreachable) {
        plan.failed(fault, isWanted: waitingCount > 0, now: .now, lot: Double.random(in: 0...1))
    }

    /// Whether one of the connections may go because it is idle.
    func maySpareOne() -> Bool {
        connections.count { $0.state.isUsable } > configuration.minimumConnections
    }

    func failWaiting(_ line: WaitingLine, _ failure: HTTP2Failure) {
        while let slot = waiting.first(of: line.rawValue) {
            waiting.remove(slot, from: line.rawValue)
            waitingCount -= 1
            conclude(exchanges[slot], .failure(failure))
            release(exchanges[slot])
        }
    }

    /// Trusts these roots from now on. What failed for the others' sake need not fail again, so nobody backs off any more.
    func use(_ trust: TLSTrust) {
        self.trust = trust
        plan.startAnew()
        replan()
    }

    func report(_ event: HTTP2ConnectionEvent) { observer?(event) }

    // MARK: The end

    /// Takes no more requests; `continuation` resumes when all are answered.
    func quiesce(_ continuation: CheckedContinuation<Void, Never>) {
        isQuiescing = true
        quiesceWaiters.append(continuation)
        if pendingCount == 0 { finishQuiescing() }
    }

    private func finishQuiescing() {
        planTimer?.disarm()
        for connection in connections {
            if connection.state.isConnecting { connection.end(.closing) } else { connection.retire(.quiesced) }
        }
        let waiters = quiesceWaiters
        quiesceWaiters = []
        for waiter in waiters { waiter.resume() }
    }

    /// Ends everything now.
    func close() {
        isQuiescing = true
        for line in WaitingLine.allCases { failWaiting(line, .notSent(.closing)) }
        for connection in connections { connection.end(.closing) }
        wheelTimer?.disarm()
        finishQuiescing()
    }

    /// The state of things, for the metrics.
    var snapshot: HTTP2PoolSnapshot {
        var snapshot = HTTP2PoolSnapshot(totals: totals)
        for connection in connections {
            switch connection.state.phase {
            case .resolving, .racing, .tunnelling, .handshaking: snapshot.connecting += 1
            case .open:
                snapshot.open += 1
                snapshot.streamLimit += connection.state.limit
            case .draining: snapshot.draining += 1
            }
            snapshot.inFlight += connection.state.inFlight
        }
        snapshot.waiting = waitingCount
        snapshot.lastFault = plan.lastFault
        snapshot.isQuiescing = isQuiescing
        return snapshot
    }
}
