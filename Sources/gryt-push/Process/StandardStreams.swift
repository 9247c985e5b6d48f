import Glibc

/// Lines for a person at a terminal; what happens while serving goes to the log.
enum StandardError {
    /// Writes the text and a line end.
    static func write(_ text: String) { writeWhole(text + "\n", to: STDERR_FILENO) }
}

/// What a command was asked to print.
enum StandardOutputText {
    /// Writes the text and a line end.
    static func write(_ text: String) { writeWhole(text + "\n", to: STDOUT_FILENO) }
}

private func writeWhole(_ text: String, to descriptor: Int32) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
        let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return }
        rest = rest.dropFirst(count)
    }
}
