import Glibc
import Synchronization

/// Senders that push without a pause and never twice, until they are told to stop. Whatever is not a 202 is a failure: a
/// connection that is refused, reset, or closed without an answer among it.
final class Senders: Sendable {
    private let port: UInt16
    private let capability: String
    private let isOver = Atomic<Bool>(false)
    private let state = Mutex((accepted: 0, failures: [String](), running: 0))

    /// Starts so many of each kind: those that open a connection for each push, and those that keep theirs until an answer
    /// says that it ends.
    init(port: UInt16, capability: String, fresh: Int, keeping: Int) {
        self.port = port
        self.capability = capability
        for number in 0..<(fresh + keeping) {
            state.withLock { $0.running += 1 }
            startThread { [self] in
                while !isOver.load(ordering: .relaxed) { send(keeps: number >= fresh) }
                state.withLock { $0.running -= 1 }
            }
        }
    }

    private func send(keeps: Bool) {
        do {
            let client = try RawClient(port: port)
            var isKept = true
            while isKept, !isOver.load(ordering: .relaxed) {
                try client.send(pushRequest(capability))
                let answer = try client.nextAnswer()
                state.withLock { state in
                    if answer.status == 202 { state.accepted += 1 } else { state.failures.append(answer.summary) }
                }
                isKept = keeps && answer["connection"]?.lowercased() != "close"
                usleep(2000)
            }
        } catch {
            state.withLock { $0.failures.append("\(error)") }
        }
    }

    /// Pushes that were accepted so far.
    var accepted: Int { state.withLock { $0.accepted } }

    /// Waits until so many more have been accepted.
    func accept(more: Int) async throws {
        let goal = accepted + more
        while accepted < goal, state.withLock({ $0.failures.count }) < 100 {
            _ = try await onOwnThread { usleep(5000) }
        }
    }

    /// Stops them. Gives what went wrong.
    func stop() async throws -> [String] {
        isOver.store(true, ordering: .relaxed)
        while state.withLock({ $0.running }) > 0 { _ = try await onOwnThread { usleep(5000) } }
        return state.withLock { $0.failures }
    }
}
