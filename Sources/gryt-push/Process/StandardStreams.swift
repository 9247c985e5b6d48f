import DeviceStore
import Glibc

/// Lines for a person at a terminal; what happens while serving goes to the log.
enum StandardError {
    /// Writes the text and a line end. Where that fails there is nobody left to tell.
    static func write(_ text: String) { _ = writeWhole(text + "\n", to: STDERR_FILENO) }
}

/// What a command was asked to print.
enum StandardOutputText {
    /// Exit status where it could not be printed.
    static let lost: Int32 = 1

    /// Writes the text and a line end. False, and why is said on standard error, where not all of it could be written.
    static func write(_ text: String) -> Bool {
        guard let errno = writeWhole(text + "\n", to: STDOUT_FILENO) else { return true }
        StandardError.write("gryt-push: the output cannot be written: \(systemReason(errno))")
        return false
    }
}

/// Nil when all was written, otherwise why not, by the system's number.
private func writeWhole(_ text: String, to descriptor: Int32) -> Int32? {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
        let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return count < 0 ? errno : EIO }
        rest = rest.dropFirst(count)
    }
    return nil
}
