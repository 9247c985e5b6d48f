import PushModel
import PushServices
import Testing

/// When an access token is asked for, used and given up.
@Suite(.timeLimit(.minutes(1)))
struct AccessTokenCycleTests {
    static let start = MonotonicInstant(nanoseconds: 0)
    static func at(_ seconds: Int) -> MonotonicInstant { start.advanced(by: .seconds(seconds)) }

    @Test func `the first who needs one asks, the others wait`() {
        var cycle = AccessTokenCycle()
        #expect(cycle.need(at: Self.start) == .requestAndWait)
        #expect(cycle.need(at: Self.start) == .wait)
        #expect(cycle.need(at: Self.at(2)) == .wait)
        cycle.received(AccessToken("a"), lifetime: .seconds(3599), at: Self.start)
        #expect(cycle.need(at: Self.start) == .use(AccessToken("a")))
    }

    @Test func `it is renewed five minutes ahead, by one, while all go on with the old one`() {
        var cycle = AccessTokenCycle()
        _ = cycle.need(at: Self.start)
        cycle.received(AccessToken("a"), lifetime: .seconds(3600), at: Self.start)
        #expect(cycle.need(at: Self.at(3299)) == .use(AccessToken("a")))
        #expect(cycle.need(at: Self.at(3300)) == .useAndRequest(AccessToken("a")))
        #expect(cycle.need(at: Self.at(3301)) == .use(AccessToken("a")))
        #expect(cycle.need(at: Self.at(3584)) == .use(AccessToken("a")))
        #expect(cycle.need(at: Self.at(3585)) == .wait)
    }

    @Test func `a renewal that fails is tried again after a pause, and the old one serves meanwhile`() {
        var cycle = AccessTokenCycle()
        _ = cycle.need(at: Self.start)
        cycle.received(AccessToken("a"), lifetime: .seconds(3600), at: Self.start)
        _ = cycle.need(at: Self.at(3300))
        cycle.failed(.unavailable, lot: 0, at: Self.at(3300))
        #expect(cycle.need(at: Self.at(3300)) == .use(AccessToken("a")))
        #expect(cycle.need(at: Self.at(3301)) == .useAndRequest(AccessToken("a")))
    }

    @Test func `while nobody lacks a token, pauses double up to a minute`() {
        var cycle = AccessTokenCycle()
        _ = cycle.need(at: Self.start)
        cycle.received(AccessToken("a"), lifetime: .seconds(1200), at: Self.start)
        var now = 900
        for expected in [1, 2, 4, 8, 16, 32, 60, 60] {
            #expect(cycle.need(at: Self.at(now)) == .useAndRequest(AccessToken("a")))
            cycle.failed(.unreachable, lot: 0, at: Self.at(now))
            #expect(cycle.need(at: Self.at(now + expected - 1)) == .use(AccessToken("a")))
            now += expected
        }
    }

    @Test(arguments: [OAuthFailure.unreachable, .unavailable, .malformed])
    func `without a token an outage is looked at every three seconds, and senders come back as to any outage`(
        _ failure: OAuthFailure
    ) {
        var cycle = AccessTokenCycle()
        var now = 0
        for (pause, told) in [(1, 1), (2, 1), (3, 10), (3, 10), (3, 10)] {
            #expect(cycle.need(at: Self.at(now)) == .requestAndWait)
            cycle.failed(failure, lot: 0, at: Self.at(now))
            #expect(cycle.need(at: Self.at(now + pause - 1)) == .refused(failure, retryAfter: .seconds(told)))
            now += pause
        }
        #expect(cycle.need(at: Self.at(now)) == .requestAndWait)
        cycle.failed(failure, lot: 0.5, at: Self.at(now))
        #expect(cycle.wait(at: Self.at(now)) == .seconds(15))
        // A tenth earlier, by that lot.
        #expect(cycle.need(at: Self.at(now + 2)) == .refused(failure, retryAfter: .seconds(15)))
        #expect(cycle.need(at: Self.at(now).advanced(by: .milliseconds(2700))) == .requestAndWait)
    }

    @Test func `as soon as the old token is out, the pause is a short one`() {
        var cycle = AccessTokenCycle()
        _ = cycle.need(at: Self.start)
        cycle.received(AccessToken("a"), lifetime: .seconds(1200), at: Self.start)
        for now in [1000, 1100, 1183] {
            #expect(cycle.need(at: Self.at(now)) == .useAndRequest(AccessToken("a")))
            cycle.failed(.unavailable, lot: 0, at: Self.at(now))
        }
        #expect(cycle.need(at: Self.at(1184)) == .use(AccessToken("a")))
        #expect(cycle.need(at: Self.at(1185)) == .refused(.unavailable, retryAfter: .seconds(10)))
        #expect(cycle.need(at: Self.at(1186)) == .requestAndWait)
    }

