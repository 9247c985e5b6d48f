import DeviceStore
import PushModel
import Synchronization

#if canImport(Glibc)
    import Glibc
#endif

/// The one thread of this process that writes to the database.
///
/// It takes all that waits, runs it in one transaction with one fsync, and tells everybody: *group commit*. While one
/// batch is on its way to the disk, the next one gathers. At rest it sleeps.
///
/// `@unchecked Sendable`: `backlog`, `shared` and `thread` are guarded by their mutexes; `connection` and `transaction`
/// belong to the writer's thread from ``start()`` on.
final class SQLiteWriter: @unchecked Sendable {
    private typealias Ticket = CheckedContinuation<Result<Int, StoreError>, Never>

    private let backlog: Mutex<WriteBacklog<Ticket>>
    private let shared = Mutex(Shared())
    private let thread = Mutex<pthread_t?>(nil)
    private let doorbell = Doorbell()
    private let busyTimeout: Duration
    private let monotonic: @Sendable () -> MonotonicInstant

    // The writer's thread only.
    private var connection: SQLiteConnection?
    private var transaction: WriterTransaction?
    private var mustScrub = false
    private var scrubbedAt: Int64 = .min / 2

    private struct Shared {
        var statistics = WriterStatistics()
        var hasEnded = false
        var endWaiters: [CheckedContinuation<Void, Never>] = []
    }

    /// At most once in so many nanoseconds the log is emptied of what has been removed.
    private static let scrubInterval: Int64 = 1_000_000_000
    /// How long emptying the log waits for readers, who are gone in microseconds.
    private static let scrubPatience = Duration.milliseconds(20)

    /// Makes a writer that does not run yet, with a connection of its own to a database of this version.
    init(
        path: String, options: SQLiteOptions, monotonic: @escaping @Sendable () -> MonotonicInstant
    ) throws(StoreError) {
        let connection = try SQLiteConnection(path: path, for: .writing, busyTimeout: options.busyTimeout)
        // 16 MB of log before a commit moves it into the database: each page of a busy index then moves once for many
        // commits. What must not linger is moved sooner, by the scrubbing.
        try connection.execute("PRAGMA wal_autocheckpoint=4000")
        transaction = try WriterTransaction(connection)
        self.connection = connection
        self.monotonic = monotonic
        busyTimeout = options.busyTimeout
        backlog = Mutex(
            WriteBacklog(waitingLimit: options.waitingLimit, gatherFor: options.flushInterval.wholeNanoseconds))
    }

    // MARK: From any thread

    /// Starts the thread, which keeps the writer alive until ``close()``.
    func start() throws(StoreError) {
        let context = unsafe Unmanaged.passRetained(self).toOpaque()
        var handle = pthread_t()
        let code = unsafe pthread_create(&handle, nil, runWriterThread, context)
        guard code == 0 else {
            unsafe Unmanaged<SQLiteWriter>.fromOpaque(context).release()
            throw .failed(code: code)
        }
        thread.withLock { $0 = handle }
    }

    /// Hands a write over and waits until it is on disk, or has failed.
    func write(_ operation: WriteOperation) async throws(StoreError) -> Int {
        let result = await withCheckedContinuation { (ticket: Ticket) in
            switch backlog.withLock({ $0.offer(operation, ticket) }) {
            case .taken(let mustRing): if mustRing { doorbell.ring() }
            case .full: ticket.resume(returning: .failure(.overloaded))
            case .closed: ticket.resume(returning: .failure(.closed))
            }
        }
        return try result.get()
    }

    /// Gathers a mark, to be written within the interval.
    func markUsed(_ hash: CapabilityHash, on day: UTCDay) {
        let now = monotonic().nanoseconds
        if backlog.withLock({ $0.mark(hash, on: day, now: now) }) { doorbell.ring() }
    }

    /// Gathers a seal by capability for a row that has one by relay secret.
    func reseal(_ hash: CapabilityHash, _ sealed: [UInt8]) {
        let now = monotonic().nanoseconds
        if backlog.withLock({ $0.reseal(hash, sealed, now: now) }) { doorbell.ring() }
    }

    /// What the writer has done so far.
    var statistics: WriterStatistics {
        var statistics = shared.withLock { $0.statistics }
        statistics.waiting = backlog.withLock { $0.waitingCount }
        return statistics
    }

    /// Writes what waits, empties the log, ends the thread and closes the connection. Safe to call twice.
    func close() async {
        backlog.withLock { $0.close() }
        doorbell.ring()
        await withCheckedContinuation { waiter in
            let hasEnded = shared.withLock { shared in
                if !shared.hasEnded { shared.endWaiters.append(waiter) }
                return shared.hasEnded
            }
            if hasEnded { waiter.resume() }
        }
        let handle = thread.withLock { handle in
            defer { handle = nil }
            return handle
        }
        // The thread has said its last word, so this waits for nothing but its exit.
        if let handle { pthread_join(handle, nil) }
    }

    // MARK: The writer's thread

    fileprivate func run() {
        while true {
            let now = monotonic().nanoseconds
            let (batch, due, isClosed) = backlog.withLock { backlog in
                (backlog.take(now: now), backlog.gatheredDue, backlog.isClosed)
            }
            if !batch.isEmpty {
                commit(batch)
                scrubIfDue()
                continue
            }
            if isClosed { break }
            scrubIfDue()
            let scrubDue = mustScrub ? scrubbedAt + Self.scrubInterval : nil
            doorbell.wait(until: [due, scrubDue].compactMap(\.self).min())
        }
        end()
    }

    private func commit(_ batch: WriteBacklog<Ticket>.Batch) {
        guard let transaction else { preconditionFailure("the writer runs after its end") }
        shared.withLock { $0.statistics.taken += batch.waiting.count }
        let outcome = transaction.run(
            batch.waiting.map(\.operation), marks: batch.gathered.marks, seals: batch.gathered.seals)
        if outcome.leftOldContent { mustScrub = true }
        if outcome.failure != nil {
            let now = monotonic().nanoseconds
            backlog.withLock { $0.putBack(batch.gathered, now: now) }
        }
        shared.withLock { $0.statistics.note(outcome) }
        for (waiting, result) in zip(batch.waiting, outcome.results) { waiting.ticket.resume(returning: result) }
    }

    /// Empties the log, which holds pages as they were before content was removed or sealed.
    private func scrubIfDue() {
        let now = monotonic().nanoseconds
        guard mustScrub, now - scrubbedAt >= Self.scrubInterval else { return }
        scrubbedAt = now
        scrub()
    }

    private func scrub() {
        connection?.setBusyTimeout(Self.scrubPatience)
        defer { connection?.setBusyTimeout(busyTimeout) }
        do throws(StoreError) {
            guard try connection?.truncateLog() == true else { return }
            mustScrub = false
            shared.withLock { $0.statistics.scrubs += 1 }
        } catch {
            // The next second tries again; commits that need the disk will say so to whoever waits for them.
            shared.withLock { $0.statistics.lastFailure = error }
        }
    }

    private func end() {
        scrub()
        transaction = nil
        connection = nil
        let waiters = shared.withLock { shared in
            shared.hasEnded = true
            defer { shared.endWaiters = [] }
            return shared.endWaiters
        }
        for waiter in waiters { waiter.resume() }
    }
}

private func runWriterThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context else { preconditionFailure("a writer's thread without its writer") }
    unsafe Unmanaged<SQLiteWriter>.fromOpaque(context).takeRetainedValue().run()
    return nil
}
