package import DeviceStore
package import PushModel

/// A ``DeviceStore`` over SQLite that lives on one executor: look-ups run there, on a connection of their own, and
/// writes go to the one writer of the process.
package actor SQLiteDeviceStore: DeviceStore {
    private nonisolated let executor: any SerialExecutor
    private nonisolated let writer: SQLiteWriter
    private nonisolated let secret: RelaySecret
    private var reader: DeviceReader?

    /// The executor that was given at the start.
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    init(
        path: String, busyTimeout: Duration, secret: RelaySecret, writer: SQLiteWriter, on executor: any SerialExecutor
    ) throws(StoreError) {
        self.executor = executor
        self.writer = writer
        self.secret = secret
        reader = try DeviceReader(path: path, busyTimeout: busyTimeout)
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
        let hash = CapabilityHash(of: capability)
        guard let found = try openReader().find(hash) else { return nil }
        let token: DeviceToken
        switch TokenSealing.version(of: found.sealed.span) {
        case .byCapability:
            guard let opened = TokenSealing.open(found.sealed.span, from: found.row, with: capability) else {
                throw .sealBroken
            }
            token = opened
        case .byRelaySecret:
            guard let opened = TokenSealing.open(found.sealed.span, from: found.row, with: secret) else {
                throw .sealBroken
            }
            token = opened
            writer.reseal(hash, TokenSealing.seal(opened, into: found.row, with: capability))
        case nil: throw .sealBroken
        }
        return StoredDevice(hash: hash, device: found.row.device(with: token), lastUsed: found.lastUsed)
    }

    package func remove(_ hash: CapabilityHash) async throws(StoreError) -> Bool {
        try await write(.remove(hash)) > 0
    }

    package func forget(
        _ token: DeviceToken, registeredBefore instant: WallInstant?
    ) async throws(StoreError) -> Int {
        try await write(.forget(secret.fingerprint(of: token), registeredBefore: instant))
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

    package func close() async { reader = nil }

    private func write(_ operation: WriteOperation) async throws(StoreError) -> Int {
        guard reader != nil else { throw .closed }
        return try await writer.write(operation)
    }

    private func openReader() throws(StoreError) -> DeviceReader {
        guard let reader else { throw .closed }
        return reader
    }
}
