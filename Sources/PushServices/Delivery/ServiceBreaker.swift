package import PushModel
import Synchronization
package import Telemetry

/// The breaker of one push service, one set of credentials and, for APNs, one environment: what ``CircuitBreaker``
/// decides, for all loops together.
///
/// While all is well a push costs a few looks at atomics here; the lock is taken only once something is amiss.
package final class ServiceBreaker: Sendable {
    /// Whether a push may go.
    package enum Admission: Sendable {
        /// It may. The pass goes back with what became of it.
        case admitted(Pass)
        /// It may not, and this is its outcome.
        case refused(DeliveryOutcome)
    }

    /// The right to ask once.
    package struct Pass: Sendable {
        fileprivate var probe: Int?
    }

    /// A silence shorter than this is ordinary, and nobody looks closer.
    private static let ordinarySilence: Int64 = 1_000_000_000
    private static let never: Int64 = .min

    /// What it stands before.
    package let upstream: Upstream
    private let observer: any BreakerObserver
    private let state = Mutex(CircuitBreaker())
    private let isCalm = Atomic(true)
    /// Whether a push was accepted.
    private let isProven = Atomic(false)
    /// When the first push went out that no sign of life has followed.
    private let silentSince = Atomic<Int64>(never)

    /// Closed at first.
    package init(_ upstream: Upstream, observer: any BreakerObserver) {
        self.upstream = upstream
        self.observer = observer
    }

    /// Asks whether a push may go. `phone` says which phone it is for, and nothing more; it is asked for only when
    /// something is amiss. Called on any loop.
    package func admit(phone: @autoclosure () -> Int, at now: MonotonicInstant) -> Admission {
        if isCalm.load(ordering: .relaxed) {
            let since = silentSince.load(ordering: .relaxed)
            if since == Self.never {
                silentSince.store(now.nanoseconds, ordering: .relaxed)
                return .admitted(Pass())
            }
            if now.nanoseconds - since < Self.ordinarySilence { return .admitted(Pass()) }
        }
        let lot = Double.random(in: 0...1)
        let phone = phone()
        let (admission, change) = change { $0.admit(phone: phone, at: now, lot: lot) }
        tell(change)
        return switch admission {
        case .pass: .admitted(Pass())
        case .probe(let number): .admitted(Pass(probe: number))
        case .refuse(let cause, let age): .refused(cause.outcome(age: age, lot: lot))
        }
    }

    /// Notes how a push ended that was admitted. Called on any loop.
    package func conclude(_ pass: Pass, _ health: Health, phone: @autoclosure () -> Int, at now: MonotonicInstant) {
        switch health {
        case .accepting, .well, .answering, .refusing:
            if silentSince.load(ordering: .relaxed) != Self.never {
                silentSince.store(Self.never, ordering: .relaxed)
            }
        case .ailing, .unknown: break
        }
        if health.isWell, isCalm.load(ordering: .relaxed), isProven.load(ordering: .relaxed) { return }
        note(health, probe: pass.probe, phone: phone(), at: now)
    }

    /// A connection was refused as a whole; `connection` tells it from others.
    package func connectionRefused(_ cause: BreakerCause, connection: Int, at now: MonotonicInstant) {
        note(.refusing(cause), probe: nil, phone: connection, at: now)
    }

    /// A connection to the service stands. Called on any loop.
    package func connected(at now: MonotonicInstant) {
        guard !isCalm.load(ordering: .relaxed) else { return }
        _ = change { ($0.connected(at: now), nil) }
    }

    /// Asks the service again whatever it did, because somebody has acted.
    package func startAnew(at now: MonotonicInstant) {
        silentSince.store(Self.never, ordering: .relaxed)
        tell(change { ((), $0.startAnew(at: now)) }.1)
    }

    /// Why the service is not asked, and since when; nil while it is.
    package var open: (cause: BreakerCause, since: MonotonicInstant)? { state.withLock { $0.open } }

    private func note(_ health: Health, probe: Int?, phone: Int, at now: MonotonicInstant) {
        let lot = Double.random(in: 0...1)
        tell(change { ((), $0.conclude(health, probe: probe, phone: phone, at: now, lot: lot)) }.1)
    }

    private func change<Result: Sendable>(
        _ body: (inout sending CircuitBreaker) -> (Result, CircuitBreaker.Change?)
    ) -> (Result, CircuitBreaker.Change?) {
        state.withLock { breaker in
            let result = body(&breaker)
            isCalm.store(breaker.isCalm, ordering: .relaxed)
            isProven.store(breaker.hasAccepted, ordering: .relaxed)
            return result
        }
    }

    private func tell(_ change: CircuitBreaker.Change?) {
        if let change { observer.breaker(upstream, change) }
    }
}

/// Hears of breakers that open and close, to tell the operator. Called on any loop; must be quick.
package protocol BreakerObserver: Sendable {
    /// A breaker has changed.
    func breaker(_ upstream: Upstream, _ change: CircuitBreaker.Change)
}
