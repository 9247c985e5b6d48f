#if canImport(Glibc)
    import Glibc
#endif

/// The files that an open database is made of, as they were when it was opened: the database, its log and the log's index.
///
/// SQLite goes on writing to files that have lost their names, and says nothing. No later start finds what it writes then, so
/// whoever acknowledges a write asks here first.
struct DatabaseFiles: Sendable {
    private let database: (path: String, identity: FileIdentity?)
    private let log: (path: String, identity: FileIdentity?)
    private let index: (path: String, identity: FileIdentity?)

    /// Looks at them now, which is to be after a connection has read through them, and so made what was not there.
    ///
    /// - Parameters:
    ///   - path: the database's name as it was given. Links on the way to it count: one that leads elsewhere by now has
    ///     replaced the database.
    ///   - resolved: its name as SQLite knows it, without links. The log and its index stand beside that one.
    init(path: String, resolved: String) {
        database = (path, FileIdentity(of: path))
        log = (resolved + "-wal", FileIdentity(of: resolved + "-wal"))
        index = (resolved + "-shm", FileIdentity(of: resolved + "-shm"))
    }

    /// Whether each name still leads to its file: three calls of the system, a few microseconds. Opens none of them, for
    /// closing it would drop SQLite's locks (fcntl(2)).
    var areInPlace: Bool { isSame(database) && isSame(log) && isIndexInPlace }

    /// Whether the log's index does. In it are the locks by which processes keep out of each other's way.
    var isIndexInPlace: Bool { isSame(index) }

    private func isSame(_ file: (path: String, identity: FileIdentity?)) -> Bool {
        // One that was not there when it was looked at is none that could be in place.
        file.identity != nil && FileIdentity(of: file.path) == file.identity
    }
}

/// What the system tells one file from another by, as long as somebody has it open.
struct FileIdentity: Equatable {
    private let device: UInt64
    private let number: UInt64

    /// That of the file which the name leads to; nil where it leads nowhere, or the system does not say.
    init?(of path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        device = UInt64(status.st_dev)
        number = UInt64(status.st_ino)
    }
}
