import Glibc
import Telemetry
import Testing

/// A pipe whose ends close with it.
private final class Pipe {
    let reading: Int32
    let writing: Int32

    init() throws {
        var ends: [Int32] = [-1, -1]
        try #require(unsafe pipe(&ends) == 0)
        reading = ends[0]
        writing = ends[1]
        // A line that never came shall be a failure and not a test that waits for ever.
        try #require(fcntl(reading, F_SETFL, O_NONBLOCK) == 0)
    }

    deinit {
        close(reading)
        close(writing)
    }

    /// What is in the pipe, up to `most` bytes.
    func take(_ most: Int) -> String {
        var bytes = [UInt8](repeating: 0, count: most)
        let count = unsafe read(reading, &bytes, most)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}

@Suite(.timeLimit(.minutes(1)))
struct DescriptorSinkTests {
    @Test func `a line reaches the descriptor whole`() throws {
        let pipe = try Pipe()
        let sink = DescriptorSink(descriptor: pipe.writing, wall: { 0 })
        sink.write(Array("one\n".utf8))
        sink.write(Array("two\n".utf8))
        #expect(pipe.take(100) == "one\ntwo\n")
        #expect(sink.linesLost == 0)
    }

    @Test(arguments: [
        (LogFormat.logfmt, "time=1970-01-01T00:00:00.000Z level=warning event=log_lines_lost count=", ""),
        (.json, #"{"time":"1970-01-01T00:00:00.000Z","level":"warning","event":"log_lines_lost","count":"#, "}"),
    ])
    func `a reader that is stuck costs lines and is told how many once it reads again`(
        format: LogFormat, before: String, after: String
    ) throws {
        let pipe = try Pipe()
        let sink = DescriptorSink(descriptor: pipe.writing, format: format, wall: { 0 })
        let line = Array((String(repeating: "x", count: 4095) + "\n").utf8)
        // A pipe holds 64 KiB unless the system is short of them; a thousand lines are more than any pipe holds.
        for _ in 0..<1000 { sink.write(line) }
        let lost = sink.linesLost
        #expect(lost > 0 && lost < 1000)
        for _ in lost..<1000 { #expect(pipe.take(4096).utf8.count == 4096) }
        sink.write(Array("again\n".utf8))
        #expect(pipe.take(4096) == "\(before)\(lost)\(after)\nagain\n")
        #expect(sink.linesLost == 0)
    }

    @Test func `lines of many threads do not mix`() async throws {
        let pipe = try Pipe()
        let sink = DescriptorSink(descriptor: pipe.writing, wall: { 0 })
        await withTaskGroup(of: Void.self) { group in
            for letter in ["a", "b", "c", "d"] {
                group.addTask {
                    for _ in 0..<20 { sink.write(Array((String(repeating: letter, count: 200) + "\n").utf8)) }
                }
            }
        }
        let lines = pipe.take(1 << 16).split(separator: "\n")
        #expect(lines.count == 80)
        #expect(lines.allSatisfy { $0.count == 200 && Set($0).count == 1 })
    }
}
