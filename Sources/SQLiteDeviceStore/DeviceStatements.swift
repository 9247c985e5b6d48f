import DeviceStore
import PushModel

/// The statements that change `device`, compiled once for the connection that writes.
final class DeviceStatements {
    private let connection: SQLiteConnection
    private let insertion: SQLiteStatement
    private let occupied: SQLiteStatement
    private let search: SQLiteStatement
    private let removal: SQLiteStatement
    private let forgetting: SQLiteStatement
    private let marking: SQLiteStatement
    private let resealing: SQLiteStatement
    private let dropping: SQLiteStatement

    init(_ connection: SQLiteConnection) throws(StoreError) {
        self.connection = connection
        insertion = try connection.prepare(
            """
            INSERT INTO device (id, hash, fingerprint, platform, environment, opens_previews, registered_at, last_used,
                sealed) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
            """)
        occupied = try connection.prepare("SELECT id FROM device WHERE id BETWEEN ?1 AND ?2 ORDER BY id")
        search = try connection.prepare("SELECT last_used FROM device WHERE id BETWEEN ?1 AND ?2 AND hash = ?3")
        removal = try connection.prepare("DELETE FROM device WHERE id BETWEEN ?1 AND ?2 AND hash = ?3")
        forgetting = try connection.prepare(
            """
            DELETE FROM device
                WHERE substr(fingerprint, 1, 8) = substr(?1, 1, 8) AND fingerprint = ?1 AND registered_at <= ?2
                    AND (platform <> 1 OR environment = ?3)
            """)
        marking = try connection.prepare(
            "UPDATE device SET last_used = ?4 WHERE id BETWEEN ?1 AND ?2 AND hash = ?3 AND last_used < ?4")
        resealing = try connection.prepare(
            """
            UPDATE device SET sealed = ?4
                WHERE id BETWEEN ?1 AND ?2 AND hash = ?3 AND substr(sealed, 1, 1) = x'02'
            """)
        dropping = try connection.prepare(
            """
            DELETE FROM device
                WHERE id IN (SELECT id FROM device WHERE last_used >= ?3 AND last_used < ?1 ORDER BY last_used LIMIT ?2)
            """)
    }

    /// Inserts a row, in place of one of the same capability.
    func insert(_ device: DeviceRow) throws(StoreError) {
        let hash = device.row.hash
        let place = RowPlace(of: hash)
        occupied.bind(1, place.first)
        occupied.bind(2, place.last)
        var id = place.first
        if try occupied.step() {
            // Rare: the same capability again, or another whose hash begins alike.
            occupied.reset()
            try remove(hash)
            while try occupied.step() {
                if occupied.integer(0) == id { id += 1 }
            }
            // Four hashes that agree in 63 bits do not happen by chance.
            guard id <= place.last else { throw .corrupt }
        }
        insertion.bind(1, id)
        insertion.bind(2, hash.digest)
        insertion.bind(3, device.fingerprint.digest)
        insertion.bind(4, device.row.platform.stored)
        insertion.bind(5, device.row.environment.stored)
        insertion.bind(6, device.row.opensPreviews ? 1 : 0)
        insertion.bind(7, device.row.registeredAt.milliseconds)
        insertion.bind(8, device.lastUsed.stored)
        insertion.bind(9, device.sealed.span)
        try insertion.run()
    }

    /// When a capability was last used; nil when it is unknown.
    func lastUse(of hash: CapabilityHash) throws(StoreError) -> UTCDay? {
        bind(search, to: hash)
        guard try search.step() else { return nil }
        defer { search.reset() }
        return UTCDay(stored: search.integer(0))
    }

    /// Removes a capability's row; 0 when there was none.
    @discardableResult
    func remove(_ hash: CapabilityHash) throws(StoreError) -> Int {
        bind(removal, to: hash)
        return try removal.run()
    }

    /// Removes all rows of a token that were registered at or before the instant, an iPhone's in this environment alone.
    func forget(
        _ fingerprint: TokenFingerprint, in environment: APNsEnvironment, registeredBefore instant: WallInstant?
    ) throws(StoreError) -> Int {
        forgetting.bind(1, fingerprint.digest)
        forgetting.bind(2, instant?.milliseconds ?? .max)
        forgetting.bind(3, environment.stored)
        return try forgetting.run()
    }

    /// Moves the day of the last use forward, never back.
    func markUsed(_ hash: CapabilityHash, on day: UTCDay) throws(StoreError) {
        bind(marking, to: hash)
        marking.bind(4, day.stored)
        try marking.run()
    }

    /// Puts a seal by capability in the place of one by relay secret; 0 when that is no longer there.
    func reseal(_ hash: CapabilityHash, _ sealed: [UInt8]) throws(StoreError) -> Int {
        bind(resealing, to: hash)
        resealing.bind(4, sealed.span)
        return try resealing.run()
    }

    /// Removes the rows longest unused, at most `limit` of them. What bears a day before there was any relay was written by
    /// a clock that had lost its time, and says nothing of use.
    func dropIdle(before day: UTCDay, limit: Int) throws(StoreError) -> Int {
        dropping.bind(1, day.stored)
        dropping.bind(2, limit)
        dropping.bind(3, Self.firstCredibleDay.stored)
        return try dropping.run()
    }

    /// 2024-01-01.
    private static let firstCredibleDay = UTCDay(number: 19_723)

    private func bind(_ statement: SQLiteStatement, to hash: CapabilityHash) {
        let place = RowPlace(of: hash)
        statement.bind(1, place.first)
        statement.bind(2, place.last)
        statement.bind(3, hash.digest)
    }
}
