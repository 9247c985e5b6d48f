import DeviceStore
import EventLoops
import PushModel
import PushServices
import Relay
import RelayAPI
import SQLiteDeviceStore
import Telemetry

/// What is done by the clock: counts are written each second, the operator is told what has changed, and capabilities
/// that nobody uses are dropped.
///
/// Runs on one loop until it is told to end.
actor Housekeeping {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// How often the counts are written: what a crash may cost.
    static let countingInterval: Duration = .seconds(1)
    /// How often the last counts are tried to be written before they are given up.
    static let lastTries = 5
    /// No try begins later than this after the first, for one may wait for another process's lock.
    static let lastPatience: Duration = .seconds(3)
    /// How long is waited between two of these tries.
    static let lastPause: Duration = .milliseconds(100)
    /// How many are dropped at a time, each batch in a transaction of its own, so that no registration waits long.
    static let sweepBatch = 500

    private let store: any DeviceStore
    private let database: SQLiteDatabase
    private let tally: DailyTally
    private let clocks: Clocks
    private var idleDays: Int
    private var sweepPlan = IdleSweepPlan()
    private let credentials: CredentialBook
    private let guardian: MassDeathGuard
    private var isMassDeathSuspected = PerPlatform { _ in false }
    private var isDatabaseReplaced = false
    private let report: OperatorReport
    private var known: PerPlatform<CredentialSnapshot.State>
    private var knownClock = PerPlatform { _ in ClockState.right }
    private var knownStoreFailure: StoreError?
    private var isEnding = false

    init(
        on loop: EventLoop, store: any DeviceStore, database: SQLiteDatabase, tally: DailyTally, clocks: Clocks,
        idleDays: Int, credentials: CredentialBook, guardian: MassDeathGuard, report: OperatorReport
    ) {
        self.loop = loop
        self.store = store
        self.database = database
        self.tally = tally
        self.clocks = clocks
        self.idleDays = idleDays
        self.credentials = credentials
        self.guardian = guardian
        self.report = report
        let reckoning = WallReckoning(clocks)
        known = PerPlatform { credentials.snapshot($0, reckoning).state }
    }

    /// Starts all rhythms.
    func start() {
        Task { await keepCounting() }
        Task { await keepTelling() }
        Task { await keepSweeping() }
    }

    /// From the next sweep on, capabilities are dropped after so many days; 0 is never.
    func use(idleDays: Int) { self.idleDays = idleDays }

    /// Ends them and writes what has been counted so far. A disk that takes nothing is asked a few times, and what it does
    /// not take is lost and told of.
    func end() async {
        isEnding = true
        tellChanges()
        let began = clocks.monotonic()
        for _ in 0..<Self.lastTries {
            if await writeCounts() { return }
            guard clocks.monotonic().duration(since: began) < Self.lastPatience else { break }
            await loop.sleep(for: Self.lastPause)
        }
        report.countsLost(tally.unwritten.counts.values.reduce(0, +))
    }

    /// A second from one beginning to the next, so that a slow disk does not add to what a crash may cost.
    private func keepCounting() async {
        var due = clocks.monotonic()
        while !isEnding {
            due = max(due.advanced(by: Self.countingInterval), clocks.monotonic())
            await loop.sleep(for: due.duration(since: clocks.monotonic()))
            if !isEnding { await writeCounts() }
        }
    }

    @discardableResult
    private func writeCounts() async -> Bool {
        do throws(StoreError) {
            try await tally.write(to: store)
            return true
        } catch {
            report.storeFailed(.counts, error)
            return false
        }
    }

    /// Apart from the counting, for that may wait for a disk.
    private func keepTelling() async {
        while !isEnding {
            await loop.sleep(for: .seconds(1))
            tellChanges()
            report.tellHeldBack()
        }
    }

    private func tellChanges() {
        let reckoning = WallReckoning(clocks)
        for platform in Platform.allCases {
            let state = credentials.snapshot(platform, reckoning).state
            if !state.isSameKind(as: known[platform]) { report.credential(platform, state) }
            known[platform] = state
            let skew = credentials.metrics.skew(platform)?.nanoseconds
            let clock = ClockState(skew: skew)
            if clock != knownClock[platform] { report.clock(platform, clock, skew: skew ?? 0) }
            knownClock[platform] = clock
            let isSuspected = guardian.isSuspicious(platform, at: reckoning.monotonic)
            if isSuspected != isMassDeathSuspected[platform] { report.massDeath(platform, isSuspected: isSuspected) }
            isMassDeathSuspected[platform] = isSuspected
        }
        tellOfStore()
    }

    /// Tells what no request has met: the database was replaced, the store fails, or takes registrations again, or cannot empty its log.
    private func tellOfStore() {
        let isReplaced = database.isReplaced
        if isReplaced != isDatabaseReplaced { report.databaseReplaced(isReplaced) }
        isDatabaseReplaced = isReplaced
        let statistics = database.statistics
        let failure = statistics.lastFailure
        if let failure, failure != knownStoreFailure { report.storeFailed(.trial, failure) }
        if failure == nil, knownStoreFailure != nil { report.storeRecovered() }
        knownStoreFailure = failure
        if let failure = statistics.scrubFailure { report.storeFailed(.scrub, failure) }
    }

    private func keepSweeping() async {
        while !isEnding {
            if maySweep() { await sweep() }
            await loop.sleep(for: .seconds(1))
        }
    }

    private func maySweep() -> Bool {
        let accepted = Platform.allCases.compactMap { credentials.metrics.lastSuccess($0) }.max()
        return sweepPlan.isDue(
            idleDays: idleDays, wall: clocks.wall(),
            lastAccepted: accepted.map { MonotonicInstant(nanoseconds: $0) }, at: clocks.monotonic())
    }

    private func sweep() async {
        let oldest = UTCDay(number: clocks.wall().day.number - Int32(clamping: idleDays))
        var dropped = 0
        do throws(StoreError) {
            while !isEnding {
                let batch = try await store.dropIdle(before: oldest, limit: Self.sweepBatch)
                dropped += batch
                if batch < Self.sweepBatch { break }
            }
        } catch {
            report.storeFailed(.sweep, error)
        }
        if dropped > 0 { report.dropped(idle: dropped) }
    }
}

extension CredentialSnapshot.State {
    /// Whether both say the same, whenever it began.
    fileprivate func isSameKind(as other: Self) -> Bool {
        CredentialStateLabel(self) == CredentialStateLabel(other)
    }
}
