package import DeviceStore

/// Why the database could not be opened at start. The files are as they were.
package enum StoreOpenError: Error, Equatable, CustomStringConvertible {
    /// The data directory cannot be made or used.
    case directory(errno: Int32)
    /// `push.db` is not a database.
    case notADatabase
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

    /// One line for the operator.
    package var description: String {
        switch self {
        case .directory(let errno): "DATA_DIR cannot be used (errno \(errno)): check its owner and mode"
        case .notADatabase: "push.db in DATA_DIR is not a database, or is damaged; it was left as it is"
        case .otherProgram: "push.db in DATA_DIR belongs to another program; it was left as it is"
        case .newer(let found, let known):
            "push.db was written by a newer relay (schema \(found), this one knows \(known)); run that one"
        case .secret(let error): "the relay's secret (RELAY_SECRET, or secret.key in DATA_DIR) \(error)"
        case .otherSecret:
            "the relay's secret is not the one that push.db was made with; restore RELAY_SECRET or secret.key"
        case .store(let error): error.operatorLine
        }
    }
}
