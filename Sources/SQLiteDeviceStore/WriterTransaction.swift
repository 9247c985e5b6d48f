import DeviceStore
import PushModel

/// Runs one batch in one transaction. Used by the writer's thread alone.
final class WriterTransaction {
    private let connection: SQLiteConnection
    private let devices: DeviceStatements
    private let counting: SQLiteStatement
    private let trial: SQLiteStatement
    private let trialRemoval: SQLiteStatement
    /// The files that it writes to.
    let files: DatabaseFiles

    /// More than a registration changes, of pages that are new and of such that there are already.
    private static let trialBytes = 16_384

    /// - Parameter path: the database's name as it was given.
    init(_ connection: SQLiteConnection, path: String) throws(StoreError) {
        self.connection = connection
        devices = try DeviceStatements(connection)
        counting = try connection.prepare(
            """
            INSERT INTO daily_count VALUES (?1, ?2, ?3, ?4, ?5)
                ON CONFLICT (day, event, platform, kind) DO UPDATE SET n = n + excluded.n
            """)
        trial = try connection.prepare("REPLACE INTO relay VALUES ('trial', zeroblob(\(Self.trialBytes)))")
        trialRemoval = try connection.prepare("DELETE FROM relay WHERE name = 'trial'")
        // What was compiled has been read, so all three files are there.
        files = DatabaseFiles(path: path, resolved: connection.resolvedPath)
    }

    /// Writes as much as a registration would, and takes it back in the same transaction. Returns why it failed.
    func prove() -> StoreError? {
        do throws(StoreError) {
            try requireFiles()
            try connection.transaction { () throws(StoreError) in
                try trial.run()
                try trialRemoval.run()
            }
            return nil
        } catch {
            return error
        }
    }

    /// What became of a batch.
    struct Outcome {
        /// One for each operation, in order.
        var results: [Result<Int, StoreError>]
        /// Whether content was removed or sealed, whose earlier form now stands in the log.
        var leftOldContent: Bool
        /// Why the transaction was not committed; nil when it was.
        var failure: StoreError?
    }

    /// Runs the operations. One that fails has changed nothing and takes no other with it; if the commit fails, or the
    /// engine gives the transaction up in the middle, all have failed and nothing has changed.
    ///
    /// They have failed as well where the files are not in place, which is looked at twice. Before the commit: then nothing
    /// has changed, so that counts which are tried each second are counted once should the file come back. And after it,
    /// which may have taken seconds: then what failed stands in a file that no start will find.
    func run(
        _ operations: [WriteOperation], marks: [CapabilityHash: UTCDay], seals: [CapabilityHash: [UInt8]]
    ) -> Outcome {
        var results: [Result<Int, StoreError>] = []
        results.reserveCapacity(operations.count)
        var leftOldContent = false
        do throws(StoreError) {
            try connection.execute("BEGIN IMMEDIATE")
            for operation in operations {
                let result = attempt(operation)
                if case .failure(let error) = result, !connection.isInTransaction { throw error }
                if case .success(let changed) = result, changed > 0, operation.removesContent { leftOldContent = true }
                results.append(result)
            }
            // A row that goes takes its marks along, so what is gathered comes last.
            for (hash, sealed) in seals where try devices.reseal(hash, sealed) > 0 { leftOldContent = true }
            for (hash, day) in marks { try devices.markUsed(hash, on: day) }
            try requireFiles()
            try connection.execute("COMMIT")
            try requireFiles()
            return Outcome(results: results, leftOldContent: leftOldContent, failure: nil)
        } catch {
            connection.rollBack()
            let failures = operations.map { _ in Result<Int, StoreError>.failure(error) }
            return Outcome(results: failures, leftOldContent: false, failure: error)
        }
    }

    private func requireFiles() throws(StoreError) {
        guard files.areInPlace else { throw .replaced }
    }

    private func attempt(_ operation: WriteOperation) -> Result<Int, StoreError> {
        do throws(StoreError) {
            switch operation {
            // A failing statement undoes itself, so an operation of one needs no savepoint (sqlite.org/lang_conflict).
            case .remove(let hash): return .success(try devices.remove(hash))
            case .forget(let fingerprint, let environment, let instant):
                return .success(try devices.forget(fingerprint, in: environment, registeredBefore: instant))
            case .dropIdle(let day, let limit): return .success(try devices.dropIdle(before: day, limit: limit))
            case .flush: return .success(0)
            case .register(let device):
                try atomically { () throws(StoreError) in try devices.insert(device) }
                return .success(1)
            case .add(let totals):
                try atomically { () throws(StoreError) in
                    for total in totals { try add(total) }
                }
                return .success(totals.count)
            }
        } catch {
            return .failure(error)
        }
    }

    private func atomically(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        try connection.execute("SAVEPOINT one")
        do throws(StoreError) {
            try body()
            try connection.execute("RELEASE one")
        } catch {
            if connection.isInTransaction { try connection.execute("ROLLBACK TO one; RELEASE one") }
            throw error
        }
    }

    private func add(_ total: DailyTotal) throws(StoreError) {
        counting.bind(1, total.count.day.stored)
        counting.bind(2, total.count.event.rawValue)
        counting.bind(3, total.count.platform.rawValue)
        counting.bind(4, total.count.kind?.rawValue ?? "")
        counting.bind(5, total.n)
        try counting.run()
    }
}

extension WriteBacklog.Batch {
    /// Whether a registration was among what went through.
    func hasRegistered(_ outcome: WriterTransaction.Outcome) -> Bool {
        zip(waiting, outcome.results).contains { waiting, result in
            if case .register = waiting.operation, case .success = result { true } else { false }
        }
    }
}

extension WriteOperation {
    /// Whether what it changes leaves something behind that must not linger in the log.
    fileprivate var removesContent: Bool {
        switch self {
        case .remove, .forget, .dropIdle: true
        case .register, .add, .flush: false
        }
    }
}
