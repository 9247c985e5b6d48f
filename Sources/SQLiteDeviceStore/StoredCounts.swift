package import DeviceStore
package import PushModel

/// Reads the counts of a database without taking part in it: no writer, no secret, nothing in it changed. A relay may be
/// running on it or not. Where none is, SQLite's reader leaves an empty `push.db-wal` and a `push.db-shm` beside it, which
/// are the relay's from its next start on.
package enum StoredCounts {
    /// How long a lock of another process is waited for.
    private static let busyTimeout: Duration = .seconds(2)

    /// The registrations held and the daily counts from a day on, as they are on disk.
    ///
    /// Blocks; it is for a command, not for a loop.
    ///
    /// - Throws: ``StoredCountsError``, in words for whoever typed the command.
    package static func read(
        directory: String, from day: UTCDay
    ) throws(StoredCountsError) -> (devices: DeviceCounts, daily: [DailyTotal]) {
        let directory = DataDirectory(path: directory)
        try check(directory)
        do throws(StoreError) {
            let reader = try DeviceReader(path: directory.database, busyTimeout: busyTimeout)
            try reader.begin()
            defer { reader.end() }
            return (try reader.deviceCounts(), try reader.dailyCounts(from: day))
        } catch {
            throw .refused(.store(error))
        }
    }

    private static func check(_ directory: DataDirectory) throws(StoredCountsError) {
        let none: StoredCountsError = directory.hasSecret ? .lost : .noDatabase
        var state = Schema.State.empty
        do throws(StoreOpenError) {
            try directory.checkKinds()
            try directory.checkReadable()
            try directory.checkLog()
            if directory.hasDatabase { state = try Schema.state(of: try connection(directory.database)) }
            if case .versioned(let version) = state, version > Schema.version {
                throw .newer(found: Int(version), known: Int(Schema.version))
            }
        } catch {
            throw .refused(error)
        }
        switch state {
        case .empty: throw none
        case .older: throw .older
        case .versioned: break
        }
    }

    private static func connection(_ path: String) throws(StoreOpenError) -> SQLiteConnection {
        do throws(StoreError) {
            return try SQLiteConnection(path: path, for: .reading, busyTimeout: busyTimeout)
        } catch .corrupt {
            throw .notADatabase
        } catch {
            throw .store(error)
        }
    }
}

/// Why there are no counts to be shown.
package enum StoredCountsError: Error, Equatable, CustomStringConvertible {
    /// There is no database, or an empty one.
    case noDatabase
    /// It was made by the relay that was in the field before this one.
    case older
    /// There is no database, or an empty one, and the relay's secret shows that there was one.
    case lost
    /// A start would not take it either.
    case refused(StoreOpenError)

    package var description: String {
        switch self {
        case .noDatabase: "there is no push.db yet; a relay makes one at its first start"
        case .older: "push.db is an older relay's; start this one once, and it takes it over"
        case .lost: "push.db is missing or empty, but secret.key is there; if phones had registered, restore push.db"
        case .refused(let error): error.description
        }
    }
}
