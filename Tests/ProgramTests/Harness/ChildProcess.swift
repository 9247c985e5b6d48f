import Glibc
import Synchronization

/// A program under test: what it prints is kept as it comes, and it ends when this test process ends, however that ends.
///
/// One thread of its own starts it, reads both pipes and waits for the end. Any thread may ask.
final class ChildProcess: Sendable {
    /// What it has printed, and how it ended.
    struct Record: Sendable {
        var standardOutput: [UInt8] = []
        var standardError: [UInt8] = []
        /// The exit status, or the signal's number negated; nil while it runs.
        var status: Int32?
        /// Whether it left a core file behind.
        var didDumpCore = false

        var outputText: String { String(decoding: standardOutput, as: UTF8.self) }
        var errorText: String { String(decoding: standardError, as: UTF8.self) }
    }

    private struct Waiter {
        var isSatisfied: @Sendable (Record) -> Bool
        var resume: @Sendable (Record) -> Void
    }

    private struct State {
        var record = Record()
        var process: pid_t = 0
        var waiters: [Waiter] = []
    }

    private let state = Mutex(State())
    /// Kept while somebody asks about the program.
    private let directory: ScratchDirectory

    /// Starts a program with exactly this environment, in this working directory, and with these descriptors from 3 on, as
    /// a service manager hands over sockets. A variable whose value is `$$` gets the program's own number.
    ///
    /// - Throws: ``ProcessFault`` when the system does not start it.
    init(
        _ path: String, arguments: [String] = [], environment: [String: String] = [:], directory: ScratchDirectory,
        handing descriptors: [Int32] = []
    ) async throws {
        self.directory = directory
        try await withCheckedThrowingContinuation { (started: CheckedContinuation<Void, any Error>) in
            startThread { [self] in
                do {
                    // The thread that started it must live as long as it does: its end is what ends the program.
                    let child = try SpawnedChild(
                        path, arguments: arguments, environment: environment, directory: directory.path,
                        handing: descriptors)
                    state.withLock { $0.process = child.process }
                    started.resume()
                    child.readToTheEnd { bytes, isError in
                        change { record in
                            if isError { record.standardError += bytes } else { record.standardOutput += bytes }
                        }
                    }
                    let end = child.waitForEnd()
                    state.withLock { $0.process = 0 }
                    change { ($0.status, $0.didDumpCore) = end }
                } catch {
                    started.resume(throwing: error)
                }
            }
        }
    }

    /// What there is by now.
    var record: Record { state.withLock { $0.record } }

    /// Its number, for what asks the system about it; 0 once it has ended.
    var id: pid_t { state.withLock { $0.process } }

    /// Sends a signal, unless the program has ended.
    func signal(_ number: Int32) {
        state.withLock { state in
            if state.process > 0 { _ = kill(state.process, number) }
        }
    }

    /// Waits until this holds, or the program has ended. A test that is out of time ends the program.
    @discardableResult
    func wait(until isSatisfied: @escaping @Sendable (Record) -> Bool) async -> Record {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waiter = Waiter(isSatisfied: isSatisfied) { continuation.resume(returning: $0) }
                let ready = state.withLock { state -> Record? in
                    if state.record.status != nil || isSatisfied(state.record) { return state.record }
                    state.waiters.append(waiter)
                    return nil
                }
                if let ready { waiter.resume(ready) }
            }
        } onCancel: {
            signal(SIGKILL)
        }
    }

    /// Waits for the end.
    @discardableResult
    func end() async -> Record { await wait { _ in false } }

    private func change(_ body: (inout Record) -> Void) {
        let (record, ready) = state.withLock { state in
            body(&state.record)
            let record = state.record
            let ready = state.waiters.filter { record.status != nil || $0.isSatisfied(record) }
            state.waiters.removeAll { record.status != nil || $0.isSatisfied(record) }
            return (record, ready)
        }
        for waiter in ready { waiter.resume(record) }
    }
}

/// Why a program was not started, by the system's number.
struct ProcessFault: Error {
    var call: String
    var errno: Int32
}

