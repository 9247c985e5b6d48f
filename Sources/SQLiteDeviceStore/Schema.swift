import DeviceStore
import PushModel

/// The shape of the database and its numbered versions.
///
/// `device` finds its rows by ``RowPlace``. The index over fingerprints holds their first eight bytes only, which is
/// enough to come down to one token's rows, at half the size. `device_count` is kept by triggers in the transaction of
/// the change itself, so that it is right whichever process wrote.
enum Schema {
    /// `GRYT`, in the header of every database of this relay (`PRAGMA application_id`).
    static let applicationID: Int64 = 0x4752_5954
    /// The version that this relay writes (`PRAGMA user_version`).
    static let version: Int64 = 1

    /// The tables of version 1, without what would slow the filling of them down.
    static let tables = """
        CREATE TABLE device (
            id INTEGER PRIMARY KEY,
            hash BLOB NOT NULL,
            fingerprint BLOB NOT NULL,
            platform INTEGER NOT NULL,
            environment INTEGER NOT NULL,
            opens_previews INTEGER NOT NULL,
            registered_at INTEGER NOT NULL,
            last_used INTEGER NOT NULL,
            sealed BLOB NOT NULL
        ) STRICT;
        CREATE TABLE device_count (platform INTEGER PRIMARY KEY, n INTEGER NOT NULL) STRICT;
        CREATE TABLE daily_count (
            day INTEGER NOT NULL,
            event TEXT NOT NULL,
            platform TEXT NOT NULL,
            kind TEXT NOT NULL,
            n INTEGER NOT NULL,
            PRIMARY KEY (day, event, platform, kind)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE relay (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
        """

    /// The indexes and triggers of version 1, made once the tables are filled.
    static let indexes = """
        CREATE INDEX device_by_fingerprint ON device (substr(fingerprint, 1, 8));
        CREATE INDEX device_by_last_used ON device (last_used);
        INSERT INTO device_count
            SELECT 1, (SELECT count(*) FROM device WHERE platform = 1)
            UNION ALL SELECT 2, (SELECT count(*) FROM device WHERE platform = 2);
        CREATE TRIGGER device_added AFTER INSERT ON device BEGIN
            UPDATE device_count SET n = n + 1 WHERE platform = NEW.platform;
        END;
        CREATE TRIGGER device_removed AFTER DELETE ON device BEGIN
            UPDATE device_count SET n = n - 1 WHERE platform = OLD.platform;
        END;
        """

    /// What a file turned out to be.
    enum State: Equatable {
        /// Nothing in it yet.
        case empty
        /// Made by the relay that was in the field before this one.
        case older
        /// Ours, of this version.
        case versioned(Int64)
    }

    /// Looks at a database. Reads only, but for the roll-back of a crash's journal, which SQLite does by itself.
    static func state(of connection: SQLiteConnection) throws(StoreOpenError) -> State {
        do throws(StoreError) {
            let application = try connection.integer("PRAGMA application_id") ?? 0
            let version = try connection.integer("PRAGMA user_version") ?? 0
            if application == applicationID { return .versioned(version) }
            let tables = try connection.integer("SELECT count(*) FROM sqlite_schema WHERE type = 'table'") ?? 0
            if application == 0, tables == 0 { return .empty }
            if application == 0, try OlderDatabase(connection) != nil { return .older }
        } catch .corrupt {
            throw .notADatabase
        } catch {
            throw .store(error)
        }
        throw .otherProgram
    }

    /// Looks for damage in a database of at most so many bytes, before anything is written.
    static func check(
        _ connection: SQLiteConnection, _ state: State, upTo checkedBytes: Int64
    ) throws(StoreOpenError) {
        guard state != .empty else { return }
        do throws(StoreError) {
            let pages = try connection.integer("PRAGMA page_count") ?? 0
            let pageSize = try connection.integer("PRAGMA page_size") ?? 0
            guard pages * pageSize <= checkedBytes else { return }
            guard try connection.isWhole() else { throw StoreError.corrupt }
        } catch .corrupt {
            throw .damaged
        } catch {
            throw .store(error)
        }
    }

    /// Makes the tables and brings over what an older relay left, all in one transaction.
    static func make(
        in connection: SQLiteConnection, secret: RelaySecret, today: UTCDay,
        progress: (TakeoverProgress) -> Void
    ) throws(StoreError) -> TakeoverReport? {
        try connection.transaction { () throws(StoreError) -> TakeoverReport? in
            // Another process may have done it while this one waited for the lock.
            guard try connection.integer("PRAGMA application_id") != applicationID else { return nil }
            let older = try OlderDatabase(connection)
            try connection.execute(tables)
            var report: TakeoverReport?
            if let older {
                report = try older.moveOver(secret: secret, today: today, progress: progress)
                try connection.execute("INSERT INTO relay VALUES ('scrub_due', x'01')")
            }
            try connection.execute(indexes)
            let check = try connection.prepare("INSERT INTO relay VALUES ('secret_check', ?1)")
            check.bind(1, secret.checkValue)
            try check.run()
            try connection.execute("PRAGMA application_id=\(applicationID)")
            try connection.execute("PRAGMA user_version=\(version)")
            return report
        }
    }
}
