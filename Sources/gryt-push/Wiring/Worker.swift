import DeviceStore
import EventLoops
import HTTP2Client
import HTTPServer

/// What one loop does: its HTTP server, its way to the devices, and its connections to the push services.
actor Worker {
    private nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    private let server: HTTPServer
    private let store: any DeviceStore
    private let pools: [HTTP2Pool]
    private var mustHurry = false

    init(on loop: EventLoop, server: HTTPServer, store: any DeviceStore, pools: [HTTP2Pool]) {
        self.loop = loop
        self.server = server
        self.store = store
        self.pools = pools
    }

    /// Starts to take requests.
    func start() async throws(HTTPServerError) {
        try await server.start()
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
        for pool in pools { await pool.close() }
        await store.close()
    }
}
