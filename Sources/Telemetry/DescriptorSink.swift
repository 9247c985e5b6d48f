import Glibc
import Synchronization

/// Log lines to a descriptor, most often standard output.
///
/// A line is one `write`. Before it the descriptor is asked whether it takes anything now; when it does not, because
/// whoever reads the pipe is stuck, the line is dropped and counted, and the next line that gets through is preceded by
/// one in the same format that says how many were lost (`log_lines_lost`). So a stuck reader costs lines and never an event loop.
///
/// The program ignores SIGPIPE; a reader that is gone then shows as lost lines as well.
package final class DescriptorSink: LogSink {
    private let descriptor: Int32
    private let format: LogFormat
    private let wall: @Sendable () -> Int64
    // Held over one poll and one write that does not wait: the lock is what keeps a pipe's room from being promised twice.
    private let lost = Mutex(0)

    /// Writes to a descriptor that stays open as long as this lives; 1 is standard output. `wall` gives milliseconds since
    /// 1970.
    package init(descriptor: Int32, format: LogFormat = .logfmt, wall: @escaping @Sendable () -> Int64) {
        self.descriptor = descriptor
        self.format = format
        self.wall = wall
    }

    /// Lines dropped since the last that told of them.
    package var linesLost: Int { lost.withLock { $0 } }

    /// Writes the line now or drops it.
    package func write(_ line: [UInt8]) {
        lost.withLock { lost in
            if lost > 0 {
                guard put(lossLine(lost)) else {
                    lost += 1
                    return
                }
                lost = 0
            }
            if !put(line) { lost += 1 }
        }
    }

    private func lossLine(_ lost: Int) -> [UInt8] {
        var line = LogLine(format, milliseconds: wall(), level: .warning, event: "log_lines_lost")
        line.append(LogField("count", lost))
        return line.finished()
    }

    private func put(_ line: [UInt8]) -> Bool {
        var rest = line[...]
        // A pipe takes a line whole. A terminal or a socket may take a part; its rest is given a moment to follow.
        var patience: Int32 = 0
        while !rest.isEmpty {
            var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            let ready = unsafe poll(&request, 1, patience)
            if ready < 0, errno == EINTR { continue }
            guard ready == 1, request.revents & Int16(POLLOUT) != 0 else { return false }
            let written = unsafe rest.withUnsafeBytes { bytes in
                unsafe Glibc.write(descriptor, bytes.baseAddress, bytes.count)
            }
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { return false }
            rest = rest.dropFirst(written)
            patience = 10
        }
        return true
    }
}
