import EventLoops
import Glibc
import PushModel
import PushSimulator
import Synchronization
import Telemetry
import Testing

@testable import gryt_push

/// The counts against the simulator's own books, and what is left of them when the program is ended in the middle.
@Suite(.timeLimit(.minutes(3)))
struct OperatorCountsTests {
    @Test func `twenty thousand pushes, failures among them, a midnight and a restart are counted exactly`()
        async throws
    {
        let clock = StageClock()
        let files = ScratchDirectory()
        var configuration = SimulatorConfiguration(directory: files.path + "/simulator")
        configuration.clock = { clock.milliseconds }
        configuration.recordsKept = 10
        let simulator = try PushSimulator(configuration: configuration)
        try await simulator.start()
        // A minute before a midnight, which comes when the test says so.
        let firstDay = clock.stopBeforeMidnight()

        let (before, fleet) = try await InnerRelay.run(simulator, clock, files) { relay in
            let fleet = try await Fleet(simulator: simulator, port: relay.port)
            let books = try await fleet.push(5000, to: relay.port, from: 0)
            clock.advance(by: .seconds(120))
            let later = try await fleet.push(5000, to: relay.port, from: 5000)
            // Within a second everything is on disk, and so on the page.
            let sent = books["sent", default: 0] + later["sent", default: 0]
            let failed = books["failed", default: 0] + later["failed", default: 0]
            var scrape = try await relay.scrape()
            while scrape.sum("gryt_push_sent_total") < sent || scrape.sum("gryt_push_failed_total") < failed {
                scrape = try await relay.scrape()
            }
            #expect(scrape.sum("gryt_push_sent_total") == sent && scrape.sum("gryt_push_failed_total") == failed)
            return ([books, later], fleet)
        }
        let after = try await InnerRelay.run(simulator, clock, files) { relay in
            try await fleet.push(10_000, to: relay.port, from: 10_000)
        }

        let counts = files.sqlite(
            "SELECT day, event, sum(n) FROM daily_count GROUP BY 1, 2 ORDER BY 1, 2", in: "data/push.db")
        let secondDay = before[1].merging(after, uniquingKeysWith: +)
        var expected: [String] = []
        for (day, books) in [
            (firstDay, before[0].merging(["registered": fleet.size]) { $1 }), (firstDay + 1, secondDay),
        ] {
            expected += books.filter { $0.value > 0 }.sorted { $0.key < $1.key }.map { "\(day)|\($0.key)|\($0.value)" }
        }
        #expect(counts.split(separator: "\n").map { String($0) } == expected)
        // What the senders were told is one thing; what Apple and Google have in their books is the other.
        let answers = [SimulatedService.apnsProduction, .fcm].map { simulator.books().services[$0]?.answers ?? [:] }
        let accepted = answers.reduce(0) { $0 + ($1[200] ?? 0) }
        #expect(accepted == before[0]["sent", default: 0] + secondDay["sent", default: 0])
        let total = (before + [after]).reduce(0) { $0 + $1.values.reduce(0, +) }
        #expect(accepted > 15_000)
        #expect(before[0]["failed", default: 0] > 100 && before[0]["gone", default: 0] > 0)
        // The rest went to phones that were gone by then, and asked nobody.
        #expect(total < 20_000 && answers.reduce(0) { $0 + $1.values.reduce(0, +) } == total)
        await simulator.stop()
    }

