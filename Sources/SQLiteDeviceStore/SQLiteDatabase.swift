package import DeviceStore
package import PushModel

/// How the database is run. The defaults are right for one relay on one machine.
package struct SQLiteOptions: Sendable {
    /// The most writes that wait at once, behind those of the transaction under way; more are answered
    /// ``StoreError/overloaded``.
    package var waitingLimit = 65_536
    /// How long marks of use gather before they are written.
    package var flushInterval = Duration.seconds(1)
    /// How long a write waits for another process's.
    package var busyTimeout = Duration.seconds(2)
    /// The largest database, in bytes, that is read whole at the start to find damage: some hundred and fifty thousand
    /// registrations, and 17 ms of CPU for each 17 MB. In a larger one, damage shows when a look-up or a write meets it.
    package var checkedBytes = 64 << 20

    package init() {}
}

/// Where the relay's secret comes from.
package enum RelaySecretSource: Sendable {
    /// From the environment.
    case given(RelaySecret)
    /// From `secret.key` in the data directory, which is made at first start.
    case file
}

/// What opening found and did, for the lines that the relay prints at start.
package struct OpeningReport: Sendable, Equatable {
    /// What was taken over from an older relay; nil when there was none.
    package var takeover: TakeoverReport?
    /// `secret.key` was made just now.
    package var madeSecret = false
    /// `secret.key` could be read by other users until now.
    package var secretWasReadableByOthers = false
    /// Any user of the machine may read or write the data directory, which somebody else made; it was left so.
    package var directoryIsOpenToOthers = false
    /// There are devices, and nothing says under which secret they were registered: what was damaged has been saved in
    /// part. The secret that was found is taken for theirs from now on.
    package var secretIsUnproven = false
    /// `secret.key` was there and `push.db` was not, or was empty: what was registered before is lost.
    package var databaseWasMissing = false

    package init() {}
}

