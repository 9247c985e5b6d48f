import Synchronization

/// Takes finished log lines, from any thread, and does not keep the caller waiting.
package protocol LogSink: Sendable {
    /// Takes one line with its newline; it may be dropped when its reader is too slow.
    func write(_ line: [UInt8])
}

/// The relay's log: one line an event, a name for what happened and fields that cannot carry a secret by accident.
///
/// Any thread may call it. It has no idea of requests: what happens with each of them is counted, not logged.
package final class Log: Sendable {
    /// Lines below it are not written.
    package let level: LogLevel

    private let format: LogFormat
    private let sink: any LogSink
    private let wall: @Sendable () -> Int64
    private let monotonic: @Sendable () -> Int64
    private let storms = Mutex(StormGate<Storm>())

    private struct Storm: Hashable {
        var level: LogLevel
        var event: String
        var kind: LogField?
    }

    /// Makes a log. `wall` gives milliseconds since 1970; `monotonic` nanoseconds on a clock that is never set.
    package init(
        level: LogLevel = .info, format: LogFormat = .logfmt, to sink: any LogSink,
        wall: @escaping @Sendable () -> Int64, monotonic: @escaping @Sendable () -> Int64
    ) {
        self.level = level
        self.format = format
        self.sink = sink
        self.wall = wall
        self.monotonic = monotonic
    }

    /// Writes a line, if `level` is high enough. The event is a word with underscores; keys differ from one another and
    /// from `time`, `level` and `event`.
    package func write(_ level: LogLevel, _ event: StaticString, _ fields: LogField...) {
        write(level, event, fields)
    }

    /// The same, with fields made elsewhere.
    package func write(_ level: LogLevel, _ event: StaticString, _ fields: [LogField]) {
        writeLine(level, event.description, fields)
    }

    /// Writes a line about something that may happen ten thousand times over: the first at once, then one a minute, which
    /// says with `held_back` how many were not written. Events are told apart by level, name and `kind`, whose values
    /// are few and known beforehand; `kind` is written as the first field.
    package func writeRarely(
        _ level: LogLevel, _ event: StaticString, kind: LogField? = nil, _ fields: LogField...
    ) {
        guard level >= self.level else { return }
        let storm = Storm(level: level, event: event.description, kind: kind)
        let now = monotonic()
        guard let heldBack = storms.withLock({ $0.pass(storm, atNanoseconds: now) }) else { return }
        writeLine(level, storm.event, (kind.map { [$0] } ?? []) + fields + Self.count(heldBack))
    }

    /// Tells of storms that have ended: those held back whose minute is over, or all of them at the end of the program.
    /// Somebody with a timer calls this each minute or so.
    package func writeHeldBack(all: Bool = false) {
        let now = monotonic()
        for (storm, heldBack) in storms.withLock({ $0.overdue(atNanoseconds: now, all: all) }) {
            writeLine(storm.level, storm.event, (storm.kind.map { [$0] } ?? []) + Self.count(heldBack))
        }
    }

    private static func count(_ heldBack: Int) -> [LogField] {
        heldBack > 0 ? [LogField("held_back", heldBack)] : []
    }

    private func writeLine(_ level: LogLevel, _ event: String, _ fields: [LogField]) {
        guard level >= self.level else { return }
        var line = LogLine(format, milliseconds: wall(), level: level, event: event)
        for field in fields { line.append(field) }
        sink.write(line.finished())
    }
}
