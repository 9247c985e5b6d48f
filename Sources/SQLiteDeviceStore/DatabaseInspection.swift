import Cryptography
package import DeviceStore

/// Looks at what is in a data directory and changes nothing: no file is made, no lock is kept that a relay would miss, and
/// what a crash left stays there. A relay may be running on it or not.
///
/// Where one runs, it is one more reader beside it, for as long as the reading takes. Where none does, the file is read
/// without locks.
package struct DatabaseInspection: Sendable, Equatable {
    /// What the database is, or why the relay would not take it.
    package let database: Result<Database, StoreOpenError>
    /// The relay's secret, or why the relay would not take it.
    package let secret: Result<Secret, StoreOpenError>

    /// What the database turned out to be.
    package enum Database: Sendable, Equatable {
        /// There is none yet, or an empty one.
        case none
        /// There is none, or an empty one, and this file beside its place shows that there was one.
        case lost(trace: String)
        /// Made by the relay that was in the field before this one; it is taken over at the first start.
        case older(Reading)
        /// Ours.
        case ours(DeviceCounts, Reading)
        /// A log that a crash left stands beside it, and reading through it would make a file: it is left to the relay.
        case withLogOfCrash
    }

    /// How much of it was read in search of damage. What was read is whole.
    package enum Reading: Sendable, Equatable {
        /// All of it.
        case all
        /// The first pages only, for it is larger than what is read at most.
        case partly(bytes: Int64)
    }

    /// The relay's secret.
    package struct Secret: Sendable, Equatable {
        /// What is to be said of it.
        package enum State: Sendable, Equatable {
            /// There is none, and the first start makes one.
            case toBeMade
            /// There is one, and nothing that was registered under it, or nothing that could be asked.
            case unproven
            /// It is the one that the devices were registered under.
            case proven
        }

        package var state: State
        /// Whether users other than the owner may read its file; the next start closes it to them.
        package var isReadableByOthers: Bool

        package init(state: State, isReadableByOthers: Bool = false) {
            self.state = state
            self.isReadableByOthers = isReadableByOthers
        }
    }

    /// The largest database, in bytes, that is read whole: half a second of CPU, and what the disk takes.
    package static let readBytes: Int64 = 512 << 20
    /// How long a lock of another process is waited for.
    private static let busyTimeout: Duration = .seconds(2)

    /// Looks. Blocks; it is for a command, not for a loop.
    package init(directory path: String, secret source: RelaySecretSource) {
        let directory = DataDirectory(path: path)
        var known: Known?
        var database: Result<Database, StoreOpenError>
        do throws(StoreOpenError) {
            let (found, kept) = try Self.look(at: directory)
            database = .success(found)
            known = kept
        } catch {
            database = .failure(error)
        }
        if database == .success(.none), let trace = Self.trace(in: directory, secret: source) {
            database = .success(.lost(trace: trace))
        }
        self.database = database
        do throws(StoreOpenError) {
            secret = .success(try Self.look(for: source, in: directory, known))
        } catch {
            secret = .failure(error)
        }
    }

    /// The file that is there only where there was a database: the relay makes the secret together with it, and SQLite takes
    /// its own files away when the last one goes. Nil without such a file.
    private static func trace(in directory: DataDirectory, secret source: RelaySecretSource) -> String? {
        if case .file = source, directory.hasSecret { return RelaySecretFile.name }
        return ["-wal", "-shm"].first { directory.has($0) }.map { "push.db" + $0 }
    }

    /// What the database says about its secret.
    private struct Known {
        var check: SHA256Digest?
        var hasDevices: Bool
    }

    private static func look(at directory: DataDirectory) throws(StoreOpenError) -> (Database, Known?) {
        try directory.checkKinds()
        try directory.checkReadable()
        try directory.checkLog()
        guard directory.hasDatabase else { return (.none, nil) }
        let isOpenElsewhere = directory.has("-shm") && directory.has("-wal")
        if !isOpenElsewhere, directory.hasLog || directory.has("-journal") { return (.withLogOfCrash, nil) }
        do throws(StoreOpenError) {
            return try read(directory, isUnchanging: !isOpenElsewhere)
        } catch {
            // Somebody may have opened it meanwhile, and what was read without locks is worth nothing then.
            guard !isOpenElsewhere, directory.has("-wal") || directory.has("-journal") else { throw error }
            return try read(directory, isUnchanging: false)
        }
    }

    private static func read(
        _ directory: DataDirectory, isUnchanging: Bool
    ) throws(StoreOpenError) -> (Database, Known?) {
        let connection = try connection(directory.database, isUnchanging: isUnchanging)
        let state = try Schema.state(of: connection)
        if state == .empty { return (.none, nil) }
        if case .versioned(let version) = state, version > Schema.version {
            throw .newer(found: Int(version), known: Int(Schema.version))
        }
        try Schema.check(connection, state, upTo: readBytes)
        do throws(StoreError) {
            let size =
                try (connection.integer("PRAGMA page_count") ?? 0) * (connection.integer("PRAGMA page_size") ?? 0)
            let reading = size > readBytes ? Reading.partly(bytes: size) : .all
            guard case .versioned = state else { return (.older(reading), nil) }
            let hasDevices = try connection.integer("SELECT EXISTS (SELECT 1 FROM device)") == 1
            let counts = DeviceCounts(
                ios: Int(try connection.integer("SELECT n FROM device_count WHERE platform = 1") ?? 0),
                android: Int(try connection.integer("SELECT n FROM device_count WHERE platform = 2") ?? 0))
            let check = try connection.prepare("SELECT value FROM relay WHERE name = 'secret_check'")
            let known = Known(check: try check.step() ? check.digest(0) : nil, hasDevices: hasDevices)
            check.reset()
            return (.ours(counts, reading), known)
        } catch .corrupt {
            throw .damaged
        } catch {
            throw .store(error)
        }
    }

    private static func connection(_ path: String, isUnchanging: Bool) throws(StoreOpenError) -> SQLiteConnection {
        do throws(StoreError) {
            let connection = try SQLiteConnection(
                path: path, for: .looking(isUnchanging: isUnchanging), busyTimeout: busyTimeout)
            connection.leaveLogAtEnd()
            return connection
        } catch .corrupt {
            throw .notADatabase
        } catch {
            throw .store(error)
        }
    }

    private static func look(
        for source: RelaySecretSource, in directory: DataDirectory, _ known: Known?
    ) throws(StoreOpenError) -> Secret {
        let secret: RelaySecret
        var isReadableByOthers = false
        switch source {
        case .given(let given): secret = given
        case .file:
            do throws(RelaySecretError) {
                guard let contents = try RelaySecretFile(in: directory.path).look() else {
                    if known?.hasDevices == true { throw RelaySecretError.lost }
                    return Secret(state: .toBeMade)
                }
                secret = contents.secret
                isReadableByOthers = contents.wasReadableByOthers
            } catch {
                throw .secret(error)
            }
        }
        guard let known else { return Secret(state: .unproven, isReadableByOthers: isReadableByOthers) }
        let isSame = known.check == secret.checkValue
        guard isSame || known.check == nil || !known.hasDevices else { throw .otherSecret }
        return Secret(state: isSame ? .proven : .unproven, isReadableByOthers: isReadableByOthers)
    }
}
