import EventLoops
import Glibc
import HTTP2Client
import HTTPServer
import Limits
import PushModel
import PushServices
import Relay
import SQLiteDeviceStore
import Telemetry

/// Starts what was put together, changes it at a reload, and ends it in order. Lives on the first loop.
actor Conductor {
    private nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// What it conducts.
    struct Parts: Sendable {
        /// The loops that requests live on; one or more.
        let loops: [EventLoop]
        /// One for each of them.
        let workers: [Worker]
        let housekeeping: Housekeeping
        let operatorPort: OperatorPort?
        let database: SQLiteDatabase
        let credentials: CredentialBook
        let shared: RelayShared
        let upstreamMaker: UpstreamMaker
    }

    /// The address that is listened on.
    nonisolated let host: String
    /// The port that is listened on: where 0 was asked for, the one that the system chose.
    nonisolated let port: Int

    /// The loops that requests live on.
    nonisolated var loops: [EventLoop] { parts.loops }

    private nonisolated let parts: Parts
    private var predecessor: Predecessor?
    private let isPortKept: Bool
    private let report: OperatorReport
    private var estate: Estate?
    private var door: SuccessionDoor?
    private var shutdownTimeout: Duration
    private var isDraining = false
    private var isHurried = false
    /// Armed by a hurry, while something is waited for that the disk may hold up.
    private var patience: LoopTimer?

    /// How long, after the last answer, pushes may go on whose senders were told of a timeout before.
    static let longestSettling: Duration = .seconds(5)
    /// How long senders have to send one more request on a connection that they keep, where a service manager keeps the
    /// port and starts the next process only when this one has ended.
    static let longestPartingBeforeAGap: Duration = .seconds(2)

    /// How long, once there is a hurry, the disk has for each of two things: the last counts, and the store's end.
    static let hurriedPatience: Duration = .milliseconds(500)

    /// - Parameters:
    ///   - estate: what a successor gets.
    ///   - predecessor: what is to be told once this serves.
    ///   - isPortKept: whether the public port's socket outlives the process.
    init(
        parts: Parts, estate: Estate, predecessor: Predecessor?, isPortKept: Bool, shutdownTimeout: Duration,
        report: OperatorReport, host: String, port: Int
    ) {
        self.loop = parts.loops[0]
        self.parts = parts
        self.estate = estate
        self.predecessor = predecessor
        self.isPortKept = isPortKept
        self.shutdownTimeout = shutdownTimeout
        self.report = report
        self.host = host
        self.port = port
    }

    /// Takes requests on every loop; the relay that ran before takes none from then on. Where ``drain(for:)`` has come
    /// first, that one goes on as if nothing had been.
    ///
    /// - Parameter succeeded: called once, should another process take the place of this one: ``drain(for:)`` is due then.
    /// - Returns: whether this one serves.
    func start(succeeded: @escaping @Sendable (pid_t) -> Void) async -> Bool {
        for worker in parts.workers { await worker.start() }
        await parts.housekeeping.start()
        await parts.operatorPort?.start()
        guard !isDraining else { return false }
        if let predecessor {
            predecessor.letGo()
            report.tookOver(from: predecessor.process)
        }
        // It holds on to all that it left.
        predecessor = nil
        guard let estate else { return true }
        let report = report
        let door = SuccessionDoor(
            on: loop, estate: estate, told: { report.atDoor($0, $1) },
            couldNotAccept: { report.couldNotAccept($0) }, succeeded: { succeeded($0) })
        door.open()
        self.door = door
        return true
    }

    /// Where the operator's port is; nil when there is none.
    nonisolated var operatorAddress: (host: String, port: Int)? {
        parts.operatorPort.map { ($0.host, Int($0.server.port)) }
    }

    // MARK: A reload

    /// Brings other settings into force. No push is dropped for it, and no limit forgets what it has counted.
    func reload(_ change: SettingsChange) async {
        guard !isDraining else { return }
        parts.credentials.metrics.reloads[.applied].add()
        let settings = change.settings
        let shared = parts.shared
        shared.pushesByAddress.change(limit: settings.pushesPerMinutePerAddress)
        shared.pushesByCapability.change(limit: settings.pushesPerMinutePerDevice)
        shared.registrationsByAddress.change(limit: settings.registrationsPerHour)
        shared.budget.change(to: settings.pushBudget)
        shutdownTimeout = settings.shutdownTimeout
        await parts.housekeeping.use(idleDays: settings.idleDays)
        let before = parts.credentials.upstreams
        let upstreams = parts.upstreamMaker.make(settings, trust: change.trust, changed: change.applied, from: before)
        parts.credentials.replace(by: upstreams)
        let replaced = change.replacedPlatforms
        for worker in parts.workers { await worker.use(upstreams, replacing: replaced) }
        for platform in replaced { shared.guardian.startAnew(platform) }
        shared.guardian.askAgain()
        upstreams.startAnew(at: parts.shared.clocks.monotonic())
    }

    /// Counts a reload whose settings could not be right; nothing else comes of it.
    func refusedReload() { parts.credentials.metrics.reloads[.refused].add() }

    // MARK: The end

    /// Why it ends.
    enum Cause: Sendable {
        /// Somebody said so.
        case asked
        /// Another process serves in its place.
        case succeeded
    }

    /// How a drain ended.
    enum Drained: Sendable {
        /// The process may end; so many requests were cut short.
        case finished(cutShort: Int)
        /// Another drain is under way, and has been told to hurry.
        case hurried
    }

    /// Drains and ends: not ready any more, no new connections, everything in flight answered, counts written. A second
    /// call hurries: what is still in flight is told that the relay is shutting down, and a disk that hangs, or that another
    /// process keeps, holds the end up no longer than a second. The database bears an end at any moment.
    func drain(for cause: Cause) async -> Drained {
        if isDraining {
            if !isHurried { patience?.arm(after: Self.hurriedPatience) }
            isHurried = true
            for worker in parts.workers { await worker.hurry() }
            return .hurried
        }
        isDraining = true
        // What others do not have by now they do not get any more, or connections would wait where nobody accepts.
        door?.close()
        estate = nil
        let timeout = shutdownTimeout
        let began = ContinuousClock.now
        func left() -> Duration { max(timeout - (ContinuousClock.now - began), .zero) }
        await parts.operatorPort?.desk.beginDrain()
        switch cause {
        case .asked where isPortKept:
            await letGo(within: min(Self.longestPartingBeforeAGap, timeout / 4), accepting: true)
        case .asked: break
        case .succeeded:
            // The successor answers there from now on.
            await parts.operatorPort?.stop()
            await letGo(within: timeout / 2, accepting: false)
        }
        let drainTime = left()
        let cutShort = await withTaskGroup(of: Int.self) { group in
            for worker in parts.workers { group.addTask { await worker.drain(within: drainTime) } }
            var sum = 0
            for await left in group { sum += left }
            return sum
        }
        // Within what is left of the time: a stop takes no longer than the operator has said.
        let settling = min(Self.longestSettling, left())
        await withTaskGroup(of: Void.self) { group in
            for worker in parts.workers { group.addTask { await worker.settle(within: settling) } }
        }
        let housekeeping = parts.housekeeping
        if await !finish({ await housekeeping.end() }) { report.countsInDoubt() }
        // It answers to the last, so that nobody takes a long drain for a crash.
        if case .asked = cause { await parts.operatorPort?.stop() }
        for worker in parts.workers { await worker.stop() }
        await parts.credentials.upstreams.fcm?.tokenPool.close()
        let database = parts.database
        _ = await finish { await database.close() }
        return .finished(cutShort: cutShort)
    }

    /// Waits for something that the disk may hold up: to its end, or, once there is a hurry, for ``hurriedPatience``.
    ///
    /// - Returns: whether it has ended; if not, it goes on, and nobody waits for it.
    private func finish(_ work: @escaping @Sendable () async -> Void) async -> Bool {
        let (ends, said) = AsyncStream<Bool>.makeStream()
        patience = loop.timer(for: self) { _ in said.yield(false) }
        defer { patience = nil }
        if isHurried { patience?.arm(after: Self.hurriedPatience) }
        Task {
            await work()
            said.yield(true)
        }
        for await hasEnded in ends { return hasEnded }
        return false
    }

    private func letGo(within duration: Duration, accepting: Bool) async {
        await withTaskGroup(of: Void.self) { group in
            for worker in parts.workers { group.addTask { await worker.letGo(within: duration, accepting: accepting) } }
        }
    }
}

/// The operator's listener and who answers it, both on a loop of their own.
struct OperatorPort: Sendable {
    let desk: OperatorDesk
    let server: HTTPServer
    /// The address that is listened on.
    let host: String

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
