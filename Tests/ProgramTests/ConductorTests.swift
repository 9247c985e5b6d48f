import EventLoops
import Glibc
import PushModel
import Telemetry
import Testing

@testable import gryt_push

/// The order of start and end, as signals may mix it up.
@Suite(.timeLimit(.minutes(1)))
struct ConductorTests {
    private struct NoSink: LogSink {
        func write(_ line: [UInt8]) {}
    }

    private func conductor(_ workers: Int, in files: ScratchDirectory) throws -> Conductor {
        let environment = RelayUnderTest.usual.merging([
            "DATA_DIR": files.path + "/data", "WORKERS": String(workers), "METRICS_PORT": String(try freePort()),
        ]) { $1 }
        return try Assembly(
            settings: try Settings(environment: environment, dotEnv: nil, cores: 2), openFiles: 20_000,
            manager: ServiceManager(environment: [:]), log: Log(to: NoSink(), wall: { 0 }, monotonic: { 0 }),
            clocks: .system
        ).build()
    }

    @Test(arguments: [1, 4])
    func `one that was told to stop before it began does not begin, and is over`(workers: Int) async throws {
        let files = ScratchDirectory()
        let conductor = try conductor(workers, in: files)
        defer { for loop in conductor.loops { loop.stop() } }
        guard case .finished(cutShort: 0) = await conductor.drain(for: .asked) else {
            Issue.record("nothing was under way, and yet it was cut short")
            return
        }
        #expect(await conductor.start { _ in Issue.record("nobody takes its place") } == false)
        #expect(throws: (any Error).self) { try RawClient(port: UInt16(conductor.port)) }
    }

    @Test(arguments: [1, 2, 4, 8, 12])
    func `a stop in the middle of the start ends it`(workers: Int) async throws {
        for _ in 0..<3 {
            let files = ScratchDirectory()
            let conductor = try conductor(workers, in: files)
            defer { for loop in conductor.loops { loop.stop() } }
            async let begins = conductor.start { _ in }
            guard case .finished(cutShort: 0) = await conductor.drain(for: .asked) else {
                Issue.record("nothing was under way, and yet it was cut short")
                return
            }
            _ = await begins
            #expect(throws: (any Error).self) { try RawClient(port: UInt16(conductor.port)) }
        }
    }
}
