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
    /// Why the last transaction failed, as a whole or in a write that nobody but the operator can help; nil once one
    /// went through again. While it is set, the relay cannot take registrations.
    package var lastFailure: StoreError?

    package init() {}

    mutating func note(_ outcome: WriterTransaction.Outcome) {
        if outcome.failure == nil { batches += 1 } else { failedBatches += 1 }
        lastFailure = outcome.failure
        for result in outcome.results {
            switch result {
            case .success: writes += 1
            case .failure(let error):
                failedWrites += 1
                if error.needsOperator { lastFailure = error }
            }
        }
    }
}
