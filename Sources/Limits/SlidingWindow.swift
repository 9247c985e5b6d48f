/// What is remembered about one key: every admitted attempt that is still inside the window, and nothing else.
///
/// Time is counted in *ticks*. The newest attempt is a tick of 64 bits; the older ones are 32-bit ticks in a ring that
/// grows with use, so that a key seen once needs no ring at all. An attempt is remembered at its tick rounded up, and
/// the present is rounded down before it is compared: a remembered attempt therefore leaves less than a tick late and
/// never early, and no window of real time holds more than the limit.
///
/// An attempt made at `s` is inside the window at `now` while `now - s < window`: the window is `(now - window, now]`,
/// open at its old end.
struct SlidingWindow {
    /// Tick of the newest attempt, rounded up.
    var newest: Int64
    /// Ticks of the older attempts, in order from `first`, modulo 2^32. The array's count is the ring's capacity.
    var ring: [UInt32] = []
    var first: Int32 = 0
    var older: Int32 = 0

    init(firstAttemptAt now: WindowInstant) { newest = now.roundedUp }

    /// Attempts remembered, those that have left the window since the last admission among them.
    var count: Int { Int(older) + 1 }

    /// Whether even the newest attempt has left the window.
    func isOver(at now: WindowInstant, _ scale: WindowScale) -> Bool {
        now.roundedDown - newest >= Int64(scale.windowTicks)
    }

    /// Takes an attempt at `now`, which is not before the newest one; the window is not over.
    ///
    /// Returns nil when it is admitted and recorded; otherwise the nanoseconds until one more is admitted: until the oldest
    /// attempt leaves, or where the limit has been lowered, until so many have left that there are fewer than `limit`.
    mutating func admit(at now: WindowInstant, limit: Int, _ scale: WindowScale) -> Int64? {
        while older > 0 {
            guard age(of: ring[Int(first)], at: now) >= scale.windowTicks else { break }
            first = first + 1 == Int32(ring.count) ? 0 : first + 1
            older -= 1
        }
        guard count < limit else {
            let last = Int32(count - limit)
            let leaving: Int64
            if last < older {
                var place = first + last
                if place >= Int32(ring.count) { place -= Int32(ring.count) }
                leaving = now.roundedDown - Int64(age(of: ring[Int(place)], at: now))
            } else {
                leaving = newest
            }
            return (leaving + Int64(scale.windowTicks)) * scale.tick - now.nanoseconds
        }
        fitRing(limit: limit)
        var end = first + older
        if end >= Int32(ring.count) { end -= Int32(ring.count) }
        ring[Int(end)] = UInt32(truncatingIfNeeded: newest)
        older += 1
        newest = now.roundedUp
        return nil
    }

    /// Ticks from a remembered attempt to the present; -1 when rounding up put it after the present.
    ///
    /// No remembered attempt is older than two windows and a few ticks, because it was inside the window of an attempt
    /// that is inside this one; and a window has less than 2^30 ticks. So ages fit into 32 bits with a sign.
    func age(of remembered: UInt32, at now: WindowInstant) -> Int32 {
        Int32(bitPattern: UInt32(truncatingIfNeeded: now.roundedDown) &- remembered)
    }

    /// Makes room for one more in the ring, and gives back what a quieter key no longer needs.
    mutating func fitRing(limit: Int) {
        let capacity = ring.count
        if Int(older) == capacity {
            resizeRing(to: min(max(1, capacity * 2), limit - 1))
        } else if capacity >= 32, Int(older) < capacity / 8 {
            resizeRing(to: capacity / 4)
        }
    }

    mutating func resizeRing(to capacity: Int) {
        var resized = [UInt32](repeating: 0, count: capacity)
        for index in 0..<Int(older) { resized[index] = ring[(Int(first) + index) % ring.count] }
        ring = resized
        first = 0
    }
}

/// An instant, in nanoseconds and in ticks.
struct WindowInstant {
    var nanoseconds: Int64
    var roundedDown: Int64
    var roundedUp: Int64

    init(nanoseconds: Int64, _ scale: WindowScale) {
        self.nanoseconds = nanoseconds
        roundedDown = nanoseconds / scale.tick
        roundedUp = roundedDown * scale.tick == nanoseconds ? roundedDown : roundedDown + 1
    }
}

/// A window's length in ticks.
struct WindowScale: Sendable {
    /// Nanoseconds of a tick: the smallest of 1, 2, 5, 10, 20, 50, … with which a window has less than 2^30 ticks.
    let tick: Int64
    /// Ticks of the window, rounded up.
    let windowTicks: Int32

    init(window: Int64) {
        var tick: Int64 = 1
        var steps = 0
        while window / tick >= (1 << 30) - 1 {
            tick = steps % 3 == 1 ? tick / 2 * 5 : tick * 2
            steps += 1
        }
        self.tick = tick
        windowTicks = Int32((window + tick - 1) / tick)
    }
}
