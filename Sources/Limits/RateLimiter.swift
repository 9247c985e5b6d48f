package import PushModel
import Synchronization

/// What a ``RateLimiter`` says about one attempt.
package enum RateDecision: Sendable, Equatable {
    /// Go on. The attempt is recorded.
    case admitted
    /// The limit is used up. Nothing is recorded; after `retryAfter`, and not a nanosecond before, the oldest attempt has
    /// left the window and one more is admitted.
    case refused(retryAfter: Duration)
    /// The key is new, and the table is full of keys that still count. Nothing is recorded: letting the attempt through
    /// uncounted, or forgetting somebody else's, would let a flood of made-up keys reset the limit.
    case crowded
}

/// At most `limit` attempts for each key in any window of time: an exact sliding window, not a bucket that refills.
///
/// For every instant `t`, no more than `limit` admitted attempts of one key lie in `(t - window, t]`. A refused attempt
/// is not recorded, so a key that keeps knocking gets through as soon as its oldest attempt has left the window.
///
/// Any thread may call it. Keys are spread over 64 stripes, each behind its own mutex. The clock is handed in and may
/// stand still; where threads read it in one order and arrive in the other, the later arrival counts from the instant
/// of the earlier one. Instants are not negative.
///
/// An attempt is remembered to the nanosecond where `window` is a second or less, and otherwise to a tick of about `window`
/// divided by 2^30 (100 ns for a minute, 5 µs for an hour), always towards keeping it too long.
///
/// It is compiled for ``ClientAddress`` and ``CapabilityKey``; any other key works and costs several times as much.
///
/// Memory, for a key of 16 bytes: 4 to 8 bytes of buckets and an entry of 56 bytes, of which there may be twice as many
/// as keys, because arrays double (63 bytes a key were measured for a million); and for a key with more than one attempt
/// in its window an array of 32 bytes and 4 to 8 bytes for each attempt but the newest. A key that is over is forgotten
/// in passing, two for each attempt of any key of its stripe, and none that still counts is ever forgotten.
package final class RateLimiter<Key: Hashable & Sendable>: Sendable {
    /// Attempts for each key in a window; 0 when the limit is turned off.
    package var limit: Int { allowed.load(ordering: .relaxed) }
    /// Keys that may be remembered at once.
    package let maximumKeys: Int

    let stripes: [LimiterStripe<Key>]
    let keys = Atomic<Int>(0)
    let allowed: Atomic<Int>

    /// Makes a limiter that remembers nothing yet.
    ///
    /// `limit` is at least 0, and 0 turns the limit off; `window` is from a nanosecond to a hundred years;
    /// `maximumKeys` is at least 1.
    package init(limit: Int, window: Duration, maximumKeys: Int) {
        Self.check(limit)
        precondition(window >= .nanoseconds(1) && window <= .seconds(3_155_760_000), "a window out of range")
        precondition(maximumKeys >= 1, "a limiter without room for a key")
        allowed = Atomic(limit)
        self.maximumKeys = maximumKeys
        let scale = WindowScale(window: window.wholeNanoseconds)
        stripes = (0..<64).map { _ in LimiterStripe(scale) }
    }

    /// Holds every key to another limit from now on. What is remembered stays: with a lower limit a key waits until enough
    /// of its attempts have left the window, with a higher one it goes on at once. Nothing is remembered of the time in
    /// which the limit was turned off.
    package func change(limit: Int) {
        Self.check(limit)
        allowed.store(limit, ordering: .relaxed)
    }

    private static func check(_ limit: Int) {
        precondition(limit >= 0 && limit <= Int32.max / 4, "a limit out of range")
    }

    /// Asks for one attempt of `key` at `now`, and records it when it is admitted.
    @specialized(where Key == ClientAddress)
    @specialized(where Key == CapabilityKey)
    package func admit(_ key: Key, at now: MonotonicInstant) -> RateDecision {
        let limit = limit
        guard limit > 0 else { return .admitted }
        let now = now.nanoseconds
        precondition(now >= 0, "an instant from before the clock began")
        let hash = UInt(bitPattern: key.hashValue)
        let stripe = stripes[Int(hash >> (UInt.bitWidth - 6))]
        let hashInStripe = UInt32(truncatingIfNeeded: hash)
        while true {
            switch attempt(key, hash: hashInStripe, in: stripe, at: now, limit: limit) {
            case .decided(let decision): return decision
            case .full: guard reclaimAnywhere(at: now) else { return .crowded }
            }
        }
    }

    enum Step {
        case decided(RateDecision)
        case full
    }

    func attempt(
        _ key: Key, hash: UInt32, in stripe: LimiterStripe<Key>, at now: Int64, limit: Int
    ) -> Step {
        stripe.table.withLock { table in
            table.advance(to: now)
            let reclaimed = table.reclaim(atMost: 2)
            if reclaimed > 0 { keys.subtract(reclaimed, ordering: .relaxed) }
            let index = table.find(key, hash: hash)
            if index >= 0 {
                guard let wait = table.admit(index, limit: limit) else { return .decided(.admitted) }
                return .decided(.refused(retryAfter: .nanoseconds(wait)))
            }
            guard keys.add(1, ordering: .relaxed).newValue <= maximumKeys else {
                keys.subtract(1, ordering: .relaxed)
                return .full
            }
            table.insert(key, hash: hash)
            return .decided(.admitted)
        }
    }

    /// Forgets keys that are over, in the first stripe that has any; false when every key still counts.
    func reclaimAnywhere(at now: Int64) -> Bool {
        for stripe in stripes {
            let reclaimed = stripe.table.withLock { table in
                table.advance(to: now)
                return table.reclaim(atMost: 64)
            }
            guard reclaimed == 0 else {
                keys.subtract(reclaimed, ordering: .relaxed)
                return true
            }
        }
        return false
    }

    /// Keys remembered at this moment, over or not. It takes no lock.
    package var keysHeld: Int { max(0, keys.load(ordering: .relaxed)) }

    /// What a limiter holds at one moment; each stripe is counted in its turn.
    package struct Footprint: Sendable, Equatable {
        /// Keys remembered, over or not.
        package var keys = 0
        /// Attempts that there is room for in the rings of keys with more than one.
        package var ringPlaces = 0
        /// Bytes of all arrays but the rings' headers of 32 bytes.
        package var bytes = 0
    }

    /// Counts what is held, for a metric or a test. It takes each stripe's lock for a moment.
    package var footprint: Footprint {
        stripes.reduce(into: Footprint()) { sum, stripe in
            stripe.table.withLock { table in
                sum.keys += table.count
                sum.ringPlaces += table.ringPlaces
                sum.bytes += table.entries.capacity * MemoryLayout<WindowTable<Key>.Entry>.stride
                sum.bytes += table.buckets.capacity * MemoryLayout<Int32>.stride
                sum.bytes += table.ringPlaces * MemoryLayout<UInt32>.stride
            }
        }
    }
}

/// A part of a limiter's keys and the mutex that guards it.
final class LimiterStripe<Key: Hashable & Sendable>: Sendable {
    let table: Mutex<WindowTable<Key>>

    init(_ scale: WindowScale) { table = Mutex(WindowTable(scale)) }
}
