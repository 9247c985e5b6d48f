import Cryptography
import DeviceStore
import PushModel

/// A connection that only reads, and its statements. Used by one actor, and by the executor of that one.
package final class DeviceReader {
    private let connection: SQLiteConnection
    private let beginning: SQLiteStatement
    private let ending: SQLiteStatement
    private let search: SQLiteStatement
    private let daily: SQLiteStatement
    private let allTime: SQLiteStatement
    private let devices: SQLiteStatement

    init(path: String, busyTimeout: Duration) throws(StoreError) {
        let connection = try SQLiteConnection(path: path, for: .reading, busyTimeout: busyTimeout)
        self.connection = connection
        beginning = try connection.prepare("BEGIN")
        ending = try connection.prepare("COMMIT")
        search = try connection.prepare(
            """
            SELECT hash, platform, environment, opens_previews, registered_at, last_used, sealed
                FROM device WHERE id BETWEEN ?1 AND ?2
            """)
        daily = try connection.prepare(
            "SELECT day, event, platform, kind, n FROM daily_count WHERE day >= ?1 ORDER BY day, event, platform, kind")
        allTime = try connection.prepare(
            """
            SELECT event, platform, kind, sum(n) FROM daily_count GROUP BY event, platform, kind
                ORDER BY event, platform, kind
            """)
        devices = try connection.prepare("SELECT platform, n FROM device_count")
    }

    /// Lets reads fail at once where they would wait. Beside a writer they never do; only while another process brings back
    /// the index of the log after a crash (sqlite.org/wal.html, section 9).
    func waitForNobody() { connection.setBusyTimeout(.zero) }

    /// Whether a read transaction is open.
    private(set) var isReading = false

    /// Begins a read transaction: until its end all reads see the database as the first of them does.
    func begin() throws(StoreError) {
        try beginning.run()
        isReading = true
    }

    /// Ends the read transaction, where one is open.
    func end() {
        guard isReading else { return }
        isReading = false
        do throws(StoreError) { try ending.run() } catch {
            connection.rollBack()
        }
    }

    /// For the executor, whose turn has ended.
    package func turnEnds() { end() }

    /// Finds a capability's row and lends it, with the sealed token, for the time of the call. Nil when there is none.
    func find<Result>(
        _ hash: CapabilityHash, _ body: (SealedRow, UTCDay, Span<UInt8>) throws(StoreError) -> Result
    ) throws(StoreError) -> Result? {
        bindPlace(of: hash)
        while try search.step() {
            guard search.holds(hash.digest, 0) else { continue }
            defer { search.reset() }
            guard let platform = Platform(stored: search.integer(1)),
                let environment = APNsEnvironment(stored: search.integer(2))
            else { throw .sealBroken }
            let row = SealedRow(
                hash: hash, platform: platform, environment: environment, opensPreviews: search.integer(3) != 0,
                registeredAt: WallInstant(milliseconds: search.integer(4)))
            let lastUsed = UTCDay(stored: search.integer(5))
            return try search.withBytes(6) { (sealed) throws(StoreError) in try body(row, lastUsed, sealed) }
        }
        return nil
    }

    /// Whether there is a row of a capability, whatever is in it.
    func holds(_ hash: CapabilityHash) throws(StoreError) -> Bool {
        bindPlace(of: hash)
        while try search.step() {
            guard search.holds(hash.digest, 0) else { continue }
            search.reset()
            return true
        }
        return false
    }

    private func bindPlace(of hash: CapabilityHash) {
        let place = RowPlace(of: hash)
        search.bind(1, place.first)
        search.bind(2, place.last)
    }

    /// The daily counts from a day on. Words that this relay does not know are passed over.
    func dailyCounts(from day: UTCDay) throws(StoreError) -> [DailyTotal] {
        daily.bind(1, day.stored)
        var totals: [DailyTotal] = []
        while try daily.step() {
            guard let words = words(of: daily, from: 1) else { continue }
            let count = DailyCount(
                day: UTCDay(stored: daily.integer(0)), event: words.event, platform: words.platform, kind: words.kind)
            totals.append(DailyTotal(count: count, n: Int(daily.integer(4))))
        }
        return totals
    }

    /// The sums over all days.
    func allTimeCounts() throws(StoreError) -> [AllTimeTotal] {
        var totals: [AllTimeTotal] = []
        while try allTime.step() {
            guard let words = words(of: allTime, from: 0) else { continue }
            totals.append(
                AllTimeTotal(
                    event: words.event, platform: words.platform, kind: words.kind, n: Int(allTime.integer(3))))
        }
        return totals
    }

    /// How many registrations there are.
    func deviceCounts() throws(StoreError) -> DeviceCounts {
        var counts = DeviceCounts(ios: 0, android: 0)
        while try devices.step() {
            switch Platform(stored: devices.integer(0)) {
            case .ios: counts.ios = Int(devices.integer(1))
            case .android: counts.android = Int(devices.integer(1))
            case nil: break
            }
        }
        return counts
    }

    private func words(
        of statement: SQLiteStatement, from column: Int32
    ) -> (event: CountedEvent, platform: Platform, kind: Kind?)? {
        guard let event = statement.text(column).flatMap(CountedEvent.init(rawValue:)),
            let platform = statement.text(column + 1).flatMap(Platform.init(rawValue:)),
            let kind = statement.text(column + 2)
        else { return nil }
        if kind.isEmpty { return (event, platform, nil) }
        return Kind(rawValue: kind).map { (event, platform, $0) }
    }
}
