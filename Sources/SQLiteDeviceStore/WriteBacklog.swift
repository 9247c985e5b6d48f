import DeviceStore
import PushModel

/// One write that somebody waits for.
enum WriteOperation: Sendable {
    case register(DeviceRow)
    case remove(CapabilityHash)
    case forget(TokenFingerprint, in: APNsEnvironment, registeredBefore: WallInstant?)
    case add([DailyTotal])
    case dropIdle(before: UTCDay, limit: Int)
    /// Does nothing itself, but takes along what nobody waits for.
    case flush
}

/// All that waits to be written: what somebody waits for, in the order it came, and what nobody waits for, gathered.
///
/// A value without I/O; the writer keeps it in a mutex. It is `open` until ``close()``, then takes nothing more.
struct WriteBacklog<Ticket> {
    /// One write and whom to tell.
    struct Waiting {
        var operation: WriteOperation
        var ticket: Ticket
    }

    /// What nobody waits for. Lost when the process dies, at most a second's worth.
    struct Gathered {
        /// The latest day each capability was used on.
        var marks: [CapabilityHash: UTCDay] = [:]
        /// Seals by capability for rows that carry one by relay secret.
        var seals: [CapabilityHash: [UInt8]] = [:]

        var isEmpty: Bool { marks.isEmpty && seals.isEmpty }
    }

    /// One transaction's worth.
    struct Batch {
        var waiting: [Waiting] = []
        var gathered = Gathered()

        var isEmpty: Bool { waiting.isEmpty && gathered.isEmpty }
    }

    /// What became of an offer.
    enum Admission: Equatable {
        /// Taken; the writer has to be woken when `mustRing`.
        case taken(mustRing: Bool)
        /// Too much waits already.
        case full
        /// It has been closed.
        case closed
    }

    /// The most that one transaction takes, so that nobody waits for long behind a crowd.
    static var batchLimit: Int { 1024 }
    /// The most marks, and the most seals, that are gathered. What comes on top is dropped: a mark costs a day of
    /// idleness's exactness, a seal is made again by the next push.
    private let gatheredLimit: Int
    private let waitingLimit: Int
    private let gatherFor: Int64
    private var queue: [Waiting] = []
    private var gathered = Gathered()
    private var gatheredSince: Int64 = 0
    private(set) var isClosed = false

    /// - Parameters:
    ///   - waitingLimit: The most writes that wait.
    ///   - gatherFor: Nanoseconds for which marks and seals gather before they are written.
    ///   - gatheredLimit: The most marks, and the most seals, that gather.
    init(waitingLimit: Int, gatherFor: Int64, gatheredLimit: Int = 262_144) {
        self.gatheredLimit = gatheredLimit
        self.waitingLimit = waitingLimit
        self.gatherFor = gatherFor
    }

    /// How many writes wait.
    var waitingCount: Int { queue.count }

    /// Offers a write that somebody waits for.
    mutating func offer(_ operation: WriteOperation, _ ticket: Ticket) -> Admission {
        guard !isClosed else { return .closed }
        guard queue.count < waitingLimit else { return .full }
        queue.append(Waiting(operation: operation, ticket: ticket))
        return .taken(mustRing: queue.count == 1)
    }

    /// Gathers a mark. Returns whether the writer has to be woken, to begin waiting for the moment it is due.
    mutating func mark(_ hash: CapabilityHash, on day: UTCDay, now: Int64) -> Bool {
        guard !isClosed else { return false }
        if let marked = gathered.marks[hash] {
            if marked < day { gathered.marks[hash] = day }
            return false
        }
        guard gathered.marks.count < gatheredLimit else { return false }
        return gather(now) { $0.marks[hash] = day }
    }

    /// Gathers a seal; the first one for a row is as good as any later. Returns whether the writer has to be woken.
    mutating func reseal(_ hash: CapabilityHash, _ sealed: [UInt8], now: Int64) -> Bool {
        guard !isClosed, gathered.seals[hash] == nil, gathered.seals.count < gatheredLimit else { return false }
        return gather(now) { $0.seals[hash] = sealed }
    }

    private mutating func gather(_ now: Int64, _ change: (inout Gathered) -> Void) -> Bool {
        let isFirst = gathered.isEmpty
        if isFirst { gatheredSince = now }
        change(&gathered)
        return isFirst
    }

    /// When the gathered is due; nil when nothing is.
    var gatheredDue: Int64? { gathered.isEmpty ? nil : gatheredSince + gatherFor }

    /// Takes the next transaction's worth: the gathered along with it when it is due, when somebody flushes, or when the
    /// backlog has been closed and this is the last.
    mutating func take(now: Int64) -> Batch {
        var batch = Batch()
        if queue.count <= Self.batchLimit {
            swap(&batch.waiting, &queue)
        } else {
            batch.waiting = Array(queue.prefix(Self.batchLimit))
            queue.removeFirst(Self.batchLimit)
        }
        let isFlushed = batch.waiting.contains { if case .flush = $0.operation { true } else { false } }
        let isDue = gatheredDue.map { $0 <= now } ?? false
        if isFlushed || isDue || (isClosed && queue.isEmpty) { swap(&batch.gathered, &gathered) }
        return batch
    }

    /// Takes back what could not be written, to be tried again after the same time. What was gathered meanwhile wins.
    mutating func putBack(_ lost: Gathered, now: Int64) {
        guard !lost.isEmpty, !isClosed else { return }
        gathered.marks = merged(lost.marks, gathered.marks) { max($0, $1) }
        gathered.seals = merged(lost.seals, gathered.seals) { $1 }
        gatheredSince = now
    }

    /// Both together, no more than may be gathered. The smaller goes into the larger one, for pushes wait meanwhile.
    private func merged<Value>(
        _ older: [CapabilityHash: Value], _ newer: [CapabilityHash: Value], _ choose: (Value, Value) -> Value
    ) -> [CapabilityHash: Value] {
        let isOlderLarger = older.count >= newer.count
        var all = isOlderLarger ? older : newer
        for (hash, value) in isOlderLarger ? newer : older {
            if let other = all[hash] {
                all[hash] = isOlderLarger ? choose(other, value) : choose(value, other)
            } else if all.count < gatheredLimit {
                all[hash] = value
            }
        }
        return all
    }

    /// Takes nothing more. What is in it is still to be taken.
    mutating func close() { isClosed = true }
}
