import Cryptography
import DeviceStore
import PushModel

/// How far a takeover is.
package struct TakeoverProgress: Sendable, Equatable {
    /// Rows looked at.
    package var done: Int
    /// Rows there are.
    package var total: Int
}

/// What a takeover did. Each number counts rows.
package struct TakeoverReport: Sendable, Equatable {
    /// Registrations that work as before.
    package var devices = 0
    /// Lines of the daily counts.
    package var counts = 0
    /// Rows of one capability that differed only in the case of its hex; the one used last was kept.
    package var duplicates = 0
    /// Rows whose hash is not 64 hex digits, which no capability could ever have found.
    package var unreadableHashes = 0
    /// Rows of a platform other than iOS and Android.
    package var unknownPlatforms = 0
    /// Rows without a token.
    package var missingTokens = 0
    /// Lines of the daily counts without a day or a number.
    package var unreadableCounts = 0

    package init() {}

    /// Rows that could not be kept.
    package var dropped: Int { unreadableHashes + unknownPlatforms + missingTokens + unreadableCounts }
}

/// The tables of the relay that was in the field before: tokens in clear, hashes in hex, days as text. They are read
/// leniently, for they are all there is.
struct OlderDatabase {
    private let connection: SQLiteConnection
    private let deviceColumns: Set<String>
    private let countColumns: Set<String>
    private static let progressEvery = 10_000

    /// Nil when neither of the old tables is there.
    init?(_ connection: SQLiteConnection) throws(StoreError) {
        self.connection = connection
        deviceColumns = try Self.columns(of: "devices", in: connection)
        countColumns = try Self.columns(of: "daily_counts", in: connection)
        let hasDevices = deviceColumns.isSuperset(of: ["cap_hash", "platform", "token"])
        let hasCounts = countColumns.isSuperset(of: ["day", "event", "platform", "kind", "n"])
        guard hasDevices || hasCounts else { return nil }
    }

    private static func columns(of table: String, in connection: SQLiteConnection) throws(StoreError) -> Set<String> {
        let statement = try connection.prepare("SELECT name FROM pragma_table_info(?1)")
        statement.bind(1, table)
        var names: Set<String> = []
        while try statement.step() {
            if let name = statement.text(0) { names.insert(name) }
        }
        return names
    }

    /// Copies everything into the new tables and drops the old ones, inside of the caller's transaction.
    func moveOver(
        secret: RelaySecret, today: UTCDay, progress: (TakeoverProgress) -> Void
    ) throws(StoreError) -> TakeoverReport {
        var report = TakeoverReport()
        if !deviceColumns.isEmpty {
            try moveDevices(secret: secret, today: today, report: &report, progress: progress)
            try connection.execute("DROP TABLE devices")
        }
        if !countColumns.isEmpty {
            try moveCounts(report: &report)
            try connection.execute("DROP TABLE daily_counts")
        }
        return report
    }

    // MARK: Devices

    private func moveDevices(
        secret: RelaySecret, today: UTCDay, report: inout TakeoverReport, progress: (TakeoverProgress) -> Void
    ) throws(StoreError) {
        func column(_ name: String) -> String { deviceColumns.contains(name) ? name : "NULL" }
        let total = Int(try connection.integer("SELECT count(*) FROM devices") ?? 0)
        // In the order of the new keys, so that the table grows at its end.
        let rows = try connection.prepare(
            """
            SELECT cap_hash, platform, token, \(column("env")), \(column("created_at")), \(column("last_used_at")),
                \(column("opens")) FROM devices ORDER BY cap_hash
            """)
        let statements = try DeviceStatements(connection)
        var done = 0
        progress(TakeoverProgress(done: 0, total: total))
        while try rows.step() {
            done += 1
            if done.isMultiple(of: Self.progressEvery) { progress(TakeoverProgress(done: done, total: total)) }
            guard let hash = Self.hash(fromHex: rows.text(0)) else {
                report.unreadableHashes += 1
                continue
            }
            guard let platform = rows.text(1).flatMap({ Platform(rawValue: $0.lowercased()) }) else {
                report.unknownPlatforms += 1
                continue
            }
            guard let text = rows.text(2), !text.isEmpty else {
                report.missingTokens += 1
                continue
            }
            // The stricter check also brings hex into one case, so that the fingerprint is that of later registrations.
            let token = DeviceToken(text, for: platform) ?? DeviceToken(unchecked: text, for: platform)
            let created = rows.isNull(4) ? nil : rows.integer(4)
            let used = rows.isNull(5) ? created : rows.integer(5)
            let row = SealedRow(
                hash: hash, platform: platform, environment: Self.environment(rows.text(3), on: platform),
                opensPreviews: platform == .android && rows.integer(6) != 0,
                // Without an instant, whatever a push service says about the token is newer.
                registeredAt: WallInstant(milliseconds: created ?? 0))
            let device = DeviceRow(
                row: row, fingerprint: secret.fingerprint(of: token),
                sealed: TokenSealing.seal(token, into: row, with: secret),
                // Never used, as far as anybody knows, counts as used today; so does a clock that was ahead.
                lastUsed: min(used.map { WallInstant(milliseconds: $0).day } ?? today, today))
            if let earlier = try statements.lastUse(of: hash) {
                report.duplicates += 1
                guard device.lastUsed >= earlier else { continue }
                try statements.insert(device)
            } else {
                try statements.insert(device)
                report.devices += 1
            }
        }
        progress(TakeoverProgress(done: done, total: total))
    }

    private static func hash(fromHex text: String?) -> CapabilityHash? {
        guard let text, text.utf8.count == 64 else { return nil }
        var bytes = InlineArray<32, UInt8>(repeating: 0)
        for (index, digit) in text.utf8.enumerated() {
            guard let value = Character(UnicodeScalar(digit)).hexDigitValue else { return nil }
            bytes[index / 2] = bytes[index / 2] << 4 | UInt8(value)
        }
        return CapabilityHash(digest: SHA256Digest(bytes: bytes))
    }

    /// Production unless the row plainly says otherwise, as for a phone that names none.
    private static func environment(_ text: String?, on platform: Platform) -> APNsEnvironment {
        guard platform == .ios, let text else { return .production }
        return APNsEnvironment(rawValue: text.lowercased()) ?? .production
    }

    // MARK: Counts

    /// Words that this relay does not know are carried over as they are; they belong to somebody's statistics.
    private func moveCounts(report: inout TakeoverReport) throws(StoreError) {
        let readable = "strftime('%s', day) IS NOT NULL AND typeof(day) = 'text' AND typeof(n) IN ('integer', 'real')"
        let all = try connection.integer("SELECT count(*) FROM daily_counts") ?? 0
        let kept = try connection.integer("SELECT count(*) FROM daily_counts WHERE \(readable)") ?? 0
        try connection.execute(
            """
            INSERT INTO daily_count
                SELECT strftime('%s', day) / 86400, coalesce(event, ''), coalesce(platform, ''), coalesce(kind, ''),
                    CAST(sum(n) AS INTEGER)
                FROM daily_counts WHERE \(readable) GROUP BY 1, 2, 3, 4
            """)
        report.counts = Int(kept)
        report.unreadableCounts = Int(all - kept)
    }
}