/// One `push.db`, open for this process: the writer, and the making of one ``SQLiteDeviceStore`` for each loop.
///
/// Several processes may have the same database open at once; each sees what the others have committed.
package final class SQLiteDatabase: Sendable {
    /// What opening found and did.
    package let report: OpeningReport

    private let path: String
    private let secret: RelaySecret
    private let writer: SQLiteWriter
    private let options: SQLiteOptions

    private init(
        path: String, secret: RelaySecret, writer: SQLiteWriter, options: SQLiteOptions, report: OpeningReport
    ) {
        self.path = path
        self.secret = secret
        self.writer = writer
        self.options = options
        self.report = report
    }

    /// Makes the directory where it is missing, for the owner alone. For what is to be in it before the database is opened.
    package static func makeDirectory(_ directory: String) throws(StoreOpenError) {
        try DataDirectory(path: directory).makeDirectories()
    }

    /// Opens `push.db` in the directory, making both where they are missing, and starts the writer's thread.
    ///
    /// A database of an older relay is taken over first, in one transaction: a crash in the middle leaves it as it was.
    /// That takes about ten seconds for a million devices, of which `progress` tells.
    ///
    /// Blocks; it is for the start of the process.
    package static func open(
        directory: String, secret source: RelaySecretSource, clock: Clocks = .system,
        options: SQLiteOptions = SQLiteOptions(), progress: (TakeoverProgress) -> Void = { _ in }
    ) throws(StoreOpenError) -> SQLiteDatabase {
        let directory = DataDirectory(path: directory)
        try directory.prepare()
        let file = FileIdentity(of: directory.database)
        let hadLog = directory.hasLog
        let connection: SQLiteConnection
        do throws(StoreError) {
            connection = try SQLiteConnection(
                path: directory.database, for: .writing, busyTimeout: options.busyTimeout)
        } catch .corrupt {
            throw .notADatabase
        } catch {
            throw .store(error)
        }
        if hadLog { connection.leaveLogAtEnd() }
        let state = try Schema.state(of: connection)
        try Schema.check(connection, state, upTo: Int64(options.checkedBytes))
        var report = OpeningReport()
        report.directoryIsOpenToOthers = directory.isOpenToOthers
        let secret = try Self.secret(source, in: directory.path, for: connection, state, report: &report)
        let writer = try storing { () throws(StoreError) in
            // Only from here on is anything written, for what came before may have refused the file.
            try connection.execute("PRAGMA journal_mode=WAL")
            switch state {
            case .empty, .older:
                report.takeover = try Schema.make(
                    in: connection, secret: secret, today: clock.wall().day, progress: progress)
            case .versioned: break
            }
            try Scrubbing.finish(connection, in: directory)
            let writer = try SQLiteWriter(path: directory.database, options: options)
            // So what was looked at is what is written to.
            guard writer.isInPlace, FileIdentity(of: directory.database) == file else { throw .replaced }
            try writer.start()
            return writer
        }
        return SQLiteDatabase(
            path: directory.database, secret: secret, writer: writer, options: options, report: report)
    }

    /// A store that lives on the executor, with a connection of its own for reading. On a ``TurningExecutor`` the look-ups of
    /// a turn share one read transaction.
    package func makeStore(on executor: any SerialExecutor) throws(StoreError) -> SQLiteDeviceStore {
        // Looked at on both sides of the opening, so that what is read is what is written.
        guard writer.isInPlace else { throw .replaced }
        let store = try SQLiteDeviceStore(
            path: path, busyTimeout: options.busyTimeout, secret: secret, writer: writer, on: executor)
        guard writer.isInPlace else { throw .replaced }
        return store
    }

    /// Whether the database, its log or the log's index has lost its name to another file or to none since it was opened.
    /// Until it has it back nothing is written, and every write fails with ``StoreError/replaced``. Some microseconds.
    package var isReplaced: Bool { !writer.isInPlace }

    /// What the writer has done so far, for metrics and readiness.
    package var statistics: WriterStatistics { writer.statistics }

    /// Writes what waits, empties the log and ends the writer's thread. Close the stores first: the last connection to
    /// go removes the log. Safe to call twice.
    package func close() async { await writer.close() }

    private static func storing<Result>(_ body: () throws(StoreError) -> Result) throws(StoreOpenError) -> Result {
        do throws(StoreError) { return try body() } catch { throw .store(error) }
    }

    /// Finds the secret, and sees to it that it is the one the devices were registered under.
    private static func secret(
        _ source: RelaySecretSource, in directory: String, for connection: SQLiteConnection, _ state: Schema.State,
        report: inout OpeningReport
    ) throws(StoreOpenError) -> RelaySecret {
        var known: SQLiteStatement?
        var hasDevices = false
        switch state {
        case .empty, .older: break
        case .versioned(let version):
            guard version <= Schema.version else {
                throw .newer(found: Int(version), known: Int(Schema.version))
            }
            (known, hasDevices) = try storing { () throws(StoreError) in
                (
                    try connection.prepare("SELECT value FROM relay WHERE name = 'secret_check'"),
                    try connection.integer("SELECT EXISTS (SELECT 1 FROM device)") == 1
                )
            }
        }
        let secret: RelaySecret
        switch source {
        case .given(let given): secret = given
        case .file:
            do throws(RelaySecretError) {
                let contents = try RelaySecretFile(in: directory).load(mayMake: !hasDevices)
                report.madeSecret = contents.wasMade
                report.databaseWasMissing = state == .empty && !contents.wasMade
                report.secretWasReadableByOthers = contents.wasReadableByOthers
                secret = contents.secret
            } catch {
                throw .secret(error)
            }
        }
        guard let known else { return secret }
        let check = try storing { () throws(StoreError) in
            defer { known.reset() }
            return try known.step() ? known.digest(0) : nil
        }
        if check != secret.checkValue {
            guard check == nil || !hasDevices else { throw .otherSecret }
            report.secretIsUnproven = hasDevices
            try storing { () throws(StoreError) in
                let replacement = try connection.prepare("REPLACE INTO relay VALUES ('secret_check', ?1)")
                replacement.bind(1, secret.checkValue)
                try replacement.run()
            }
        }
        return secret
    }
}
