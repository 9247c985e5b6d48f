package import PushModel
import Synchronization

/// The pace of one Firebase project: what ``SendPace`` decides, for all loops together.
///
/// While Google has no objection a push costs a look at an atomic and an addition under a lock that is held for no longer
/// than that.
package final class ProjectPace: Sendable {
    private let observer: any PaceObserver
    private let state = Mutex(SendPace())
    private let isHeld = Atomic(false)
    private let refusals = Atomic(0)

    /// Free at first.
    package init(observer: any PaceObserver) { self.observer = observer }

    /// Asks whether a push may go: nil for yes, otherwise what its sender is told. Called on any loop.
    package func admit(at now: MonotonicInstant) -> DeliveryOutcome? {
        guard isHeld.load(ordering: .relaxed) else { return nil }
        let lot = Double.random(in: 0...1)
        let (wait, change) = state.withLock { pace in
            let answer = pace.admit(at: now, lot: lot)
            isHeld.store(pace.isHeld, ordering: .relaxed)
            return answer
        }
        if let change { observer.pace(change) }
        guard let wait else { return nil }
        refusals.add(1, ordering: .relaxed)
        return .deferred(.serviceThrottled, retryAfter: wait)
    }

    /// Notes that a push goes out.
    package func sent(at now: MonotonicInstant) { state.withLock { $0.sent(at: now) } }

    /// Google has refused a push for a quota that is not the phone's; see ``SendPace``.
    package func throttled(
        phone: Int, isNamed: Bool, sentAt: MonotonicInstant, wait: Duration?, at now: MonotonicInstant
    ) {
        let change = state.withLock { pace in
            let change = pace.throttled(phone: phone, isNamed: isNamed, sentAt: sentAt, wait: wait, at: now)
            isHeld.store(pace.isHeld, ordering: .relaxed)
            return change
        }
        if let change { observer.pace(change) }
    }

    /// Pushes that may go in a second; nil for any number.
    package func limit(at now: MonotonicInstant) -> Double? { state.withLock { $0.limit(at: now) } }

    /// Pushes that were refused for it so far.
    package var heldBack: Int { refusals.load(ordering: .relaxed) }
}

/// Hears when Google wants less, and when that is over, to tell the operator. Called on any loop; must be quick.
package protocol PaceObserver: Sendable {
    /// The pace has changed.
    func pace(_ change: SendPace.Change)
}
