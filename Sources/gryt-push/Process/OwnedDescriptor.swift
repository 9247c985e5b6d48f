import Glibc

/// A file descriptor that is closed when nobody holds it any more.
final class OwnedDescriptor: Sendable {
    /// Its number, valid as long as this is held.
    let number: Int32

    init(_ number: Int32) { self.number = number }

    deinit { close(number) }

    /// One more descriptor of the same thing, closed on exec, which the caller closes; nil when there are too many open.
    func another() -> Int32? {
        let another = fcntl(number, F_DUPFD_CLOEXEC, 3)
        return another >= 0 ? another : nil
    }
}
