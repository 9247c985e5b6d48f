import Synchronization

/// Lets handlers wait until a test opens it, and tells the test how many wait.
final class Gate: Sendable {
    fileprivate struct State {
        var isOpen = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        var arrivals = 0
        var observers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    /// Waits until the gate is open.
    func pass() async {
        await withCheckedContinuation { continuation in
            let woken = state.withLock { state in
                state.arrivals += 1
                if state.isOpen { return [continuation] + state.takeObservers() }
                state.waiting.append(continuation)
                return state.takeObservers()
            }
            for continuation in woken { continuation.resume() }
        }
    }

    func open() {
        let woken = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in woken { continuation.resume() }
    }

    /// Waits until that many have come to the gate.
    func arrivals(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let woken = state.withLock { state in
                state.observers.append((count, continuation))
                return state.takeObservers()
            }
            for continuation in woken { continuation.resume() }
        }
    }
}

extension Gate.State {
    /// Those who have seen enough arrivals.
    fileprivate mutating func takeObservers() -> [CheckedContinuation<Void, Never>] {
        let arrived = arrivals
        defer { observers.removeAll { $0.count <= arrived } }
        return observers.filter { $0.count <= arrived }.map(\.continuation)
    }
}