/// A started program and the reading ends of its pipes. Used by one thread only.
private struct SpawnedChild {
    let process: pid_t
    private let output: Int32
    private let errors: Int32

    /// Before it becomes the program, the child goes to its directory, may leave a core file, closes what other tests
    /// have open in this process, and asks for SIGKILL when the thread that started it is gone, be it by a crash.
    private static let beginning = """
        cd "$1" && last=$2 && shift 2 || exit 127
        ulimit -c unlimited 2>/dev/null
        for fd in /proc/self/fd/*; do
            fd=${fd##*/}
            [ "$fd" -le "$last" ] || eval "exec $fd>&-"
        done
        [ "$LISTEN_PID" != '$$' ] || export LISTEN_PID=$$
        exec /usr/bin/setpriv --pdeathsig KILL "$@"
        """

    init(
        _ path: String, arguments: [String], environment: [String: String], directory: String,
        handing descriptors: [Int32]
    ) throws {
        let output = try pipeEnds()
        let errors = try pipeEnds()
        defer {
            close(output.writing)
            close(errors.writing)
        }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, output.writing, STDOUT_FILENO)
        unsafe posix_spawn_file_actions_adddup2(&actions, errors.writing, STDERR_FILENO)
        // High up first, so that none of them is written over before it has been handed on.
        let high = descriptors.map { fcntl($0, F_DUPFD_CLOEXEC, 100) }
        defer { for descriptor in high { close(descriptor) } }
        for (index, descriptor) in high.enumerated() {
            unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, 3 + Int32(index))
        }
        // Threads of the pool, and so those that they start, have all signals blocked, and a program would inherit that.
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))

        let words =
            ["/bin/bash", "-c", Self.beginning, "bash", directory, String(2 + descriptors.count), path]
            + arguments
        var argumentList = unsafe words.map { unsafe strdup($0) } + [nil]
        let handedOn = environment.merging(Self.optionsOfSanitizers()) { $1 }
        var variables = unsafe handedOn.map { unsafe strdup("\($0.key)=\($0.value)") } + [nil]
        defer { unsafe (argumentList + variables).forEach { unsafe free($0) } }
        var process = pid_t()
        let code = unsafe posix_spawn(&process, words[0], &actions, &attributes, &argumentList, &variables)
        guard code == 0 else {
            close(output.reading)
            close(errors.reading)
            throw ProcessFault(call: "posix_spawn", errno: code)
        }
        self.process = process
        self.output = output.reading
        self.errors = errors.reading
    }

    /// Where scripts/sanitize runs the tests, a program that they start is sanitized too, and says what it finds to the
    /// same place.
    private static func optionsOfSanitizers() -> [String: String] {
        var options: [String: String] = [:]
        for name in ["ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "SWIFT_BACKTRACE"] {
            if let value = unsafe getenv(name) { options[name] = unsafe String(cString: value) }
        }
        return options
    }

    /// Hands on what comes out of both pipes until both have ended, and closes them.
    func readToTheEnd(_ take: (_ bytes: ArraySlice<UInt8>, _ isError: Bool) -> Void) {
        var entries = [output, errors].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while entries.contains(where: { $0.fd >= 0 }) {
            guard unsafe poll(&entries, 2, -1) > 0 else { continue }
            for index in entries.indices where entries[index].fd >= 0 && entries[index].revents != 0 {
                let count = unsafe read(entries[index].fd, &buffer, buffer.count)
                if count > 0 {
                    take(buffer[..<count], index == 1)
                } else {
                    close(entries[index].fd)
                    entries[index].fd = -1
                }
            }
        }
    }

    /// The exit status, or the number of the signal that ended it, negated; and whether there is a core file.
    func waitForEnd() -> (status: Int32, didDumpCore: Bool) {
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7F
        return (signal == 0 ? (status >> 8) & 0xFF : -signal, status & 0x80 != 0)
    }
}

private func pipeEnds() throws -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [0, 0]
    guard unsafe pipe(&ends) == 0 else { throw ProcessFault(call: "pipe", errno: errno) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
}
