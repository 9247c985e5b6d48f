import Synchronization

/// A bound on how much goes on at once. Over it one is refused at once; nobody waits here.
///
/// Any thread may call it.
package final class InFlightPermits: Sendable {
    /// Permits that exist.
    package let limit: Int

    private let taken = Atomic<Int>(0)

    /// Makes a bound of `limit`, at least 1.
    package init(limit: Int) {
        precondition(limit >= 1, "a bound that lets nothing through")
        self.limit = limit
    }

    /// Permits held at this moment.
    package var inUse: Int { taken.load(ordering: .relaxed) }

    /// Takes a permit; nil when all are taken. Its end of life gives it back.
    package func take() -> Permit? {
        var seen = taken.load(ordering: .relaxed)
        while seen < limit {
            let (exchanged, original) = taken.weakCompareExchange(
                expected: seen, desired: seen + 1, ordering: .acquiringAndReleasing)
            if exchanged { return Permit(of: self) }
            seen = original
        }
        return nil
    }

    fileprivate func giveBack() {
        taken.subtract(1, ordering: .releasing)
    }
}

/// The right to be one of those under way. Keep it as long as the work lasts; dropping it gives the place back.
package struct Permit: ~Copyable, Sendable {
    private let permits: InFlightPermits

    fileprivate init(of permits: InFlightPermits) { self.permits = permits }

    deinit { permits.giveBack() }
}
