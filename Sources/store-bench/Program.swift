import Cryptography
import DeviceStore
import EventLoops
import PushModel
import SQLiteDeviceStore

#if canImport(Glibc)
    import Glibc
#endif

/// What `bench/scale` cannot do from outside: rows of millions of registrations, and the time of a single look-up.
///
///     store-bench rows COUNT                     the rows of COUNT registrations, as SQL for an empty database
///     store-bench look-up DATA_DIR COUNT N       looks up N of them in turns of one, then N in turns of sixteen, after as
///                                                many again that are not counted
///     store-bench first DATA_DIR COUNT N         the first N look-ups of a process
///
/// All take the relay's secret from `RELAY_SECRET`. Registration number i is always the same, so that any of them can be
/// looked up without a list of capabilities.
@main
struct Program {
    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        let numbers = words.dropFirst().compactMap(Int.init)
        guard let text = unsafe getenv("RELAY_SECRET") else { fail("RELAY_SECRET is not set") }
        do {
            let secret = unsafe try RelaySecret(text: String(cString: text))
            switch words.first {
            case "rows" where words.count == 2 && numbers.count == 1: writeRows(numbers[0], secret)
            case "look-up" where words.count == 4 && numbers.count == 2 && numbers[0] > 0 && numbers[1] > 0:
                try await lookUp(in: words[1], of: numbers[0], secret, passes: [1, 1, 16], times: numbers[1])
            case "first" where words.count == 4 && numbers.count == 2 && numbers[0] > 0 && numbers[1] > 0:
                try await lookUp(in: words[1], of: numbers[0], secret, passes: [1], times: numbers[1])
            default: fail("usage: store-bench rows COUNT | store-bench look-up|first DATA_DIR COUNT N")
            }
        } catch {
            fail("\(error)")
        }
    }

    private static func writeRows(_ count: Int, _ secret: RelaySecret) {
        var output = Output()
        let now = Clocks.system.wall()
        var number = 0
        while number < count {
            output.write("INSERT INTO device VALUES ")
            let end = min(count, number + 64)
            while number < end {
                output.write(SampleRegistration(number: number).row(secret, now: now))
                number += 1
                output.write(number < end ? "," : ";\n")
            }
        }
        output.flush()
    }

    /// Looks up so many at random in each pass, `passes[i]` in a turn of the loop, and prints what a look-up with the
    /// opening of its seal took in each, as JSON: nanoseconds of the loop's CPU time, and of the clock.
    private static func lookUp(
        in directory: String, of count: Int, _ secret: RelaySecret, passes: [Int], times: Int
    ) async throws {
        let loop = try EventLoop(name: "look-up")
        try loop.start()
        let database = try SQLiteDatabase.open(directory: directory, secret: .given(secret))
        let store = try database.makeStore(on: loop)
        var random = SplitMix64(state: 1)
        var lines: [String] = []
        for perTurn in passes {
            let wanted = (0..<times).map { _ in
                SampleRegistration(number: Int(random.next() % UInt64(count))).capability
            }
            let pass = Task(executorPreference: loop) { try await nanoseconds(store, wanted, perTurn: perTurn) }
            let took = try await pass.value
            lines.append("{\"per_turn\": \(perTurn), \"cpu_ns\": \(took.cpu), \"clock_ns\": \(took.clock)}")
        }
        print("[\(lines.joined(separator: ", "))]")
        await store.close()
        await database.close()
        loop.stopAndJoin()
    }

    /// The mean over all, with what ends a turn. Called on the store's loop, whose thread all of it stays on.
    private static func nanoseconds(
        _ store: SQLiteDeviceStore, _ wanted: [Capability], perTurn: Int
    ) async throws -> (cpu: Int, clock: Int) {
        let cpu = read(CLOCK_THREAD_CPUTIME_ID)
        let clock = read(CLOCK_MONOTONIC)
        for (index, capability) in wanted.enumerated() {
            guard try await store.device(for: capability) != nil else { fail("a registration is not there") }
            if (index + 1).isMultiple(of: perTurn) { await Task.yield() }
        }
        return (
            (read(CLOCK_THREAD_CPUTIME_ID) - cpu) / wanted.count, (read(CLOCK_MONOTONIC) - clock) / wanted.count
        )
    }

    private static func read(_ clock: clockid_t) -> Int {
        var time = timespec()
        unsafe _ = clock_gettime(clock, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}

/// Ends the program with a line on standard error.
func fail(_ reason: String) -> Never {
    let line = Array("store-bench: \(reason)\n".utf8)
    _ = unsafe write(STDERR_FILENO, line, line.count)
    exit(1)
}
