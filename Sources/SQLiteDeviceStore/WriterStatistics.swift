package import DeviceStore

/// What the writer has done, for the operator's metrics.
package struct WriterStatistics: Sendable, Equatable {
    /// Writes that the writer has begun.
    package var taken = 0
    /// Transactions committed.
    package var batches = 0
    /// Writes that somebody waited for and that are on disk. Divided by `batches`, the size of a group.
    package var writes = 0
    /// Writes that somebody waited for and that failed.
    package var failedWrites = 0
    /// Transactions that failed as a whole.
    package var failedBatches = 0
    /// How often the log was emptied of removed content.
    package var scrubs = 0
    /// Writes that wait at this moment.
    package var waiting = 0
    /// How long transactions took, in nanoseconds: those that failed as well.
    package var durations = Distribution(bounds: Self.durationBounds)
    /// How many writes that somebody waited for were in each transaction.
    package var batchSizes = Distribution(bounds: Self.batchBounds)
    /// Why registrations cannot be written, as far as is known; nil while they can. Set by a transaction that failed as a
    /// whole, or in a write that nobody but the operator can help. Cleared by a registration that went through, or by the
    /// proof that one would, which is tried each second; damage stays until the next start.
    package var lastFailure: StoreError?
    /// Why the log cannot be emptied of content that was removed; nil when it could be, or was only a moment ago.
    package var scrubFailure: StoreError?

    /// From a commit to a disk that answers at once to a wait for another process.
    private static let durationBounds: [Int64] = [
        250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 10_000_000,
    ].map { $0 * 1000 }
    private static let batchBounds: [Int64] = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 1024, 4096, 16_384]

    package init() {}

    /// - Parameter provesRegistrations: whether a registration was among what went through.
    mutating func note(
        _ outcome: WriterTransaction.Outcome, took nanoseconds: Int64, provesRegistrations: Bool
    ) {
        durations.add(nanoseconds)
        batchSizes.add(Int64(outcome.results.count))
        if outcome.failure == nil { batches += 1 } else { failedBatches += 1 }
        if let failure = outcome.failure {
            fail(failure)
        } else if provesRegistrations || lastFailure == .busy {
            // Counts may find room where a registration does not; a lock is in the way of all alike.
            recover()
        }
        for result in outcome.results {
            switch result {
            case .success: writes += 1
            case .failure(let error):
                failedWrites += 1
                if error.needsOperator { fail(error) }
            }
        }
    }

    /// What became of the trial registration.
    mutating func noteProof(_ failure: StoreError?) {
        if let failure { fail(failure) } else { recover() }
    }

    private mutating func fail(_ failure: StoreError) {
        if lastFailure != .corrupt { lastFailure = failure }
    }

    private mutating func recover() {
        if lastFailure != .corrupt { lastFailure = nil }
    }
}

/// Numbers counted by size, in fixed buckets.
package struct Distribution: Sendable, Equatable {
    /// Upper bounds, each inside its bucket, rising.
    package let bounds: [Int64]
    /// How many fell into each bucket, and a last one for what exceeds all bounds.
    package private(set) var counts: [Int]
    /// The sum of all that was counted.
    package private(set) var sum: Int64 = 0

    init(bounds: [Int64]) {
        self.bounds = bounds
        counts = [Int](repeating: 0, count: bounds.count + 1)
    }

    mutating func add(_ number: Int64) {
        counts[bounds.firstIndex { number <= $0 } ?? bounds.count] += 1
        sum &+= number
    }
}