    @Test func `a crash loses the last second's counts and nothing else, and a restart turns nothing back`()
        async throws
    {
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            let first = try await OperatedRelay(stage.settings, in: directory)
            let capability = try await first.relay.register(SimulatedPhone(.ios))
            for _ in 0..<25 { #expect(try await first.relay.push(capability, kind: "dm").status == 202) }
            let name = #"gryt_push_sent_total{platform="ios",kind="dm"}"#
            func onDisk() -> Int {
                let sum = directory.sqlite("SELECT sum(n) FROM daily_count WHERE event = 'sent'", in: "data/push.db")
                return Int(sum.dropLast()) ?? 0
            }
            // What a scrape says is on disk.
            try await first.scrape { $0[name] == 25 }
            #expect(onDisk() == 25)
            for _ in 0..<5 { #expect(try await first.relay.push(capability, kind: "dm").status == 202) }
            let told = try #require(try await first.scrape()[name])
            await first.relay.end(by: SIGKILL)

            let second = try await OperatedRelay(stage.settings, in: directory)
            let kept = try #require(try await second.scrape()[name])
            #expect((25...30).contains(kept) && kept >= told)
            for _ in 0..<5 { #expect(try await second.relay.push(capability, kind: "dm").status == 202) }
            try await second.scrape { $0[name] == kept + 5 }
            await second.relay.end()
            #expect(onDisk() == kept + 5)
        }
    }

    @Test func `sums never sink and never run ahead of what was answered`() async throws {
        try await Stage.run { stage in
            let operated = try await OperatedRelay(stage.settings)
            let capability = try await operated.relay.register(SimulatedPhone(.ios))
            let name = #"gryt_push_sent_total{platform="ios",kind="message"}"#
            var last = 0
            for number in 1...300 {
                #expect(try await operated.relay.push(capability).status == 202)
                let sum = try await operated.scrape()[name] ?? 0
                #expect(sum >= last && sum <= number)
                last = sum
            }
            try await operated.scrape { $0[name] == 300 }
            await operated.relay.end()
        }
    }

    @Test func `a loop that stands still holds no scrape up, and is told of`() async throws {
        let files = ScratchDirectory()
        let simulator = try PushSimulator(configuration: SimulatorConfiguration(directory: files.path + "/simulator"))
        try await simulator.start()
        try await InnerRelay.run(simulator, StageClock(), files) { relay in
            let fleet = try await Fleet(simulator: simulator, port: relay.port)
            _ = try await fleet.push(200, to: relay.port, from: 0)
            let before = try await relay.scrape()
            #expect(before["gryt_push_silent_loops"] == 0)
            let opened = before.sum("gryt_push_upstream_connection_events_total")
            let barrier = Barrier()
            let loop = relay.conductor.loops[1]
            let block = Task(executorPreference: loop) { barrier.wait() }
            barrier.isReached()
            // The loop stands until these have their answers.
            for _ in 0..<3 {
                let scrape = try await relay.scrape()
                #expect(scrape["gryt_push_silent_loops"] == 1)
                #expect(scrape["gryt_push_store_up"] == 1)
                // What it had counted it has counted.
                #expect(scrape.sum("gryt_push_upstream_connection_events_total") >= opened)
            }
            #expect(try await relay.ask("/readyz").status == 200)
            barrier.open()
            await block.value
            while try await relay.scrape()["gryt_push_silent_loops"] != 0 {}
        }
        await simulator.stop()
    }
}

/// A relay inside the test's own process, so that the test sets its clock and reaches its loops.
private struct InnerRelay: Sendable {
    let conductor: Conductor
    let port: UInt16
    let operatorPort: UInt16

    /// Starts one on the directory, lends it, and drains it.
    static func run<Value: Sendable>(
        _ simulator: PushSimulator, _ clock: StageClock, _ files: ScratchDirectory,
        _ body: @Sendable (InnerRelay) async throws -> Value
    ) async throws -> Value {
        let operatorPort = try freePort()
        let environment = RelayUnderTest.usual.merging(simulator.settings) { $1 }.merging([
            "DATA_DIR": files.path + "/data", "METRICS_PORT": String(operatorPort), "PUSH_BUDGET_MS": "60000",
            "SHUTDOWN_TIMEOUT_MS": "60000",
        ]) { $1 }
        let settings = try Settings(environment: environment, dotEnv: nil, cores: 2)
        let clocks = Clocks(wall: { WallInstant(milliseconds: clock.milliseconds) }, monotonic: Clocks.system.monotonic)
        let log = Log(to: NoSink(), wall: { clock.milliseconds }, monotonic: { 0 })
        let conductor = try Assembly(
            settings: settings, openFiles: 20_000, manager: ServiceManager(environment: [:]), log: log, clocks: clocks
        ).build()
        _ = await conductor.start { _ in }
        let relay = InnerRelay(
            conductor: conductor, port: UInt16(conductor.port), operatorPort: operatorPort)
        let value = try await body(relay)
        guard case .finished(cutShort: 0) = await conductor.drain(for: .asked) else {
            Issue.record("the drain cut something short")
            return value
        }
        return value
    }

    func ask(_ path: String) async throws -> Answer {
        let port = operatorPort
        return try await onOwnThread {
            let client = try RawClient(port: port)
            try client.send(request("GET", path))
            return try client.nextAnswer()
        }
    }

    func scrape() async throws -> Scrape { Scrape(text: try await ask("/metrics").body) }
}

private struct NoSink: LogSink {
    func write(_ line: [UInt8]) {}
}

extension Scrape {
    /// The sum over all labels of a metric.
    fileprivate func sum(_ name: String) -> Int {
        values.filter { $0.key.hasPrefix(name + "{") }.reduce(0) { $0 + (Int($1.value) ?? 0) }
    }
}

/// The machine's clock on the wall, moved by what a test says.
private final class StageClock: Sendable {
    private let offset = Mutex<Int64>(0)

    var milliseconds: Int64 { Clocks.system.wall().milliseconds + offset.withLock { $0 } }

    func advance(by duration: Duration) {
        offset.withLock { $0 += duration.wholeMilliseconds }
    }

    /// Stands a minute before a midnight, some days back so that no certificate minds; gives the number of the day.
    func stopBeforeMidnight() -> Int {
        let day = Int64(Clocks.system.wall().day.number)
        let offset = day * 86_400_000 - 60_000 - Clocks.system.wall().milliseconds
        self.offset.withLock { $0 = offset }
        return Int(day - 1)
    }
}

/// Phones of all fates, and senders that ring them over connections that stay open.
private struct Fleet: Sendable {
    private let capabilities: [String]
    /// Phones that are registered.
    var size: Int { capabilities.count }

    private static let senders = 8

    /// Registers 200 phones. Of ten, one gets only failures and one a few at first; six are gone when they are first rung.
    init(simulator: PushSimulator, port: UInt16) async throws {
        var phones: [SimulatedPhone] = []
        for number in 0..<200 {
            let phone = SimulatedPhone(number.isMultiple(of: 2) ? .ios : .android)
            switch number % 20 {
            case 3, 4:
                // After a 503 of Apple's the relay changes the connection, once a second at most: not for a hundred pushes.
                let refusal =
                    phone.platform == .ios
                    ? Fault.Action.refuse(status: 400, reason: "PayloadEmpty")
                    : Fault.Action.refuse(status: 503, reason: "UNAVAILABLE")
                simulator.force(Fault(refusal), on: phone.token, platform: phone.platform)
            case 5, 6:
                let refusal = Fault.Action.refuse(status: 400, reason: "PayloadEmpty")
                simulator.force(Fault(refusal, times: 3), on: phone.token, platform: phone.platform)
            default: break
            }
            phones.append(phone)
        }
        capabilities = try await onOwnThread { [phones] in
            let client = try RawClient(port: port)
            return try phones.map { phone in
                let body = #"{"platform":"\#(phone.platform.rawValue)","token":"\#(phone.token)"}"#
                try client.send(request("POST", "/v1/devices", body: Array(body.utf8)))
                let answer = try client.nextAnswer()
                guard let capability = answer.json?["capability"]?.string else {
                    throw UnexpectedAnswer(answer: answer)
                }
                return capability
            }
        }
        for number in [9, 10, 49, 50, 109, 110] {
            simulator.declareDead(phones[number].token, platform: phones[number].platform)
        }
    }

    /// Rings phones in turn; gives what the senders were told, in the words of the counts.
    func push(_ count: Int, to port: UInt16, from first: Int) async throws -> [String: Int] {
        try await withThrowingTaskGroup(of: [String: Int].self) { group in
            for sender in 0..<Self.senders {
                let numbers = stride(from: first + sender, to: first + count, by: Self.senders)
                group.addTask { try await onOwnThread { try ring(numbers, over: RawClient(port: port)) } }
            }
            return try await group.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) }
        }
    }

