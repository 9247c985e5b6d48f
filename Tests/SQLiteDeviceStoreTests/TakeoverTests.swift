import Cryptography
import DeviceStore
import PushModel
import SQLiteDeviceStore
import Testing

/// What the relay in the field has on its disk.
private let olderTables = """
    CREATE TABLE devices (cap_hash TEXT PRIMARY KEY, platform TEXT, token TEXT, env TEXT, created_at INTEGER,
        last_used_at INTEGER, opens INTEGER);
    CREATE TABLE daily_counts (day TEXT, event TEXT, platform TEXT, kind TEXT, n INTEGER,
        PRIMARY KEY (day, event, platform, kind));

    """

@Suite(.timeLimit(.minutes(1)))
struct TakeoverTests {
    private let scratch = Scratch()

    private func line(
        _ capability: Capability, _ platform: Platform, _ token: String, env: String = "'production'",
        created: String = "1700000000123", used: String = "1727999999999", opens: String = "NULL",
        upperCase: Bool = false
    ) -> String {
        let hex = CapabilityHash(of: capability).digest.hex
        let hash = upperCase ? hex.uppercased() : hex
        return """
            INSERT INTO devices VALUES ('\(hash)', '\(platform.rawValue)', '\(token)', \(env), \(created), \(used),
                \(opens));

            """
    }

    @Test func `nothing is lost`() async throws {
        let ios = newCapability()
        let sandbox = newCapability()
        let android = newCapability()
        let opener = newCapability()
        let tokens = [newToken(.ios), newToken(.ios), newToken(.android), newToken(.android)]
        scratch.sqlite(
            olderTables + line(ios, .ios, tokens[0].disclosed)
                + line(sandbox, .ios, tokens[1].disclosed, env: "'sandbox'", used: "1728000000000")
                + line(android, .android, tokens[2].disclosed, env: "NULL", opens: "0")
                + line(opener, .android, tokens[3].disclosed, opens: "1") + """
                    INSERT INTO daily_counts VALUES ('2026-01-31', 'sent', 'ios', 'dm', 41);
                    INSERT INTO daily_counts VALUES ('2026-01-31', 'gone', 'android', '', 2);
                    INSERT INTO daily_counts VALUES ('2024-02-29', 'registered', 'ios', '', 9);
                    """)
        try await scratch.withStore { store, database in
            var report = TakeoverReport()
            report.devices = 4
            report.counts = 3
            #expect(database.report.takeover == report)
            #expect(database.report.madeSecret)
            let found = try await [ios, sandbox, android, opener].asyncMap { try await store.device(for: $0) }
            #expect(found.map { $0?.device.token } == tokens)
            #expect(found.map { $0?.device.environment } == [.production, .sandbox, .production, .production])
            #expect(found.map { $0?.device.opensPreviews } == [false, false, false, true])
            #expect(found.allSatisfy { $0?.device.registeredAt == WallInstant(milliseconds: 1_700_000_000_123) })
            #expect(found[0]?.lastUsed == UTCDay(number: 19_999))
            // A clock that was ahead: as used today, not later.
            #expect(found[1]?.lastUsed == today)
            #expect(try await store.deviceCounts() == DeviceCounts(ios: 2, android: 2))
            let counts = try await store.dailyCounts(from: UTCDay(number: 0))
            #expect(
                counts.map { "\($0.count.day) \($0.count.event) \($0.count.platform) \($0.n)" } == [
                    "2024-02-29 registered ios 9", "2026-01-31 gone android 2", "2026-01-31 sent ios 41",
                ])
            #expect(counts.map(\.count.kind) == [nil, nil, .dm])
            // Old and new registrations of one token are forgotten together.
            try await store.register(registration(token: tokens[0]))
            #expect(try await store.forget(tokens[0], in: .production, registeredBefore: nil) == 2)
        }
        let tables = scratch.sqlite("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        #expect(tables == "daily_count\ndevice\ndevice_count\nrelay\n")
        try await scratch.withStore { store, database in
            #expect(database.report.takeover == nil)
            let kept = try await store.device(for: opener)
            #expect(kept?.device.token == tokens[3])
            let forgotten = try await store.device(for: ios)
            #expect(forgotten == nil)
        }
    }

