package import DeviceStore
package import PushModel

/// Reads the counts of a database without taking part in it: no writer, no secret, nothing made or changed. A relay may be
/// running on it or not.
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
        guard directory.hasDatabase else { throw .noDatabase }
        try check(directory.database)
        do throws(StoreError) {
            let reader = try DeviceReader(path: directory.database, busyTimeout: busyTimeout)
            try reader.begin()
            defer { reader.end() }
            return (try reader.deviceCounts(), try reader.dailyCounts(from: day))
        } catch {
            throw .store(error)
        }
    }

    private static func check(_ path: String) throws(StoredCountsError) {
        let state: Schema.State
        do throws(StoreOpenError) {
            state = try Schema.state(of: try connection(path))
        } catch .store(let error) {
            throw .store(error)
        } catch {
            throw .notOurs
        }
        switch state {
        case .empty: throw .noDatabase
        case .older: throw .older
        case .versioned(let version): guard version <= Schema.version else { throw .newer }
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
    /// It was made by a newer relay.
    case newer
    /// It is no database of this relay's.
    case notOurs
    /// The database engine failed.
    case store(StoreError)

    package var description: String {
        switch self {
        case .noDatabase: "there is no push.db yet; a relay makes one at its first start"
        case .older: "push.db is an older relay's; start this one once, and it takes it over"
        case .newer: "push.db was written by a newer relay; ask that one"
        case .notOurs: "push.db is no database of the relay's"
        case .store(let error): error.description
        }
    }
}
