import EventLoops
import HTTP2Client
import HTTPServer
import SQLiteDeviceStore

/// Starts what was put together, and ends it in order. Lives on the first loop.
actor Conductor {
    private nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// The port that is listened on: where 0 was asked for, the one that the system chose.
    nonisolated let port: Int

    /// The loops that requests live on.
    nonisolated let loops: [EventLoop]

    private let workers: [Worker]
    private let housekeeping: Housekeeping
    private let operatorPort: OperatorPort?
    private let database: SQLiteDatabase
    private let tokenPool: HTTP2Pool?
    private let shutdownTimeout: Duration
    private var isDraining = false

    /// How long, after the last answer, pushes may go on whose senders were told of a timeout before.
    static let longestSettling: Duration = .seconds(5)

    init(
        loops: [EventLoop], workers: [Worker], housekeeping: Housekeeping,
        operatorPort: OperatorPort?, database: SQLiteDatabase,
        tokenPool: HTTP2Pool?, shutdownTimeout: Duration, port: Int
    ) {
        self.loop = loops[0]
        self.loops = loops
        self.workers = workers
        self.housekeeping = housekeeping
        self.operatorPort = operatorPort
        self.database = database
        self.tokenPool = tokenPool
        self.shutdownTimeout = shutdownTimeout
        self.port = port
    }

    /// Takes requests on every loop.
    func start() async {
        for worker in workers { await worker.start() }
        await housekeeping.start()
        await operatorPort?.start()
    }

    /// The operator's port; nil when there is none.
    nonisolated var metricsPort: Int? { operatorPort.map { Int($0.server.port) } }

    /// How a drain ended.
    enum Drained: Sendable {
        /// The process may end; so many requests were cut short.
        case finished(cutShort: Int)
        /// Another drain is under way, and has been told to hurry.
        case hurried
    }

    /// Drains and ends: no new connections, everything in flight answered, counts written. A second call hurries: what is
    /// still in flight is told that the relay is shutting down.
    func drain() async -> Drained {
        if isDraining {
            for worker in workers { await worker.hurry() }
            return .hurried
        }
        isDraining = true
        await operatorPort?.desk.beginDrain()
        let timeout = shutdownTimeout
        let began = ContinuousClock.now
        let cutShort = await withTaskGroup(of: Int.self) { group in
            for worker in workers { group.addTask { await worker.drain(within: timeout) } }
            var sum = 0
            for await left in group { sum += left }
            return sum
        }
        // Within what is left of the time: a stop takes no longer than the operator has said.
        let settling = min(Self.longestSettling, max(timeout - (ContinuousClock.now - began), .zero))
        await withTaskGroup(of: Void.self) { group in
            for worker in workers { group.addTask { await worker.settle(within: settling) } }
        }
        await housekeeping.end()
        // It answers to the last, so that nobody takes a long drain for a crash.
        await operatorPort?.stop()
        for worker in workers { await worker.stop() }
        await tokenPool?.close()
        await database.close()
        return .finished(cutShort: cutShort)
    }
}

/// The operator's listener and who answers it, both on a loop of their own.
struct OperatorPort: Sendable {
    let desk: OperatorDesk
    let server: HTTPServer

    /// Starts to answer.
    func start() async {
        await server.start()
        await desk.start()
    }

    /// Answers what is being asked, and no more.
    func stop() async {
        _ = await server.drain(within: .seconds(1))
        await server.stop()
        await desk.close()
    }
}