    private func ring(_ numbers: StrideTo<Int>, over client: RawClient) throws -> [String: Int] {
        var books: [String: Int] = [:]
        for number in numbers {
            let kind = ["mention", "dm", "message"][number % 3]
            try client.send(pushRequest(capabilities[number % capabilities.count], kind: kind))
            let answer = try client.nextAnswer()
            switch answer.status {
            case 202: books["sent", default: 0] += 1
            case 410: books["gone", default: 0] += 1
            case 429, 502: books["failed", default: 0] += 1
            case 404: break
            default: throw UnexpectedAnswer(answer: answer)
            }
        }
        return books
    }
}

/// One waits here on its own thread until another opens.
private final class Barrier: Sendable {
    private let reached: [Int32]
    private let opened: [Int32]

    init() {
        var ends: [Int32] = [0, 0]
        precondition(unsafe pipe(&ends) == 0, "no pipe")
        reached = ends
        precondition(unsafe pipe(&ends) == 0, "no pipe")
        opened = ends
    }

    deinit { for end in reached + opened { close(end) } }

    func wait() {
        put(reached[1])
        take(opened[0])
    }

    func isReached() { take(reached[0]) }
    func open() { put(opened[1]) }

    private func put(_ end: Int32) {
        var byte: UInt8 = 1
        unsafe _ = write(end, &byte, 1)
    }

    private func take(_ end: Int32) {
        var byte: UInt8 = 0
        unsafe _ = read(end, &byte, 1)
    }
}
