import DeviceStore
import EventLoops
import HTTP2Client
import HTTPServer
import PushModel
import Telemetry

/// What one loop does: its HTTP server, its way to the devices, and its connections to the push services.
actor Worker {
    private nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    private let server: HTTPServer
    private let store: any DeviceStore
    private let pools: [NamedPool]
    private let tokenPool: HTTP2Pool?
    private let metrics: LoopMetrics
    private let clocks: Clocks
    private var mustHurry = false
    private var isStopped = false

    /// How often the loop's timer is watched.
    static let beatInterval: Duration = .milliseconds(500)

    /// - Parameter tokenPool: the pool to Google's token endpoint where it lives on this loop. Somebody else closes it.
    init(
        on loop: EventLoop, server: HTTPServer, store: any DeviceStore, pools: [NamedPool], tokenPool: HTTP2Pool?,
        metrics: LoopMetrics, clocks: Clocks
    ) {
        self.loop = loop
        self.server = server
        self.store = store
        self.pools = pools
        self.tokenPool = tokenPool
        self.metrics = metrics
        self.clocks = clocks
    }

    /// Starts to take requests.
    func start() async {
        await server.start()
        Task { await keepBeating() }
    }

    /// Measures how late the loop's timers fire: what a push waits behind other work.
    private func keepBeating() async {
        while !isStopped {
            let due = clocks.monotonic().advanced(by: Self.beatInterval)
            await loop.sleep(for: Self.beatInterval)
            let now = clocks.monotonic()
            metrics.beat(late: now.nanoseconds - due.nanoseconds, at: now)
        }
    }

    /// The state of things, for the operator.
    func status() async -> WorkerStatus {
        var status = WorkerStatus(openConnections: await server.openConnections)
        for named in pools { status.pools.append((named.upstream, await named.pool.snapshot())) }
        if let tokenPool { status.pools.append((.oauth, await tokenPool.snapshot())) }
        return status
    }

    /// Takes no new connections, and answers what is in flight, for at most so long.
    ///
    /// - Returns: how many requests had no answer at the end, and were told that the relay is shutting down.
    func drain(within duration: Duration) async -> Int {
        let left = await server.drain(within: duration)
        await server.stop()
        return left
    }

    /// Cuts a drain short.
    func hurry() async {
        mustHurry = true
        await server.stop()
    }

    /// Waits until no request is handled any more, also of those whose senders have their answer already, so that a
    /// late word about a dead phone is still heard and everything is counted. At most for so long.
    func settle(within duration: Duration) async {
        let step = Duration.milliseconds(10)
        var waited = Duration.zero
        while await server.handlersRunning > 0, waited < duration, !mustHurry {
            await loop.sleep(for: step)
            waited += step
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
