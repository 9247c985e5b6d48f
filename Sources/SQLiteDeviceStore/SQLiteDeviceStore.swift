package import DeviceStore
package import PushModel

/// A ``DeviceStore`` over SQLite that lives on one executor: look-ups run there, on a connection of their own, and
/// writes go to the one writer of the process.
package actor SQLiteDeviceStore: DeviceStore {
    private nonisolated let executor: any SerialExecutor
    /// The same executor, where it tells of its turns.
    private nonisolated let turns: (any TurningExecutor)?
    private nonisolated let writer: SQLiteWriter
    private nonisolated let secret: RelaySecret
    private let opener = TokenOpener()
    private var reader: DeviceReader?

    /// The executor that was given at the start.
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    init(
        path: String, busyTimeout: Duration, secret: RelaySecret, writer: SQLiteWriter, on executor: any SerialExecutor
    ) throws(StoreError) {
        self.executor = executor
        turns = executor as? any TurningExecutor
        self.writer = writer
        self.secret = secret
        let reader = try DeviceReader(path: path, busyTimeout: busyTimeout)
        // From here on it reads on a loop, where nothing may wait for another process.
        reader.waitForNobody()
        self.reader = reader
    }

    package func register(_ registration: Registration) async throws(StoreError) {
        let row = SealedRow(of: registration)
        let device = DeviceRow(
            row: row, fingerprint: secret.fingerprint(of: registration.token),
            sealed: TokenSealing.seal(registration.token, into: row, with: registration.capability),
            lastUsed: registration.registeredAt.day)
        _ = try await write(.register(device))
    }

    package func device(for capability: Capability) async throws(StoreError) -> StoredDevice? {
        let hash = opener.hash(of: capability)
        let reader = try openReader()
        try readUntilTurnEnds(reader)
        return try reader.find(hash) { (row, lastUsed, sealed) throws(StoreError) in
            let token = try open(sealed, from: row, with: capability)
            return StoredDevice(hash: hash, device: row.device(with: token), lastUsed: lastUsed)
        }
    }

    /// Opens a token, and sees to it that it is sealed by its capability from now on.
    private func open(
        _ sealed: Span<UInt8>, from row: SealedRow, with capability: Capability
    ) throws(StoreError) -> DeviceToken {
        switch TokenSealing.version(of: sealed) {
        case .byCapability:
            guard let token = opener.open(sealed, from: row, with: capability) else { throw .sealBroken }
            return token
        case .byRelaySecret:
            guard let token = opener.open(sealed, from: row, with: secret) else { throw .sealBroken }
            writer.reseal(row.hash, TokenSealing.seal(token, into: row, with: capability))
            return token
        case nil: throw .sealBroken
        }
    }

    package func remove(_ hash: CapabilityHash) async throws(StoreError) -> Bool {
        // What is not there takes no place in the writer's line, which is for those who have a reason to wait.
        let reader = try openReader()
        try readUntilTurnEnds(reader)
        guard try reader.holds(hash) else { return false }
        return try await write(.remove(hash)) > 0
    }

    package func forget(
        _ token: DeviceToken, in environment: APNsEnvironment, registeredBefore instant: WallInstant?
    ) async throws(StoreError) -> Int {
        try await write(.forget(secret.fingerprint(of: token), in: environment, registeredBefore: instant))
    }

    package nonisolated func markUsed(_ hash: CapabilityHash, on day: UTCDay) { writer.markUsed(hash, on: day) }

    package func add(_ counts: [DailyCount: Int]) async throws(StoreError) {
        guard !counts.isEmpty else { return }
        _ = try await write(.add(counts.map { DailyTotal(count: $0.key, n: $0.value) }))
    }

    package func dailyCounts(from day: UTCDay) async throws(StoreError) -> [DailyTotal] {
        try openReader().dailyCounts(from: day)
    }

    package func allTimeCounts() async throws(StoreError) -> [AllTimeTotal] { try openReader().allTimeCounts() }

    package func deviceCounts() async throws(StoreError) -> DeviceCounts { try openReader().deviceCounts() }

    package func dropIdle(before day: UTCDay, limit: Int) async throws(StoreError) -> Int {
        precondition(limit > 0, "dropping nothing would look like the end")
        return try await write(.dropIdle(before: day, limit: limit))
    }

    package func flush() async throws(StoreError) { _ = try await write(.flush) }

    package func close() async {
        reader?.end()
        reader = nil
    }

    /// Keeps one read transaction for all look-ups of a turn of the executor: taking and giving back SQLite's shared lock
    /// costs two system calls, as much time as the look-up itself. On an executor without turns each look-up is a
    /// transaction of its own.
    ///
    /// Nothing stale is seen by it. A look-up must see a write if whoever asks for it may know that write's answer:
    ///
    /// * An answer of this store ends the transaction before its caller goes on (``write(_:)``). So it is with a sender
    ///   that takes a capability back and has a push with it behind that in the same segment: the push is begun by the
    ///   other request's end, in the turn in which that was answered, and its look-up begins another transaction.
    /// * An answer of another store of the same database reaches whoever then looks up here in bytes that are sent after the
    ///   answer was read, or in a job of another thread. Either way the look-up is a job that is queued after the transaction
    ///   began, if the write came after that; and before any such job the transaction ends (``TurningExecutor``).
    private func readUntilTurnEnds(_ reader: DeviceReader) throws(StoreError) {
        guard let turns, !reader.isReading else { return }
        try reader.begin()
        turns.callAtTurnEnd(reader)
    }

    private func write(_ operation: WriteOperation) async throws(StoreError) -> Int {
        guard reader != nil else { throw .closed }
        defer { reader?.end() }
        return try await writer.write(operation)
    }

    private func openReader() throws(StoreError) -> DeviceReader {
        guard let reader else { throw .closed }
        return reader
    }
}
