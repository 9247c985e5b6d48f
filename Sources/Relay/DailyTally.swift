package import DeviceStore
package import PushModel
import Synchronization

/// What has been counted and not been written yet. Nothing in it concerns one device, server or address.
package final class DailyTally: Sendable {
    /// What can be counted.
    package enum Event: Sendable, Equatable {
        case sent(Kind)
        case registered
        case gone
        case failed
    }

    private let gathered = Mutex<[DailyCount: Int]>([:])

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
        gathered.withLock { $0[key, default: 0] += 1 }
    }

    /// Takes everything out, to be written. What cannot be written is put back by ``putBack(_:)``.
    package func take() -> [DailyCount: Int] {
        gathered.withLock { gathered in
            defer { gathered = [:] }
            return gathered
        }
    }

    /// Adds counts that could not be written.
    package func putBack(_ counts: [DailyCount: Int]) {
        gathered.withLock { $0.merge(counts, uniquingKeysWith: +) }
    }

    /// Writes everything to the store; on a failure it stays gathered for the next time.
    package func write(to store: any DeviceStore) async throws(StoreError) {
        let counts = take()
        guard !counts.isEmpty else { return }
        do throws(StoreError) {
            try await store.add(counts)
        } catch {
            putBack(counts)
            throw error
        }
    }
}
