import DeviceStore
import EventLoops
import HTTP2Client
import HTTPServer
import PushModel
import PushServices
import Relay
import Telemetry

/// What one loop does: its HTTP server, its way to the devices, and its connections to the push services.
actor Worker {
    private nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    private let servers: [HTTPServer]
    private let store: any DeviceStore
    private let services: PushServiceSet
    private var pools: [NamedPool]
    private var tokenPool: HTTP2Pool?
    private let ownsTokenPool: Bool
    /// What pools have counted that were replaced.
    private var earlier: [(upstream: Upstream, totals: HTTP2PoolTotals)] = []
    private let observer: LoopObserver
    private let clocks: Clocks
    private var mustHurry = false
    private var isStopped = false

    /// How often the loop's timer is watched.
    static let beatInterval: Duration = .milliseconds(500)
    /// How long a sender that still sends gets to read its last answer, at the end of a drain.
    static let lastReading: Duration = .milliseconds(250)
    /// How long a connection that has just been made gets for its first request, once nobody is let in any more.
    static let lastGrace: Duration = .milliseconds(300)

    /// - Parameters:
    ///   - servers: one for each socket that this loop accepts from.
    ///   - services: what `pools` lead to.
    ///   - ownsTokenPool: whether the pool to Google's token endpoint lives on this loop. Somebody else closes it.
    init(
        on loop: EventLoop, servers: [HTTPServer], store: any DeviceStore, services: PushServiceSet,
        pools: [NamedPool], tokenPool: HTTP2Pool?, ownsTokenPool: Bool, observer: LoopObserver, clocks: Clocks
    ) {
        self.loop = loop
        self.servers = servers
        self.store = store
        self.services = services
        self.pools = pools
        self.tokenPool = tokenPool
        self.ownsTokenPool = ownsTokenPool
        self.observer = observer
        self.clocks = clocks
    }

    /// Starts to take requests.
    func start() async {
        for server in servers { await server.start() }
        Task { await keepBeating() }
    }

    /// Measures how late the loop's timers fire: what a push waits behind other work.
    private func keepBeating() async {
        while !isStopped {
            let due = RunningInstant.now.advanced(by: Self.beatInterval)
            await loop.sleep(for: Self.beatInterval)
            let now = RunningInstant.now
            observer.metrics.beat(late: now.nanoseconds - due.nanoseconds, at: now)
        }
    }

    /// The state of things, for the operator.
    func status() async -> WorkerStatus {
        var status = WorkerStatus(openConnections: await openConnections)
        for named in pools { status.pools.append((named.upstream, await named.pool.snapshot())) }
        if let tokenPool { status.pools.append((.oauth, await tokenPool.snapshot())) }
        for (upstream, totals) in earlier { status.pools.append((upstream, HTTP2PoolSnapshot(totals: totals))) }
        return status
    }

    private var openConnections: Int {
        get async {
            var sum = 0
            for server in servers { sum += await server.openConnections }
            return sum
        }
    }

    // MARK: Other credentials

    /// Trusts these roots from now on, and sends pushes to these platforms with other credentials.
    ///
    /// Pushes that are under way go on over the connections that they began on, which are closed when nobody uses them any
    /// more: a pool closes with its last user. What is new goes over new ones.
    func use(_ upstreams: Upstreams, replacing platforms: [Platform]) async {
        var last: [(upstream: Upstream, totals: HTTP2PoolTotals)] = []
        for named in pools where platforms.contains(named.upstream.platform) {
            last.append((named.upstream, await named.pool.snapshot().totals))
        }
        if let tokenPool, platforms.contains(.android) { last.append((.oauth, await tokenPool.snapshot().totals)) }
        // In one go, or a scrape in between would count a pool twice or not at all.
        for platform in platforms { replace(platform, by: upstreams) }
        for (upstream, totals) in last { remember(totals, of: upstream) }
        for named in pools { await named.pool.use(upstreams.trust) }
        await tokenPool?.use(upstreams.trust)
    }

    private func replace(_ platform: Platform, by upstreams: Upstreams) {
        observer.metrics.platforms[platform].replaceCredentials()
        let opened = upstreams.open(platform, on: loop, clocks: clocks, observer: observer)
        services.replace(platform, by: opened?.service)
        pools.removeAll { $0.upstream.platform == platform }
        pools += opened?.pools ?? []
        if platform == .android, ownsTokenPool { tokenPool = upstreams.fcm?.tokenPool }
    }

    /// Keeps what a pool has counted that is used no more; its connections are as good as closed.
    private func remember(_ totals: HTTP2PoolTotals, of upstream: Upstream) {
        var totals = totals
        totals.closed = totals.opened
        if let index = earlier.firstIndex(where: { $0.upstream == upstream }) {
            earlier[index].totals.opened += totals.opened
            earlier[index].totals.closed += totals.closed
            earlier[index].totals.failedAttempts += totals.failedAttempts
        } else {
            earlier.append((upstream, totals))
        }
    }

    // MARK: The end

    /// Hands the port's connections on to whoever accepts them from now on: every answer ends its connection. Those that
    /// wait for nothing are not closed, for a request may be on its way on them; they have so long to bring it.
    ///
    /// - Parameter accepting: whether new connections are taken meanwhile, because nobody else does yet.
    func letGo(within duration: Duration, accepting: Bool) async {
        for server in servers { await server.part() }
        guard accepting else {
            await stopAccepting()
            return await waitForConnections(to: duration)
        }
        await waitForConnections(to: duration)
        await stopAccepting()
        await waitForConnections(to: Self.lastGrace)
    }

    private func stopAccepting() async {
        for server in servers { await server.stopAccepting() }
    }

    private func waitForConnections(to duration: Duration) async {
        let step = Duration.milliseconds(10)
        var waited = Duration.zero
        while await openConnections > 0, waited < duration, !mustHurry {
            await loop.sleep(for: step)
            waited += step
        }
    }

    /// Takes no new connections, and answers what is in flight, for at most so long.
    ///
    /// - Returns: how many requests had no answer at the end, and were told that the relay is shutting down.
    func drain(within duration: Duration) async -> Int {
        let left = await withTaskGroup(of: Int.self) { group in
            for server in servers { group.addTask { await server.drain(within: duration) } }
            var sum = 0
            for await left in group { sum += left }
            return sum
        }
        // Closed while bytes come in, a connection is reset, and with it goes an answer that was not read yet.
        if left == 0 { await waitForConnections(to: Self.lastReading) }
        for server in servers { await server.stop() }
        return left
    }

    /// Cuts a drain short.
    func hurry() async {
        mustHurry = true
        for server in servers { await server.stop() }
    }

    /// Waits until no request is handled any more, also of those whose senders have their answer already, so that a
    /// late word about a dead phone is still heard and everything is counted. At most for so long.
    func settle(within duration: Duration) async {
        let step = Duration.milliseconds(10)
        var waited = Duration.zero
        while await handlersRunning > 0, waited < duration, !mustHurry {
            await loop.sleep(for: step)
            waited += step
        }
    }

    private var handlersRunning: Int {
        get async {
            var sum = 0
            for server in servers { sum += await server.handlersRunning }
            return sum
        }
    }

    /// Ends everything that is still open.
    func stop() async {
        isStopped = true
        for named in pools { await named.pool.close() }
        await store.close()
    }
}

/// What one loop says to the operator.
struct WorkerStatus: Sendable {
    /// Connections to the public port.
    var openConnections: Int
    /// Connections to push services.
    var pools: [(upstream: Upstream, snapshot: HTTP2PoolSnapshot)] = []
}

extension Upstream {
    /// Whose phones are reached by it.
    var platform: Platform {
        switch self {
        case .apns, .apnsSandbox: .ios
        case .fcm, .oauth: .android
        }
    }
}