    @Test func `odd rows are kept where they can be, and counted where they cannot`() async throws {
        let upper = newCapability()
        let twice = newCapability()
        let bare = newCapability()
        let never = newCapability()
        let shouting = newCapability()
        let token = newToken(.ios)
        let lax = newCapability()
        scratch.sqlite(
            olderTables
                + line(upper, .ios, token.disclosed.uppercased(), upperCase: true)
                + line(twice, .ios, String(repeating: "ab", count: 32), used: "1700000000000", upperCase: true)
                + line(twice, .ios, String(repeating: "cd", count: 32), used: "1710000000000")
                + line(bare, .ios, token.disclosed, env: "NULL", created: "NULL", used: "NULL")
                + line(never, .android, newToken(.android).disclosed, created: "1700000000000", used: "NULL")
                + line(shouting, .ios, token.disclosed, env: "'Sandbox'", created: "'soon'")
                + line(lax, .ios, "short") + """
                    INSERT INTO devices VALUES ('abc', 'ios', 'ab', NULL, 1, 1, 0);
                    INSERT INTO devices VALUES (NULL, 'ios', 'ab', NULL, 1, 1, 0);
                    INSERT INTO devices VALUES ('\(String(repeating: "g", count: 64))', 'ios', 'ab', NULL, 1, 1, 0);
                    INSERT INTO devices VALUES ('\(String(repeating: "1", count: 64))', 'web', 'ab', NULL, 1, 1, 0);
                    INSERT INTO devices VALUES ('\(String(repeating: "2", count: 64))', NULL, 'ab', NULL, 1, 1, 0);
                    INSERT INTO devices VALUES ('\(String(repeating: "3", count: 64))', 'ios', NULL, NULL, 1, 1, 0);
                    INSERT INTO devices VALUES ('\(String(repeating: "4", count: 64))', 'ios', '', NULL, 1, 1, 0);
                    INSERT INTO daily_counts VALUES ('2026-01-31', 'gone', 'ios', NULL, 2);
                    INSERT INTO daily_counts VALUES ('2026-01-31', 'gone', 'ios', '', 3);
                    INSERT INTO daily_counts VALUES ('2026-01-31', 'rang', 'ios', '', 3);
                    INSERT INTO daily_counts VALUES ('someday', 'gone', 'ios', '', 3);
                    INSERT INTO daily_counts VALUES (NULL, 'gone', 'ios', '', 3);
                    INSERT INTO daily_counts VALUES ('2026-02-01', 'gone', 'ios', '', NULL);
                    """)
        try await scratch.withStore { store, database in
            var report = TakeoverReport()
            report.devices = 6
            report.duplicates = 1
            report.unreadableHashes = 3
            report.unknownPlatforms = 2
            report.missingTokens = 2
            report.counts = 3
            report.unreadableCounts = 3
            #expect(database.report.takeover == report)
            #expect(report.dropped == 10)
            #expect(try await store.device(for: upper)?.device.token == token)
            #expect(
                try await store.device(for: twice)?.device.token.disclosed == String(repeating: "cd", count: 32))
            let found = try #require(try await store.device(for: bare))
            #expect(found.device.environment == .production && found.lastUsed == today)
            #expect(found.device.registeredAt.milliseconds == 0)
            #expect(try await store.device(for: never)?.lastUsed == UTCDay(number: 19_675))
            #expect(try await store.device(for: shouting)?.device.environment == .sandbox)
            #expect(try await store.device(for: lax)?.device.token.disclosed == "short")
            #expect(try await store.deviceCounts() == DeviceCounts(ios: 5, android: 1))
            let counts = try await store.dailyCounts(from: UTCDay(number: 0))
            #expect(counts.map(\.n) == [5])
            // The three registrations of one token, one of them in upper case, are known to be of one token.
            #expect(try await store.forget(token, in: .production, registeredBefore: nil) == 2)
            #expect(try await store.forget(token, in: .sandbox, registeredBefore: nil) == 1)
        }
        #expect(scratch.sqlite("SELECT sum(n) FROM daily_count WHERE event = 'rang'") == "3\n")
    }

    @Test func `a database from before previews has no column for them`() async throws {
        let capability = newCapability()
        let token = newToken(.android)
        scratch.sqlite(
            """
            CREATE TABLE devices (cap_hash TEXT PRIMARY KEY, platform TEXT NOT NULL, token TEXT NOT NULL,
                env TEXT NOT NULL, created_at INTEGER NOT NULL, last_used_at INTEGER NOT NULL) WITHOUT ROWID;
            CREATE INDEX devices_by_token ON devices (token);
            INSERT INTO devices VALUES ('\(CapabilityHash(of: capability).digest.hex)', 'android', '\(token.disclosed)',
                'production', 1700000000000, 1700000000000);
            """)
        try await scratch.withStore { store, database in
            #expect(database.report.takeover?.devices == 1)
            let found = try await store.device(for: capability)
            #expect(found?.device.token == token && found?.device.opensPreviews == false)
        }
    }

    @Test func `counts alone, or empty tables, are taken over too`() async throws {
        scratch.sqlite(
            "CREATE TABLE daily_counts (day, event, platform, kind, n, PRIMARY KEY(day,event,platform,kind))")
        try await scratch.withStore { store, database in
            #expect(database.report.takeover == TakeoverReport())
            try await store.register(registration())
        }
    }

    @Test func `what the older relay left in its log is taken over too`() async throws {
        let capability = newCapability()
        let token = newToken(.ios)
        let script = """
            PRAGMA journal_mode=WAL;
            \(olderTables)
            \(line(capability, .ios, token.disclosed))
            .shell cp '\(scratch.database)' '\(scratch.database)-wal' '\(scratch.path)/copy/'
            """
        shell("mkdir '\(scratch.path)/copy'")
        scratch.sqlite(script)
        let database = try SQLiteDatabase.open(directory: scratch.path + "/copy", secret: .file)
        let store = try database.makeStore(on: QueueExecutor())
        #expect(database.report.takeover?.devices == 1)
        #expect(try await store.device(for: capability)?.device.token == token)
        await store.close()
        await database.close()
    }

    @Test func `a takeover that dies in the middle leaves the older database whole`() async throws {
        let capabilities = (0..<3).map { _ in newCapability() }
        scratch.sqlite(olderTables + capabilities.map { line($0, .ios, newToken(.ios).disclosed) }.joined())
        // A number that no sum can hold ends the transaction after all devices have been moved.
        scratch.sqlite(
            """
            INSERT INTO daily_counts VALUES ('2026-01-31', 'sent', 'ios', 'dm', 9223372036854775807);
            INSERT INTO daily_counts VALUES ('2026-01-31', 'sent', 'ios', NULL, 1);
            UPDATE daily_counts SET kind = '' WHERE kind IS NULL;
            INSERT INTO daily_counts VALUES ('2026-01-31', 'sent', 'ios', NULL, 9223372036854775807);
            """)
        let before = scratch.sqlite(".dump")
        #expect(throws: StoreOpenError.self) { try scratch.open() }
        #expect(scratch.sqlite(".dump") == before)
        scratch.sqlite("DELETE FROM daily_counts WHERE kind IS NULL")
        try await scratch.withStore { store, database in
            #expect(database.report.takeover?.devices == 3)
            let found = try await capabilities.asyncMap { try await store.device(for: $0) }
            #expect(found.allSatisfy { $0 != nil })
        }
    }

    @Test func `a rewriting of the file that was cut short is done at the next start`() async throws {
        try await scratch.withStore { store, _ in try await store.register(registration()) }
        scratch.sqlite(
            """
            INSERT INTO relay VALUES ('scrub_due', x'01');
            PRAGMA secure_delete=OFF;
            CREATE TABLE old (text); INSERT INTO old VALUES ('\(String(repeating: "left in clear ", count: 50))');
            DROP TABLE old;
            """)
        #expect(contains(scratch, "left in clear"))
        try await scratch.withStore { _, _ in }
        #expect(!contains(scratch, "left in clear"))
        #expect(scratch.sqlite("SELECT count(*) FROM relay WHERE name = 'scrub_due'") == "0\n")
    }

    @Test(.timeLimit(.minutes(3)))
    func `a hundred thousand devices are all taken over, and no token of theirs stays in clear`() async throws {
        let count = 100_000
        let known = (0..<2000).map { _ in newCapability() }
        scratch.sqlite(
            "PRAGMA journal_mode=WAL;\n" + olderTables + "BEGIN;\n"
                + known.map { line($0, .ios, newToken(.ios).disclosed) }.joined() + """
                    WITH RECURSIVE numbers (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM numbers WHERE i < 98000)
                        INSERT INTO devices SELECT lower(hex(randomblob(32))),
                            CASE i % 2 WHEN 0 THEN 'ios' ELSE 'android' END,
                            lower(hex(randomblob(CASE i % 2 WHEN 0 THEN 32 ELSE 80 END))),
                            'production', 1700000000000 + i, 1727000000000 + i, i % 2 FROM numbers;
                    COMMIT;
                    -- Some were deleted long ago, by a relay that did not overwrite them.
                    PRAGMA secure_delete=OFF;
                    CREATE TABLE other AS SELECT token FROM devices;
                    DROP TABLE other;
                    .output '\(scratch.path)/tokens'
                    SELECT token FROM devices WHERE abs(random()) % 10 = 0;
                    """)
        let search = "cat '\(scratch.path)'/push.db* | LC_ALL=C grep -a -q -F -f '\(scratch.path)/tokens'"
        #expect(shell(search) == 0)

        var steps: [TakeoverProgress] = []
        let database = try scratch.open { steps.append($0) }
        #expect(database.report.takeover?.devices == count)
        #expect(database.report.takeover?.dropped == 0)
        #expect(steps.first?.done == 0 && steps.last?.done == count)
        #expect(steps.allSatisfy { $0.total == count } && steps.count >= 10)
        let store = try database.makeStore(on: QueueExecutor())
        #expect(shell(search) == 256)

        #expect(try await store.deviceCounts() == DeviceCounts(ios: 51_000, android: 49_000))
        for capability in known { #expect(try await store.device(for: capability) != nil) }
        try await store.flush()
        // Those that were presented are sealed by their capability now, the others by the relay's secret.
        let versions = scratch.sqlite("SELECT hex(substr(sealed, 1, 1)), count(*) FROM device GROUP BY 1 ORDER BY 1")
        #expect(versions == "01|2000\n02|98000\n")
        for capability in known.prefix(100) { #expect(try await store.device(for: capability) != nil) }
        await store.close()
        await database.close()
    }

    private func contains(_ scratch: Scratch, _ text: String) -> Bool {
        shell("cat '\(scratch.path)'/push.db* | grep -a -q -F '\(text)'") == 0
    }
}

extension Array {
    func asyncMap<Result>(_ transform: (Element) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await transform(element)) }
        return results
    }
}
