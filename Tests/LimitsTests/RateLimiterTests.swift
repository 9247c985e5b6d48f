import Limits
import PushModel
import Testing

private func at(_ milliseconds: Int64) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: milliseconds * 1_000_000)
}

/// The promise itself, in the fewest words: every admitted instant is kept for ever and counted anew each time.
private struct NaiveModel {
    var limit: Int
    let window: Int64
    var admitted: [Int: [Int64]] = [:]

    mutating func admit(_ key: Int, at now: Int64) -> RateDecision {
        let inside = Array(admitted[key, default: []].reversed().prefix { now - $0 < window })
        if inside.count >= limit {
            return .refused(retryAfter: .nanoseconds(inside[limit - 1] + window - now))
        }
        admitted[key, default: []].append(now)
        return .admitted
    }
}

/// SplitMix64: the same numbers for the same seed, everywhere.
private struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}

@Suite(.timeLimit(.minutes(1)))
struct RateLimiterTests {
    @Test func `the limit is reached exactly and the next attempt is told when to come back`() {
        let limiter = RateLimiter<Int>(limit: 3, window: .seconds(60), maximumKeys: 10)
        #expect(limiter.admit(1, at: at(0)) == .admitted)
        #expect(limiter.admit(1, at: at(10_000)) == .admitted)
        #expect(limiter.admit(1, at: at(20_000)) == .admitted)
        #expect(limiter.admit(1, at: at(20_000)) == .refused(retryAfter: .seconds(40)))
        #expect(limiter.admit(1, at: at(59_999)) == .refused(retryAfter: .milliseconds(1)))
    }

    @Test func `an attempt leaves the window after exactly its length`() {
        let limiter = RateLimiter<Int>(limit: 1, window: .seconds(60), maximumKeys: 10)
        let first = MonotonicInstant(nanoseconds: 123_456_700)
        #expect(limiter.admit(1, at: first) == .admitted)
        let justBefore = first.advanced(by: .seconds(60) - .nanoseconds(1))
        #expect(limiter.admit(1, at: justBefore) == .refused(retryAfter: .nanoseconds(1)))
        #expect(limiter.admit(1, at: first.advanced(by: .seconds(60))) == .admitted)
    }

    @Test func `a refused attempt is not recorded`() {
        let limiter = RateLimiter<Int>(limit: 2, window: .seconds(60), maximumKeys: 10)
        #expect(limiter.admit(1, at: at(0)) == .admitted)
        #expect(limiter.admit(1, at: at(1)) == .admitted)
        for millisecond in 2..<1000 {
            guard case .refused = limiter.admit(1, at: at(Int64(millisecond))) else {
                Issue.record("admitted over the limit")
                return
            }
        }
        #expect(limiter.admit(1, at: at(60_000)) == .admitted)
        #expect(limiter.admit(1, at: at(60_000)) == .refused(retryAfter: .milliseconds(1)))
        #expect(limiter.admit(1, at: at(60_001)) == .admitted)
    }

