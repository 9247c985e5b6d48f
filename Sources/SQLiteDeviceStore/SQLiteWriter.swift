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
    private let files: DatabaseFiles

    // The writer's thread only.
    private var connection: SQLiteConnection?
    private var transaction: WriterTransaction?
    private var scrubDue: Int64?
    private var scrubbedAt: Int64 = .min / 2
    private var unscrubbedSince: Int64?
    private var proofDue: Int64?

    private struct Shared {
        var statistics = WriterStatistics()
        var hasEnded = false
        var endWaiters: [CheckedContinuation<Void, Never>] = []
    }

    /// How soon, in nanoseconds, the log is emptied of content that was removed or sealed; at most once in that time.
    private static let scrubInterval: Int64 = 1_000_000_000
    /// How soon it is emptied of anything else: reading from the log is slower than from the mapped database.
    private static let idleInterval: Int64 = 5_000_000_000
    /// How long emptying the log waits for readers, who are gone in microseconds.
    private static let scrubPatience = Duration.milliseconds(20)

    /// For how long readers may keep the log from being emptied before the operator is told.
    private static let longestUnscrubbed: Int64 = 60_000_000_000
    /// How soon, after a failure, it is tried whether a registration could be written again.
    private static let proofInterval: Int64 = 1_000_000_000

    /// Makes a writer that does not run yet, with a connection of its own to a database of this version.
    init(path: String, options: SQLiteOptions) throws(StoreError) {
        let connection = try SQLiteConnection(path: path, for: .writing, busyTimeout: options.busyTimeout)
        // 16 MB of log before a commit moves it into the database: each page of a busy index then moves once for many
        // commits. What must not linger is moved sooner, by the scrubbing.
        try connection.execute("PRAGMA wal_autocheckpoint=4000")
        let transaction = try WriterTransaction(connection, path: path)
        self.transaction = transaction
        files = transaction.files
        self.connection = connection
        busyTimeout = options.busyTimeout
        backlog = Mutex(
            WriteBacklog(waitingLimit: options.waitingLimit, gatherFor: options.flushInterval.wholeNanoseconds))
    }

    /// The clock that the doorbell waits by, in nanoseconds. Not one that a test can set, for a thread sleeps on it.
    private static var now: Int64 { RunningInstant.now.nanoseconds }

    // MARK: From any thread

    /// Starts the thread, which keeps the writer alive until ``close()``. Tries first whether registrations can be
    /// written, so that a disk that takes none is known before the first phone asks.
    func start() throws(StoreError) {
        prove()
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
        let now = Self.now
        if backlog.withLock({ $0.mark(hash, on: day, now: now) }) { doorbell.ring() }
    }

    /// Gathers a seal by capability for a row that has one by relay secret.
    func reseal(_ hash: CapabilityHash, _ sealed: [UInt8]) {
        let now = Self.now
        if backlog.withLock({ $0.reseal(hash, sealed, now: now) }) { doorbell.ring() }
    }

    /// What the writer has done so far.
    var statistics: WriterStatistics {
        var statistics = shared.withLock { $0.statistics }
        statistics.waiting = backlog.withLock { $0.waitingCount }
        return statistics
    }

    /// Whether what is written stands where the next start looks for it.
    var isInPlace: Bool { files.areInPlace }

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
            let now = Self.now
            let (batch, due, isClosed) = backlog.withLock { backlog in
                (backlog.take(now: now), backlog.gatheredDue, backlog.isClosed)
            }
            if !batch.isEmpty {
                commit(batch)
                scrubIfDue()
                proveIfDue()
                continue
            }
            if isClosed { break }
            scrubIfDue()
            proveIfDue()
            doorbell.wait(until: [due, scrubDue, proofDue].compactMap(\.self).min())
        }
        end()
    }

    private func commit(_ batch: WriteBacklog<Ticket>.Batch) {
        guard let transaction else { preconditionFailure("the writer runs after its end") }
        shared.withLock { $0.statistics.taken += batch.waiting.count }
        let began = Self.now
        let outcome = transaction.run(
            batch.waiting.map(\.operation), marks: batch.gathered.marks, seals: batch.gathered.seals)
        let now = Self.now
        if outcome.failure == nil {
            let due = outcome.leftOldContent ? scrubbedAt + Self.scrubInterval : now + Self.idleInterval
            scrubDue = min(scrubDue ?? due, due)
        } else {
            backlog.withLock { $0.putBack(batch.gathered, now: now) }
            // What was acknowledged before and stands in the log only: into the database with it, where that one is still in
            // place; and where it is not, off the log, which the next start would take for that of the other database.
            if outcome.failure == .replaced { scrubDue = min(scrubDue ?? .max, now) }
        }
        let isFailing = shared.withLock { shared in
            shared.statistics.note(outcome, took: now - began, provesRegistrations: batch.hasRegistered(outcome))
            return shared.statistics.lastFailure != nil
        }
        // Later commits, of counts each second, do not put it off.
        proofDue = isFailing ? proofDue ?? now + Self.proofInterval : nil
        for (waiting, result) in zip(batch.waiting, outcome.results) { waiting.ticket.resume(returning: result) }
    }

    private func proveIfDue() {
        if let proofDue, proofDue <= Self.now { prove() }
    }

    /// Tries whether a registration could be written. A relay that has failed may see no write for hours, least of all
    /// where it is taken out of service for it.
    private func prove() {
        connection?.setBusyTimeout(Self.scrubPatience)
        defer { connection?.setBusyTimeout(busyTimeout) }
        let failure = transaction?.prove()
        let isFailing = shared.withLock { shared in
            shared.statistics.noteProof(failure)
            return shared.statistics.lastFailure != nil
        }
        let now = Self.now
        proofDue = isFailing ? now + Self.proofInterval : nil
        if failure == nil { scrubDue = min(scrubDue ?? .max, now + Self.idleInterval) }
    }

    /// Empties the log, which holds pages as they were before content was removed or sealed.
    private func scrubIfDue() {
        let now = Self.now
        guard let scrubDue, scrubDue <= now else { return }
        scrubbedAt = now
        self.scrubDue = scrub() ? nil : now + Self.scrubInterval
    }

    /// Returns whether nothing is left in the log.
    private func scrub() -> Bool {
        // Whoever opens the database by its name has another index by now, so that no lock keeps the two apart.
        guard files.isIndexInPlace else { return true }
        connection?.setBusyTimeout(Self.scrubPatience)
        defer { connection?.setBusyTimeout(busyTimeout) }
        let now = Self.now
        do throws(StoreError) {
            guard try connection?.truncateLog() == true else {
                // A reader of another process; the relay's own are gone in microseconds.
                let since = unscrubbedSince ?? now
                unscrubbedSince = since
                if now - since >= Self.longestUnscrubbed { shared.withLock { $0.statistics.scrubFailure = .busy } }
                return false
            }
            unscrubbedSince = nil
            // A burst of registrations leaves its pages in memory, which nobody needs at rest.
            connection?.releaseMemory()
            shared.withLock { shared in
                shared.statistics.scrubs += 1
                shared.statistics.scrubFailure = nil
            }
            return true
        } catch {
            // Registrations may well go on in the log, so this says nothing about them. It is tried again.
            shared.withLock { $0.statistics.scrubFailure = error }
            return false
        }
    }

    private func end() {
        // In a database that was replaced another relay may have written to this log since it was emptied.
        if files.areInPlace || scrubDue != nil { _ = scrub() }
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
