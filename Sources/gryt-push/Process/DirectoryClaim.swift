import Glibc

/// Whose a data directory is: one relay's at a time, by a lock on a file in it.
///
/// The store itself would bear several, but each would count its limits by itself and mint provider tokens of its own, so a
/// second one by accident is refused. The lock (flock(2)) belongs to the open file and not to the process: handed to
/// another process it is held without a gap, and it is gone with its last holder, however that ends.
enum DirectoryClaim {
    /// The lock's file in the data directory. It stays there, empty.
    static let name = "relay.lock"

    /// How an attempt to get it ended.
    enum Outcome {
        /// It is held as long as this is.
        case mine(OwnedDescriptor)
        /// Another process holds it.
        case others
        /// The system does not lock here, and said why. Then there is nothing to hold to.
        case unavailable(errno: Int32)
    }

    /// Tries to get it.
    static func take(in directory: String) -> Outcome {
        // O_NOFOLLOW and O_NONBLOCK: it is to be a file, and nobody is waited for.
        let flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        let number = unsafe open((directory.isEmpty ? "." : directory) + "/" + name, flags, 0o600)
        guard number >= 0 else { return .unavailable(errno: errno) }
        let file = OwnedDescriptor(number)
        while flock(number, LOCK_EX | LOCK_NB) != 0 {
            switch errno {
            case EINTR: continue
            case EWOULDBLOCK: return .others
            default: return .unavailable(errno: errno)
            }
        }
        return .mine(file)
    }
}
