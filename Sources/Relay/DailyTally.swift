package import DeviceStore
package import PushModel
import Synchronization

/// What has been counted and not been written yet. Nothing in it concerns one device, server or address.
///
/// A count belongs to the UTC day on which it happened, by the clock on the wall at that moment: midnight, a step of the
/// clock and a write that comes late change nothing about it. Counts only grow; what cannot be written stays here.
package final class DailyTally: Sendable {
    /// What can be counted.
    package enum Event: Sendable, Equatable {
        case sent(Kind)
        case registered
        case gone
        case failed
    }

    private let state = Mutex(State())

    private struct State {
        /// Counted since the last write began.
        var gathered: [DailyCount: Int] = [:]
        /// Whether a write is under way. What it took may be in the store already or not.
        var isWriting = false
        /// Changes whenever counts go from here to the store or back.
        var generation = 0
        /// The generation in which counts of a day were last written: one entry for each day that the process has seen.
        var lastWritten: [UTCDay: Int] = [:]
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    package init() {}

    /// Counts one. Called on any loop.
    package func count(_ event: Event, _ platform: Platform, on day: UTCDay) {
        let key =
            switch event {
            case .sent(let kind): DailyCount(day: day, event: .sent, platform: platform, kind: kind)
            case .registered: DailyCount(day: day, event: .registered, platform: platform, kind: nil)
            case .gone: DailyCount(day: day, event: .gone, platform: platform, kind: nil)
            case .failed: DailyCount(day: day, event: .failed, platform: platform, kind: nil)
            }
        state.withLock { $0.gathered[key, default: 0] += 1 }
    }

    // MARK: Writing

    /// Writes everything to the store; on a failure it stays gathered for the next time. Writes come one after the other:
    /// one that is asked for while another is under way waits for it, and takes what that one has put back.
    package func write(to store: any DeviceStore) async throws(StoreError) {
        while true {
            switch begin() {
            case .nothing: return
            case .otherUnderWay: await otherWrite()
            case .write(let counts):
                do throws(StoreError) {
                    try await store.add(counts)
                } catch {
                    settle(written: [:], putBack: counts)
                    throw error
                }
                return settle(written: counts, putBack: [:])
            }
        }
    }

    private enum Beginning {
        case nothing
        case otherUnderWay
        case write([DailyCount: Int])
    }

    private func begin() -> Beginning {
        state.withLock { state in
            if state.isWriting { return .otherUnderWay }
            if state.gathered.isEmpty { return .nothing }
            state.isWriting = true
            state.generation += 1
            defer { state.gathered = [:] }
            return .write(state.gathered)
        }
    }

    private func otherWrite() async {
        await withCheckedContinuation { waiter in
            let isOver = state.withLock { state in
                if state.isWriting { state.waiters.append(waiter) }
                return !state.isWriting
            }
            if isOver { waiter.resume() }
        }
    }

    private func settle(written: [DailyCount: Int], putBack counts: [DailyCount: Int]) {
        let waiters = state.withLock { state in
            state.gathered.merge(counts, uniquingKeysWith: +)
            state.isWriting = false
            state.generation += 1
            for count in written.keys { state.lastWritten[count.day] = state.generation }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    // MARK: Reading

    /// What is gathered at one moment.
    package struct Unwritten: Sendable {
        /// The counts. Those of a write that is under way are not among them.
        package var counts: [DailyCount: Int]
        /// Whether no write was under way. If not, the store may have more than it is given credit for.
        package var isSettled: Bool
        /// Rises whenever counts go to the store or back.
        package fileprivate(set) var generation: Int
    }

    /// What is gathered now. Read before the store, and asked afterwards whether it still ``holds(_:)``, it makes a sum with
    /// what the store has in which nothing is missing and nothing counts twice.
    package var unwritten: Unwritten {
        state.withLock {
            Unwritten(counts: $0.gathered, isSettled: !$0.isWriting, generation: $0.generation)
        }
    }

    /// Whether counts of days before this one have been written after that generation: late ones, or those of a clock that
    /// has been set.
    package func hasWritten(before day: UTCDay, since generation: Int) -> Bool {
        state.withLock { $0.lastWritten.contains { $0.key < day && $0.value > generation } }
    }

    /// Whether no count has gone from here to the store, or back, since then.
    package func holds(_ unwritten: Unwritten) -> Bool {
        state.withLock { $0.generation == unwritten.generation }
    }
}
