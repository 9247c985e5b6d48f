import DeviceStore
import EventLoops
import PushModel
import Relay
import Telemetry

/// What is done by the clock: counts are written each second, and capabilities that nobody uses are dropped.
///
/// Runs on one loop until it is told to end.
actor Housekeeping {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// How often the counts are written: what a crash may cost.
    static let countingInterval: Duration = .seconds(1)
    /// How often idle capabilities are looked for. They are kept by the day, so more often would find nothing new.
    static let sweepInterval: Duration = .seconds(3600)
    /// How many are dropped at a time, each batch in a transaction of its own, so that no registration waits long.
    static let sweepBatch = 500

    private let store: any DeviceStore
    private let tally: DailyTally
    private let clocks: Clocks
    private let idleDays: Int
    private let report: OperatorReport
    private var isEnding = false

    init(
        on loop: EventLoop, store: any DeviceStore, tally: DailyTally, clocks: Clocks, idleDays: Int,
        report: OperatorReport
    ) {
        self.loop = loop
        self.store = store
        self.tally = tally
        self.clocks = clocks
        self.idleDays = idleDays
        self.report = report
    }

    /// Starts both rhythms.
    func start() {
        Task { await keepCounting() }
        if idleDays > 0 { Task { await keepSweeping() } }
    }

    /// Ends both and writes what has been counted so far.
    func end() async {
        isEnding = true
        await writeCounts()
    }

    private func keepCounting() async {
        while !isEnding {
            await loop.sleep(for: Self.countingInterval)
            if !isEnding { await writeCounts() }
        }
    }

    private func writeCounts() async {
        do throws(StoreError) {
            try await tally.write(to: store)
        } catch {
            report.storeFailed("counts", error)
        }
    }

    private func keepSweeping() async {
        while !isEnding {
            await sweep()
            await loop.sleep(for: Self.sweepInterval)
        }
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
            report.storeFailed("sweep", error)
        }
        if dropped > 0 { report.dropped(idle: dropped) }
    }
}
