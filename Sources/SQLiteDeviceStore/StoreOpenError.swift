package import DeviceStore

#if canImport(Glibc)
    import Glibc
#endif

/// Why the database could not be opened at start. The files are as they were.
package enum StoreOpenError: Error, Equatable, CustomStringConvertible {
    /// The data directory cannot be made or used.
    case directory(errno: Int32)
    /// `push.db` is not a database.
    case notADatabase
    /// What stands in the place of the file of this name, `push.db` or one that SQLite keeps beside it, is a directory, a
    /// FIFO, a device or a socket.
    case notAFile(String)
    /// `push.db` is a link, and what it leads to cannot be reached.
    case deadLink(errno: Int32)
    /// `push.db` may not be read, by a command that only reads.
    case unreadable(errno: Int32)
    /// `push.db` is missing or empty, and `push.db-wal` is not.
    case logWithoutDatabase
    /// The header of `push.db-wal` does not add up.
    case logDamaged
    /// `push.db` is a database of this relay's, and damaged.
    case damaged
    /// `push.db` is a database of some other program.
    case otherProgram
    /// `push.db` was written by a newer version of the relay.
    case newer(found: Int, known: Int)
    /// The relay's secret cannot be had.
    case secret(RelaySecretError)
    /// The relay's secret is not the one that the devices were registered under.
    case otherSecret
    /// The database engine failed.
    case store(StoreError)

    /// One line for the operator. It leaves the name of the setting, `DATA_DIR`, to whoever prints it.
    package var description: String {
        switch self {
        case .directory(let errno): "cannot be used: \(systemReason(errno)); \(Self.advice(errno))"
        case .notADatabase: "push.db is not a database, or is damaged; it was left as it is"
        case .notAFile(let name): "\(name) is not a regular file; \(Self.advice(onPlaceOf: name))"
        case .deadLink(let errno):
            "push.db is a link that leads nowhere: \(systemReason(errno)); \(Self.adviceOnDeadLink)"
        case .unreadable(let errno): "push.db cannot be read: \(systemReason(errno)); \(Self.adviceOnUnreadable)"
        case .logWithoutDatabase:
            "push.db is missing or empty, but push.db-wal is there and may hold registrations; restore push.db, or move "
                + "push.db-wal away to begin anew"
        case .logDamaged:
            "push.db-wal is damaged and was left as it is; restore it, or move it away to go on without what it holds"
        case .damaged:
            "push.db is damaged and was left as it is; restore it, or save what can be read as docs/backup.md says"
        case .otherProgram: "push.db belongs to another program; it was left as it is"
        case .newer(let found, let known):
            "push.db was written by a newer relay (schema \(found), this one knows \(known)); run that one"
        case .secret(let error): "the relay's secret (RELAY_SECRET or secret.key) \(error)"
        case .otherSecret:
            "the relay's secret is not the one that push.db was made with; restore RELAY_SECRET or secret.key"
        case .store(let error): error.description
        }
    }

    /// What to do where something else stands in the place of a file. The log's index is made anew at each start.
    package static func advice(onPlaceOf name: String) -> String {
        "move away what stands in its place" + (name.hasSuffix("-shm") ? "" : ", and restore the file")
    }

    /// What to do about a database that may not be read.
    package static let adviceOnUnreadable = "ask as the user that the relay runs as, who must own the file"

    /// What to do about a link that leads nowhere.
    package static let adviceOnDeadLink = "mend it, mount the disk that it leads to, or restore the file"

    private static func advice(_ errno: Int32) -> String {
        switch errno {
        case ENOENT: "it cannot be made there: make the directory yourself, or name another"
        case ENOTDIR: "something on the way to it is a file: name another path"
        case EACCES, EPERM: "the user that the relay runs as must own it, and be let into the directories above it"
        case EROFS: "mount the disk for writing, or name a directory on another"
        case ENOSPC, EDQUOT: "make room on its disk"
        default: "name another directory, or look into the system's log"
        }
    }
}
