import Limits
import PushModel
import Testing

private func at(_ milliseconds: Int64) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: milliseconds * 1_000_000)
}

private func address(_ number: Int) -> ClientAddress { ClientAddress(ipv4: UInt32(number)) }

extension RateLimiter {
    /// How many of the keys are admitted, one attempt each.
    fileprivate func admitted(_ keys: some Sequence<Key>, at now: MonotonicInstant) -> Int {
        keys.count { admit($0, at: now) == .admitted }
    }
}

/// A key that falls into the same bucket of the same stripe as every other.
private struct Colliding: Hashable {
    var number: Int

    func hash(into hasher: inout Hasher) {}
}

@Suite(.timeLimit(.minutes(1)))
struct RateLimiterMemoryTests {
    @Test func `a hundred thousand other keys do not reset a limit that is used up`() {
        let limiter = RateLimiter<ClientAddress>(limit: 20, window: .seconds(60), maximumKeys: 1_000_000)
        for _ in 0..<20 { #expect(limiter.admit(address(0), at: at(0)) == .admitted) }
        let others = (1...100_000).count { limiter.admit(address($0), at: at(Int64($0 / 10))) == .admitted }
        #expect(others == 100_000)
        #expect(limiter.admit(address(0), at: at(59_999)) == .refused(retryAfter: .milliseconds(1)))
        #expect(limiter.admit(address(0), at: at(60_000)) == .admitted)
    }

    @Test func `a key costs what the promise says`() {
        let limiter = RateLimiter<ClientAddress>(limit: 20, window: .seconds(60), maximumKeys: 1_000_000)
        #expect(limiter.admitted((0..<100_000).map(address), at: at(0)) == 100_000)
        let once = limiter.footprint
        #expect(once.keys == 100_000)
        #expect(once.ringPlaces == 0)
        #expect(once.bytes >= 100_000 * (56 + 4))
        #expect(once.bytes <= 100_000 * 2 * (56 + 8))
        #expect(limiter.admitted((0..<100_000).map(address), at: at(1)) == 100_000)
        #expect(limiter.footprint.ringPlaces == 100_000)
    }

    @Test func `a ring grows to what the limit needs and shrinks when the key goes quiet`() {
        let limiter = RateLimiter<Int>(limit: 1200, window: .seconds(60), maximumKeys: 10)
        for millisecond in 0..<1200 { #expect(limiter.admit(1, at: at(Int64(millisecond))) == .admitted) }
        #expect(limiter.footprint.ringPlaces == 1199)
        for halfMinute in 2..<200 { #expect(limiter.admit(1, at: at(Int64(halfMinute) * 30_000 + 1200)) == .admitted) }
        #expect(limiter.footprint.ringPlaces <= 32)
    }

    @Test func `keys that are over are forgotten in passing, two for each attempt`() {
        let limiter = RateLimiter<Int>(limit: 20, window: .seconds(60), maximumKeys: 1_000_000)
        #expect(limiter.admitted(0..<10_000, at: at(0)) == 10_000)
        #expect(limiter.admitted(10_000..<30_000, at: at(59_999)) == 20_000)
        #expect(limiter.footprint.keys == 30_000)
        #expect(limiter.admitted(30_000..<50_000, at: at(60_000)) == 20_000)
        #expect(limiter.footprint.keys == 40_000)
    }

    @Test func `keys of one hash are told apart, and the last to go takes the arrays with it`() {
        let limiter = RateLimiter<Colliding>(limit: 1, window: .seconds(60), maximumKeys: 1000)
        #expect(limiter.admitted((0..<300).map(Colliding.init), at: at(0)) == 300)
        #expect(limiter.admitted((0..<300).map(Colliding.init), at: at(1)) == 0)
        // Each attempt sweeps out two, so that half of them find themselves forgotten and half find themselves over.
        #expect(limiter.admitted((0..<300).map(Colliding.init), at: at(60_000)) == 300)
        #expect(limiter.footprint.keys == 300)
        let before = limiter.footprint.bytes
        let last = [Colliding(number: 1000)]
        for step in 0..<200 { _ = limiter.admitted(last, at: at(120_000 + Int64(step) * 60_000)) }
        #expect(limiter.footprint.keys == 1)
        #expect(limiter.footprint.bytes < before / 16)
    }

    @Test func `a full table refuses new keys, keeps counting the old ones, and takes new ones as soon as one is over`()
    {
        let limiter = RateLimiter<Int>(limit: 2, window: .seconds(60), maximumKeys: 100)
        for key in 0..<100 { #expect(limiter.admit(key, at: at(Int64(key))) == .admitted) }
        #expect((100..<1000).allSatisfy { limiter.admit($0, at: at(1000)) == .crowded })
        for key in 0..<100 { #expect(limiter.admit(key, at: at(1000)) == .admitted) }
        for key in 0..<100 {
            #expect(limiter.admit(key, at: at(1000)) == .refused(retryAfter: .milliseconds(59_000 + Int64(key))))
        }
        // Only a key's newest attempt decides how long it is remembered.
        #expect(limiter.admit(5000, at: at(60_999)) == .crowded)
        #expect(limiter.admit(5000, at: at(61_000)) == .admitted)
        for key in 5001..<5100 { #expect(limiter.admit(key, at: at(61_000)) == .admitted) }
        #expect(limiter.admit(5100, at: at(61_000)) == .crowded)
        #expect(limiter.footprint.keys == 100)
    }

    @Test func `many threads together get exactly the limit`() async {
        let limiter = RateLimiter<Int>(limit: 1000, window: .seconds(60), maximumKeys: 50)
        let admitted = await withTaskGroup(of: Int.self) { group in
            for task in 0..<8 {
                group.addTask {
                    (0..<5000).reduce(0) { count, step in
                        let now = at(Int64((step * 7 + task) % 100))
                        return limiter.admit(step % 10, at: now) == .admitted ? count + 1 : count
                    }
                }
            }
            return await group.reduce(0, +)
        }
        #expect(admitted == 10 * 1000)
        #expect(limiter.footprint.keys == 10)
    }
}
