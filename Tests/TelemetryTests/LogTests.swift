import Synchronization
import Telemetry
import Testing

/// Keeps lines for the test to read.
final class MemorySink: LogSink {
    private let taken = Mutex<[String]>([])

    var lines: [String] { taken.withLock { $0 } }

    func write(_ line: [UInt8]) { taken.withLock { $0.append(String(decoding: line, as: UTF8.self)) } }
}

/// A clock that a test sets, in nanoseconds.
final class TestClock: Sendable {
    let nanoseconds = Atomic<Int64>(0)

    func set(seconds: Int64) { nanoseconds.store(seconds * 1_000_000_000, ordering: .relaxed) }
}

private func log(
    _ format: LogFormat, level: LogLevel = .debug, to sink: MemorySink, clock: TestClock = TestClock()
) -> Log {
    Log(
        level: level, format: format, to: sink, wall: { 1_767_225_599_042 },
        monotonic: { clock.nanoseconds.load(ordering: .relaxed) })
}

private enum Service: String { case apns }

@Suite(.timeLimit(.minutes(1)))
struct LogTests {
    @Test func `a line carries time, level, event and typed fields`() {
        let sink = MemorySink()
        log(.logfmt, to: sink).write(
            .info, "started", LogField("port", 8080), LogField("trusts", false), LogField("mode", "serve"),
            LogField("service", .label(Service.apns)), LogField("took", .milliseconds(.seconds(2))))
        #expect(
            sink.lines == [
                "time=2025-12-31T23:59:59.042Z level=info event=started port=8080 trusts=false mode=serve service=apns took=2000\n"
            ])
    }

    @Test func `a line of JSON carries the same`() {
        let sink = MemorySink()
        log(.json, to: sink).write(.error, "stopped", LogField("code", -1), LogField("why", .disclosed("a \"b\"\\\n")))
        let line =
            #"{"time":"2025-12-31T23:59:59.042Z","level":"error","event":"stopped","code":-1,"why":"a \"b\"\\\n"}"#
        #expect(sink.lines == [line + "\n"])
    }

    @Test(arguments: [
        ("plain", "plain"), ("", "\"\""), ("two words", "\"two words\""), ("a=b", "\"a=b\""), ("\"", #""\"""#),
        ("back\\slash", #""back\\slash""#), ("line\nline", #""line\nline""#), ("\r\t", #""\r\t""#),
        ("\u{1B}[31m", #""\u001b[31m""#),
        ("\0", #""\u0000""#), ("\u{85}", #""\u0085""#), ("\u{2028}", #""\u2028""#), ("größer", "\"größer\""),
        ("\u{7F}", #""\u007f""#),
    ])
    func `a text cannot leave its field`(text: String, written: String) {
        let sink = MemorySink()
        log(.logfmt, to: sink).write(.info, "e", LogField("k", .disclosed(text)))
        #expect(sink.lines.first?.hasSuffix(" k=\(written)\n") == true)
    }

    @Test func `a long text is cut and a long line leaves fields out, but stays one line`() throws {
        let sink = MemorySink()
        for format in LogFormat.allCases {
            let fields = (0..<20).map { _ in LogField("k", .disclosed(String(repeating: "\n", count: 5000))) }
            log(format, to: sink).write(.info, "e", fields)
        }
        for line in sink.lines {
            #expect(line.utf8.count <= 4096)
            #expect(line.utf8.count > 3000)
            #expect(line.count { $0 == "\n" } == 1)
            #expect(line.contains("…"))
        }
        #expect(sink.lines.last?.hasSuffix("\"}\n") == true)
    }

    @Test(arguments: LogLevel.allCases)
    func `lines below the level are not written`(level: LogLevel) {
        let sink = MemorySink()
        let log = log(.logfmt, level: level, to: sink)
        for level in LogLevel.allCases {
            log.write(level, "e")
            log.writeRarely(level, "f")
        }
        #expect(sink.lines.count == 2 * LogLevel.allCases.count { $0 >= level })
    }

    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (951_782_400_001, "2000-02-29T00:00:00.001Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] as [(Int64, String)])
    func `a time is written as RFC 3339 asks`(milliseconds: Int64, text: String) {
        let sink = MemorySink()
        Log(to: sink, wall: { milliseconds }, monotonic: { 0 }).write(.info, "e")
        #expect(sink.lines == ["time=\(text) level=info event=e\n"])
    }

    @Test func `a storm leaves one line at once and one a minute, with what was held back`() {
        let sink = MemorySink()
        let clock = TestClock()
        let log = log(.logfmt, to: sink, clock: clock)
        for second in 0...120 {
            clock.set(seconds: Int64(second))
            for _ in 0..<100 { log.writeRarely(.error, "refused", kind: LogField("service", "apns"), LogField("n", 1)) }
        }
        let ends = sink.lines.map { $0.drop { $0 != " " } }
        #expect(
            ends == [
                " level=error event=refused service=apns n=1\n",
                " level=error event=refused service=apns n=1 held_back=5999\n",
                " level=error event=refused service=apns n=1 held_back=5999\n",
            ])
        log.writeHeldBack()
        #expect(sink.lines.count == 3)
        clock.set(seconds: 180)
        log.writeHeldBack()
        #expect(sink.lines.last?.hasSuffix(" level=error event=refused service=apns held_back=99\n") == true)
        log.writeHeldBack(all: true)
        #expect(sink.lines.count == 4)
    }

    @Test func `kinds of one event do not hold each other back`() {
        let sink = MemorySink()
        let log = log(.logfmt, to: sink)
        for _ in 0..<3 {
            log.writeRarely(.warning, "down", kind: LogField("service", "apns"))
            log.writeRarely(.warning, "down", kind: LogField("service", "fcm"))
            log.writeRarely(.error, "down", kind: LogField("service", "fcm"))
        }
        #expect(sink.lines.count == 3)
        log.writeHeldBack(all: true)
        #expect(sink.lines.count == 6)
        #expect(sink.lines.suffix(3).allSatisfy { $0.hasSuffix("held_back=2\n") })
    }
}
