/// How many collapsible messages FCM brings to one phone without making them wait: "a burst of 20 messages per app per
/// device, with a refill of 1 message every 3 minutes" (Google: "FCM throttling and quotas"). Pure, the clock handed in.
struct CollapsibleAllowance: Sendable {
    /// So many at once.
    static let burst = 20
    /// One more in so many milliseconds.
    static let refill: Int64 = 180_000

    private var left = Self.burst
    private var refilledAt: Int64 = 0

    /// Takes one, if there is one. `now` in milliseconds since 1970.
    mutating func take(now: Int64) -> Bool {
        advance(to: now)
        guard left > 0 else { return false }
        // The first that is missing begins the three minutes.
        if left == Self.burst { refilledAt = now }
        left -= 1
        return true
    }

    private mutating func advance(to now: Int64) {
        let count = max(now - refilledAt, 0) / Self.refill
        refilledAt += count * Self.refill
        left = min(left + Int(clamping: count), Self.burst)
    }
}
