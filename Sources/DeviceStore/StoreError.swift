/// Why the store did not do what it was asked. Nothing of what it holds is in here.
package enum StoreError: Error, Equatable, CustomStringConvertible {
    /// The disk, or the quota on it, is full.
    case full
    /// The directory or the file may not be written to.
    case readOnly
    /// Another process held the database for longer than the store waits.
    case busy
    /// More writes wait than the store lets wait.
    case overloaded
    /// The database's file, its log or the log's index is not where it was opened any more: what is written is lost with it.
    case replaced
    /// What is stored does not make sense as a database.
    case corrupt
    /// One registration is there, yet its capability does not open it: the row was changed by other hands.
    case sealBroken
    /// The store has been closed.
    case closed
    /// Any other failure, by the number the database engine gives it.
    case failed(code: Int32)

    /// Whether the same call may well succeed in a second or a minute, so that whoever asked is told to come again: by
    /// itself, or because whoever has replaced the database is about to restart the relay on it.
    package var isTransient: Bool {
        switch self {
        case .busy, .overloaded, .replaced: true
        case .full, .readOnly, .corrupt, .sealBroken, .closed, .failed: false
        }
    }

    /// Whether somebody has to look at the machine.
    package var needsOperator: Bool {
        switch self {
        case .full, .readOnly, .replaced, .corrupt, .sealBroken, .failed: true
        case .busy, .overloaded, .closed: false
        }
    }

    /// A word for a metric's label; there are as many as there are cases.
    package var label: String {
        switch self {
        case .full: "full"
        case .readOnly: "read_only"
        case .busy: "busy"
        case .overloaded: "overloaded"
        case .replaced: "replaced"
        case .corrupt: "corrupt"
        case .sealBroken: "seal_broken"
        case .closed: "closed"
        case .failed: "failed"
        }
    }

    /// One line for the log of a relay that runs: what it is, what to do and what goes on meanwhile.
    package var operatorLine: String {
        switch self {
        case .full: "\(description) in DATA_DIR; pushes go on, registrations fail until then"
        case .replaced: "\(description); pushes go on, registrations and removals are refused until then"
        case .readOnly, .busy, .overloaded, .corrupt, .sealBroken, .closed, .failed: description
        }
    }

    /// One line: what it is and what to do.
    package var description: String {
        switch self {
        case .full: "the disk is full: make room"
        case .readOnly:
            "push.db cannot be written to: check the owner and the mode of it and of its directory, and how the disk "
                + "is mounted"
        case .busy: "another process holds the database: end whatever else has push.db open"
        case .overloaded: "more writes wait than can be kept: the disk is slower than the registrations come in"
        case .replaced:
            "push.db was removed or replaced while the relay has it open, or push.db-wal or push.db-shm was: put it back, or "
                + "restart the relay"
        case .corrupt:
            "push.db is damaged: stop the relay and restore the file, or save what can be read as "
                + "docs/backup.md says"
        case .sealBroken: "a registration was changed by other hands than the relay's and cannot be opened"
        case .closed: "the store is closed already"
        // All of SQLite's I/O errors have 10 in their low byte (sqlite.org/rescode.html).
        case .failed(let code) where code & 0xFF == 10:
            "the disk cannot be read or written (SQLite's code \(code)): it may be full, over its quota or failing; "
                + "make room, and look into the system's log"
        case .failed(let code): "the database failed with code \(code) (see sqlite.org/rescode.html)"
        }
    }
}