    @Test func `one that hung has had its pause while it hung`() {
        var cycle = AccessTokenCycle()
        #expect(cycle.need(at: Self.start) == .requestAndWait)
        #expect(cycle.need(at: Self.at(14)) == .wait)
        cycle.failed(.unreachable, lot: 0, at: Self.at(15))
        #expect(cycle.wait(at: Self.at(15)) == .zero)
        #expect(cycle.need(at: Self.at(15)) == .requestAndWait)
        // It took two seconds of three.
        cycle.failed(.unavailable, lot: 0, at: Self.at(16))
        #expect(cycle.need(at: Self.at(17)) == .requestAndWait)
        cycle.failed(.unavailable, lot: 0, at: Self.at(19))
        #expect(cycle.need(at: Self.at(19)) == .refused(.unavailable, retryAfter: .seconds(10)))
        #expect(cycle.need(at: Self.at(20)) == .requestAndWait)
    }

    @Test func `a refused account is asked for once a minute`() {
        var cycle = AccessTokenCycle()
        _ = cycle.need(at: Self.start)
        cycle.failed(.refused, lot: 0, at: Self.start)
        #expect(cycle.need(at: Self.at(59)) == .refused(.refused, retryAfter: .seconds(1)))
        #expect(cycle.need(at: Self.at(60)) == .requestAndWait)
    }

    @Test func `whom FCM refused a token asks for another, unless there is a newer one; nobody else is held up`() {
        var cycle = AccessTokenCycle()
        let (old, new) = (AccessToken("a"), AccessToken("b"))
        _ = cycle.need(at: Self.start)
        cycle.received(new, lifetime: .seconds(3600), at: Self.start)
        #expect(cycle.need(insteadOf: old, at: Self.start) == .use(new))
        #expect(cycle.need(insteadOf: new, at: Self.start) == .requestAndWait)
        #expect(cycle.need(insteadOf: new, at: Self.start) == .wait)
        #expect(cycle.need(at: Self.start) == .use(new))
        cycle.failed(.unavailable, lot: 0, at: Self.start)
        #expect(cycle.need(insteadOf: new, at: Self.start) == .use(new))
        #expect(cycle.need(at: Self.start) == .use(new))
        #expect(cycle.need(insteadOf: new, at: Self.at(1)) == .requestAndWait)
    }

    @Test(arguments: [OAuthFailure.unreachable, .unavailable, .malformed, .refused, .clock])
    func `whatever becomes of a renewal, the token there is serves to its end`(_ failure: OAuthFailure) {
        var cycle = AccessTokenCycle()
        _ = cycle.need(at: Self.start)
        cycle.received(AccessToken("a"), lifetime: .seconds(3600), at: Self.start)
        var now = 3300
        while now < 3585 {
            if cycle.need(at: Self.at(now)) == .useAndRequest(AccessToken("a")) {
                cycle.failed(failure, lot: 0.5, at: Self.at(now))
            }
            #expect(cycle.need(at: Self.at(now)) == .use(AccessToken("a")))
            now += 1
        }
        #expect(cycle.need(at: Self.at(3586)) != .use(AccessToken("a")))
    }

    @Test(arguments: [
        (OAuthFailure.unavailable, 20), (.unreachable, 20), (.malformed, 20), (.refused, 60), (.clock, 60),
    ])
    func `nobody is told to wait for longer than a minute, whatever the lot`(_ failure: OAuthFailure, _ longest: Int) {
        for lot in [0, 0.25, 0.5, 0.75, 0.999] {
            var cycle = AccessTokenCycle()
            for round in 0..<12 {
                let now = Self.at(round * 100)
                _ = cycle.need(at: now)
                cycle.failed(failure, lot: lot, at: now)
                #expect(cycle.wait(at: now) <= .seconds(longest))
                #expect(cycle.wait(at: now) > .zero)
            }
        }
    }

    @Test func `a token of one minute is used for most of it`() {
        var cycle = AccessTokenCycle()
        _ = cycle.need(at: Self.start)
        cycle.received(AccessToken("a"), lifetime: .seconds(60), at: Self.start)
        #expect(cycle.need(at: Self.at(29)) == .use(AccessToken("a")))
        #expect(cycle.need(at: Self.at(30)) == .useAndRequest(AccessToken("a")))
    }
}