    @Test func `a clock that stands still refuses all the same`() {
        let limiter = RateLimiter<Int>(limit: 5, window: .seconds(60), maximumKeys: 10)
        for _ in 0..<5 { #expect(limiter.admit(1, at: at(7)) == .admitted) }
        #expect(limiter.admit(1, at: at(7)) == .refused(retryAfter: .seconds(60)))
    }

    @Test func `an attempt that read the clock earlier but came later counts from the later instant`() {
        let limiter = RateLimiter<Int>(limit: 2, window: .seconds(60), maximumKeys: 10)
        #expect(limiter.admit(1, at: at(100)) == .admitted)
        #expect(limiter.admit(1, at: at(99)) == .admitted)
        #expect(limiter.admit(1, at: at(60_099)) == .refused(retryAfter: .milliseconds(1)))
    }

    @Test func `a limit of nothing is no limit and remembers nobody`() {
        let limiter = RateLimiter<Int>(limit: 0, window: .seconds(60), maximumKeys: 1)
        for key in 0..<100 { #expect(limiter.admit(key, at: at(0)) == .admitted) }
        #expect(limiter.footprint.keys == 0)
    }

    @Test func `keys do not count against each other`() {
        let limiter = RateLimiter<Int>(limit: 1, window: .seconds(60), maximumKeys: 1000)
        for key in 0..<1000 { #expect(limiter.admit(key, at: at(0)) == .admitted) }
        for key in 0..<1000 { #expect(limiter.admit(key, at: at(1)) == .refused(retryAfter: .milliseconds(59_999))) }
    }

    @Test(arguments: [
        (limit: 1, window: Duration.seconds(60), seed: UInt64(1)), (2, .seconds(60), 2), (20, .seconds(60), 3),
        (60, .seconds(3600), 4), (1200, .seconds(60), 5), (7, .milliseconds(50), 6), (33, .seconds(90_000), 7),
    ])
    func `it agrees with a model that forgets nothing`(limit: Int, window: Duration, seed: UInt64) {
        agree(limit: limit, window: window, seed: seed)
    }

    @Test(arguments: [
        (limit: 2, window: Duration.seconds(60), seed: UInt64(21)), (20, .seconds(60), 22), (60, .seconds(3600), 23),
        (7, .milliseconds(50), 24),
    ])
    func `it agrees with the model also while the limit is changed, and forgets nothing for it`(
        limit: Int, window: Duration, seed: UInt64
    ) {
        agree(limit: limit, window: window, seed: seed, changes: true)
    }

    @Test func `a limit that was turned off has no memory of that time, and one that is turned off lets all through`() {
        let limiter = RateLimiter<Int>(limit: 0, window: .seconds(60), maximumKeys: 10)
        for _ in 0..<5 { #expect(limiter.admit(1, at: at(0)) == .admitted) }
        limiter.change(limit: 1)
        #expect(limiter.admit(1, at: at(1)) == .admitted)
        #expect(limiter.admit(1, at: at(2)) == .refused(retryAfter: .milliseconds(59_999)))
        limiter.change(limit: 0)
        #expect(limiter.admit(1, at: at(3)) == .admitted)
        limiter.change(limit: 1)
        #expect(limiter.admit(1, at: at(4)) == .refused(retryAfter: .milliseconds(59_997)))
    }

    private func agree(limit: Int, window: Duration, seed: UInt64, changes: Bool = false) {
        let limiter = RateLimiter<Int>(limit: limit, window: window, maximumKeys: 1000)
        var model = NaiveModel(limit: limit, window: window.wholeNanoseconds)
        var random = SeededGenerator(state: seed)
        var now: Int64 = 0
        let mean = max(1, window.wholeNanoseconds / 1_000_000 / Int64(limit) / 3)
        for step in 0..<20_000 {
            // Mostly steps around the rate of the limit for three keys, sometimes none, now and then whole windows.
            switch random.next() % 100 {
            case 0..<40: now += Int64(random.next() % UInt64(mean)) * 1_000_000
            case 40..<41: now += window.wholeNanoseconds / 2
            case 41..<42: now += window.wholeNanoseconds
            default: break
            }
            if changes, random.next() % 50 == 0 {
                model.limit = 1 + Int(random.next() % UInt64(limit * 2))
                limiter.change(limit: model.limit)
            }
            let key = Int(random.next() % 3)
            let expected = model.admit(key, at: now)
            let decision = limiter.admit(key, at: MonotonicInstant(nanoseconds: now))
            guard decision == expected else {
                Issue.record("step \(step) at \(now): \(decision), not \(expected)")
                return
            }
        }
    }

    @Test(arguments: [UInt64(11), 12, 13])
    func `no window of odd nanoseconds holds more than the limit, and no refusal outlasts it by more than a tick`(
        seed: UInt64
    ) {
        let limit = 5
        let window: Int64 = 60_000_000_000
        let limiter = RateLimiter<Int>(limit: limit, window: .nanoseconds(window), maximumKeys: 10)
        var random = SeededGenerator(state: seed)
        var admitted: [Int64] = []
        var now: Int64 = 1
        var refusals = 0
        for _ in 0..<20_000 {
            let inside = admitted.suffix(limit).filter { now - $0 < window }
            switch limiter.admit(1, at: MonotonicInstant(nanoseconds: now)) {
            case .admitted:
                if inside.count >= limit { Issue.record("admitted over the limit at \(now)") }
                admitted.append(now)
                now += Int64(random.next() % 3)
            case .refused(let retryAfter):
                refusals += 1
                let wait = retryAfter.wholeNanoseconds
                let exact = (admitted.suffix(limit).first ?? 0) + window - now
                let tooEarly = limiter.admit(1, at: MonotonicInstant(nanoseconds: now + wait - 1))
                guard wait >= exact, wait < exact + 100, tooEarly == .refused(retryAfter: .nanoseconds(1)) else {
                    Issue.record("refused for \(wait) at \(now), not for \(exact); just before its end: \(tooEarly)")
                    return
                }
                now += wait
            case .crowded:
                Issue.record("crowded by one key")
            }
        }
        #expect(refusals > 1000)
    }

    @Test func `a key that was silent for longer than ticks can count starts anew`() {
        let limiter = RateLimiter<Int>(limit: 2, window: .seconds(60), maximumKeys: 10)
        var now: Int64 = 0
        // 2^32 ticks of 100 ns are 429.5 s: old stamps would look fresh again around their multiples.
        for silence in [429_496, 429_497, 429_500, 858_993, 858_994, 429_496 * 7] as [Int64] {
            #expect(limiter.admit(1, at: at(now)) == .admitted)
            #expect(limiter.admit(1, at: at(now)) == .admitted)
            #expect(limiter.admit(1, at: at(now)) == .refused(retryAfter: .seconds(60)))
            now += silence
        }
    }
}
