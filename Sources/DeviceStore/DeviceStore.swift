package import PushModel

/// Where registrations live: found by their capability, forgotten by their token, and worth nothing to a thief.
///
/// What every implementation promises:
///
/// * No capability is stored, only its hash; no token, only sealed under its capability (``TokenSealing``).
/// * What `register`, `remove`, `forget` and `dropIdle` did is on disk (fsync) when they return, and every store of the
///   same database sees it from then on.
/// * Any number of calls may be under way at once. A call that throws has changed nothing.
/// * A look-up takes microseconds however many devices there are, and waits for no write.
package protocol DeviceStore: Sendable {
    /// Stores a registration. On disk when it returns. The same capability again takes the earlier one's place.
    func register(_ registration: Registration) async throws(StoreError)

    /// Finds a registration and opens its token with the capability. Nil when there is none.
    ///
    /// - Throws: ``StoreError/sealBroken`` when there is one that the capability does not open.
    func device(for capability: Capability) async throws(StoreError) -> StoredDevice?

    /// Forgets one registration. On disk when it returns; false when there was none.
    func remove(_ hash: CapabilityHash) async throws(StoreError) -> Bool

    /// Forgets every registration of a token that was made at or before the instant, or all of them without one. On
    /// disk when it returns. Returns how many there were. Of an iPhone's only those that name this environment of Apple's:
    /// what is no token in one may be a living one in the other.
    ///
    /// The comparison happens in the store, together with the removal, so a registration that comes in between stays.
    func forget(
        _ token: DeviceToken, in environment: APNsEnvironment, registeredBefore instant: WallInstant?
    ) async throws(StoreError) -> Int

    /// Notes that a capability was used on a day. Returns at once; it is written within a second and by ``flush()``. A
    /// crash loses at most that second. Of a day that is not later than the one stored, nothing is written.
    func markUsed(_ hash: CapabilityHash, on day: UTCDay)

    /// Adds to the daily counts, all of it in one transaction. On disk when it returns. Each number is positive.
    func add(_ counts: [DailyCount: Int]) async throws(StoreError)

    /// The daily counts from a day on, in their order.
    func dailyCounts(from day: UTCDay) async throws(StoreError) -> [DailyTotal]

    /// The sums over all days, by event, platform and kind, in that order.
    func allTimeCounts() async throws(StoreError) -> [AllTimeTotal]

    /// How many registrations there are. Kept up to date by the store, so that nobody counts a million rows.
    func deviceCounts() async throws(StoreError) -> DeviceCounts

    /// Drops at most `limit` registrations last used before the day, the longest unused first. On disk when it returns.
    /// Returns how many it dropped; fewer than `limit` means that there are no more. What bears a day before 2024 was
    /// written by a clock that had lost its time, says nothing of use, and stays.
    func dropIdle(before day: UTCDay, limit: Int) async throws(StoreError) -> Int

    /// Writes all that ``markUsed(_:on:)`` and look-ups have left to write. On disk when it returns.
    func flush() async throws(StoreError)

    /// Ends this store's use of the database. Calls that come later throw ``StoreError/closed``.
    func close() async
}
