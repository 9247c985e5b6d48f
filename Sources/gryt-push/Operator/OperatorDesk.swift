import DeviceStore
import EventLoops
import HTTP2Client
import Limits
import PushModel
import PushServices
import Relay
import RelayAPI
import SQLiteDeviceStore
import Telemetry

/// Answers the operator's port. Lives on a loop of its own, with a connection of its own to the database, so that no
/// question of the operator's ever delays a push.
actor OperatorDesk: OperatorSource {
    private nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// How long a busy loop is waited for. A scrape then goes without it.
    static let patience: Duration = .milliseconds(250)
    /// A loop that has not gone round for so long is dead, and the process with it.
    static let longestSilence: Duration = .seconds(30)

    private let version: String
    private let dataDirectory: String
    private let clocks: Clocks
    private let shared: RelayShared
    private let credentials: CredentialBook
    private let workers: [Worker]
    private let database: SQLiteDatabase
    private let store: any DeviceStore

    private let sums: CountedSums
    private var window = RecentWindow()
    /// Which workers owe an answer.
    private var unanswered: [Bool]
    /// Questions that wait for the workers' answers.
    private var rounds: [Round] = []
    /// What each worker said last.
    private var latest: [WorkerStatus?]
    private var isDraining = false
    private var isClosed = false
    private let startedAt: MonotonicInstant
    private let processStart = ProcessReading.startNanoseconds()

    private var counters: RelayMetrics { credentials.metrics }

    /// - Parameter store: on this loop.
    init(
        on loop: EventLoop, settings: Settings, clocks: Clocks, shared: RelayShared, credentials: CredentialBook,
        workers: [Worker], database: SQLiteDatabase, store: any DeviceStore
    ) {
        self.loop = loop
        version = settings.version
        dataDirectory = settings.dataDirectory
        self.clocks = clocks
        self.shared = shared
        self.credentials = credentials
        self.workers = workers
        self.database = database
        self.store = store
        sums = CountedSums(store: store, tally: shared.tally, clocks: clocks) {
            await loop.sleep(for: CountedSums.pause)
        }
        unanswered = workers.map { _ in false }
        latest = workers.map { _ in nil }
        startedAt = clocks.monotonic()
    }

    /// Begins to take a reading now and then, for what is told of the last minutes.
    func start() {
        Task { await keepReading() }
    }

    /// Says from now on that the relay is draining.
    func beginDrain() { isDraining = true }

    /// Ends its use of the store.
    func close() async {
        isClosed = true
        await store.close()
    }

    private func keepReading() async {
        while !isClosed {
            window.note(.init(platforms: PerPlatform { counters.platform($0) }, lag: counters.lag))
            await loop.sleep(for: RecentWindow.interval)
        }
    }

    // MARK: What is asked

    func metrics() async -> [UInt8] {
        var facts = await facts()
        do throws(StoreError) {
            facts.devices = try await store.deviceCounts()
            facts.allTime = try await sums.allTime()
        } catch {
            facts.devices = nil
        }
        return MetricsPage.text(facts)
    }

    func snapshot(days: Int) async -> OperatorSnapshot {
        var facts = await facts()
        let statistics = await statistics(days: days)
        facts.devices = statistics?.devices
        let diagnosis = Diagnosis(facts)
        return OperatorSnapshot(
            version: version, now: facts.reckoning.wall,
            uptime: facts.reckoning.monotonic.duration(since: startedAt), isDraining: isDraining,
            checks: diagnosis.checks, statistics: statistics,
            credentials: Platform.allCases.map { facts.credentials[$0] }, connections: facts.upstreams.map(\.snapshot),
            latencies: latencies(facts), pushesInFlight: facts.pushesInFlight, silentLoops: facts.silentLoops,
            problems: diagnosis.problems)
    }

    func statistics(days: Int) async -> DailyStatistics? {
        do throws(StoreError) {
            return try await sums.daily(from: DailyStatistics.first(of: days, until: clocks.wall().day))
        } catch {
            return nil
        }
    }

    func checks() async -> [ReadinessCheck] {
        var facts = localFacts()
        facts.devices = try? await store.deviceCounts()
        return Diagnosis(facts).checks
    }

    func isAlive() -> Bool {
        let now = RunningInstant.now
        return isDraining || counters.loops.allSatisfy { $0.silence(at: now) < Self.longestSilence }
    }

    private func latencies(_ facts: OperatorFacts) -> [LatencySnapshot] {
        Platform.allCases.filter { credentials.isSet($0) }.map { platform in
            let recent = facts.recent[platform].upstream
            return LatencySnapshot(
                platform: platform, answers: recent.count,
                median: recent.quantile(0.5).map { .nanoseconds($0) },
                p99: recent.quantile(0.99).map { .nanoseconds($0) },
                lastSuccess: facts.platforms[platform].lastSuccess.map { facts.reckoning.instant($0) })
        }
    }

    // MARK: Gathering

    /// What the loops say, and what is known without asking them.
    private func facts() async -> OperatorFacts {
        let statuses = await askWorkers()
        var facts = localFacts()
        facts.silentLoops = statuses.count { $0 == nil }
        facts.upstreams = credentials.upstreams.names.map { UpstreamFacts($0) }
        for (index, status) in statuses.enumerated() {
            if let status { latest[index] = status }
            guard let known = latest[index] else { continue }
            if let status { facts.openConnections += status.openConnections }
            for (upstream, pool) in known.pools {
                guard let place = facts.upstreams.firstIndex(where: { $0.snapshot.upstream == upstream }) else {
                    continue
                }
                // Of a silent loop nobody knows the state, but what it has counted it has counted.
                if status != nil { facts.upstreams[place].add(pool) } else { facts.upstreams[place].add(pool.totals) }
            }
        }
        return facts
    }

    /// What is known without asking anybody: counters, atomics, and what the system says.
    private func localFacts() -> OperatorFacts {
        let reckoning = WallReckoning(clocks)
        let platforms = PerPlatform { counters.platform($0) }
        let lag = counters.lag
        return OperatorFacts(
            version: version, reckoning: reckoning, startedAt: startedAt, isDraining: isDraining,
            writer: database.statistics, isDatabaseReplaced: database.isReplaced,
            disk: DiskReading.of(directory: dataDirectory), process: .now(),
            processStart: processStart, credentials: PerPlatform { credentials.snapshot($0, reckoning) },
            platforms: platforms, recent: PerPlatform { window.recent($0, platforms[$0]) },
            massDeathSuspected: PerPlatform { shared.guardian.isSuspicious($0, at: reckoning.monotonic) },
            breakers: credentials.upstreams.breakers.map { BreakerFacts($0) },
            pace: credentials.upstreams.fcm.map {
                PaceFacts(limit: $0.pace.limit(at: reckoning.monotonic), heldBack: $0.pace.heldBack)
            },
            pushesInFlight: shared.permits.inUse, pushesInFlightLimit: shared.permits.limit,
            refusals: counters.refusals, accessTokens: counters.accessTokens.values, limiters: limiters(),
            reloads: counters.reloads.values, lag: lag, recentLag: window.recentLag(lag), loops: workers.count)
    }

    private func limiters() -> [LimiterFacts] {
        [
            LimiterFacts(
                name: .address, keys: shared.pushesByAddress.keysHeld, maximum: shared.pushesByAddress.maximumKeys),
            LimiterFacts(
                name: .capability, keys: shared.pushesByCapability.keysHeld,
                maximum: shared.pushesByCapability.maximumKeys),
            LimiterFacts(
                name: .registrations, keys: shared.registrationsByAddress.keysHeld,
                maximum: shared.registrationsByAddress.maximumKeys),
        ]
    }

    /// Asks every worker, and takes what comes within ``patience``. One that still owes an answer to an earlier question is
    /// not asked again, so that nothing piles up at a stuck loop: that answer is for both.
    private func askWorkers() async -> [WorkerStatus?] {
        let round = Round(workers: workers.count)
        rounds.append(round)
        for (index, worker) in workers.enumerated() where !unanswered[index] {
            unanswered[index] = true
            Task { take(await worker.status(), from: index) }
        }
        let timer = LoopTimer(on: loop) { round.end() }
        timer.arm(after: Self.patience)
        await withCheckedContinuation { round.wait($0) }
        timer.disarm()
        rounds.removeAll { $0 === round }
        return round.statuses
    }

    private func take(_ status: WorkerStatus, from index: Int) {
        unanswered[index] = false
        for round in rounds { round.take(status, index) }
    }

    /// One round of questions. Lives on the desk's loop.
    private final class Round {
        private(set) var statuses: [WorkerStatus?]
        private var awaited: Int
        private var isOutOfPatience = false
        private var waiter: CheckedContinuation<Void, Never>?

        init(workers: Int) {
            statuses = Array(repeating: nil, count: workers)
            awaited = workers
        }

        /// Takes a worker's first answer; a later one is to a later question.
        func take(_ status: WorkerStatus, _ index: Int) {
            guard statuses[index] == nil else { return }
            statuses[index] = status
            awaited -= 1
            resumeIfOver()
        }

        /// Takes no more patience than there was until now.
        func end() {
            isOutOfPatience = true
            resumeIfOver()
        }

        /// Resumes it once the round is over, which it may be by now.
        func wait(_ waiter: CheckedContinuation<Void, Never>) {
            self.waiter = waiter
            resumeIfOver()
        }

        private func resumeIfOver() {
            guard awaited == 0 || isOutOfPatience else { return }
            waiter?.resume()
            waiter = nil
        }
    }
}
