import PushModel
import PushServices
import Testing

/// The breaker alone: signs and instants go in, and whether the service is asked comes out.
@Suite(.timeLimit(.minutes(1)))
struct CircuitBreakerTests {
    /// A breaker and a clock that it is handed.
    struct Bench {
        var breaker = CircuitBreaker()
        var now = MonotonicInstant(nanoseconds: 1_000_000_000)
        /// In the middle: no spread.
        var lot = 0.5

        mutating func wait(_ duration: Duration) { now = now.advanced(by: duration) }

        mutating func admit(_ phone: Int = 1) -> CircuitBreaker.Admission {
            breaker.admit(phone: phone, at: now, lot: lot).admission
        }

        @discardableResult
        mutating func end(_ health: Health, _ phone: Int = 1, probe: Int? = nil) -> CircuitBreaker.Change? {
            breaker.conclude(health, probe: probe, phone: phone, at: now, lot: lot)
        }

        /// The number of the probe that may go now.
        mutating func probe() throws -> Int {
            guard case .probe(let number) = admit() else { throw NoProbe() }
            return number
        }

        static func open(_ cause: BreakerCause) throws -> Bench {
            var bench = Bench()
            if cause.isOutage {
                for phone in 1...10 { bench.end(.ailing(cause), phone) }
                bench.wait(.seconds(2))
                bench.end(.ailing(cause), 1)
            } else {
                for phone in 1...20 { bench.end(.refusing(cause), phone) }
            }
            try #require(bench.breaker.open?.cause == cause)
            return bench
        }
    }

    struct NoProbe: Error {}

    @Test func `it is closed at first, and stays so while all goes well`() {
        var bench = Bench()
        for phone in 1...1000 {
            #expect(bench.admit(phone) == .pass)
            #expect(bench.end(.well, phone) == nil)
            bench.wait(.milliseconds(1))
        }
        #expect(bench.breaker.isCalm)
    }

    // MARK: Opening

    @Test(arguments: [
        (BreakerCause.credentials, 3), (.tokenUpdates, 3), (.untrusted, 3), (.notHTTP2, 3), (.proxyRefuses, 3),
        (.foreignProject, 20),
    ])
    func `so many phones that are refused in a row open it`(_ cause: BreakerCause, _ phones: Int) {
        var bench = Bench()
        for phone in 1..<phones { #expect(bench.end(.refusing(cause), phone) == nil) }
        #expect(bench.end(.refusing(cause), phones) == .opened(cause))
        #expect(bench.admit() == .refuse(cause, age: .zero))
    }

    @Test(arguments: BreakerCause.allCases)
    func `one phone alone never opens it, whatever it meets and however long`(_ cause: BreakerCause) {
        var bench = Bench()
        for _ in 0..<1000 {
            #expect(bench.admit(7) == .pass)
            #expect(bench.end(cause.isOutage ? .ailing(cause) : .refusing(cause), 7) == nil)
            bench.wait(.seconds(1))
        }
    }

    @Test(arguments: BreakerCause.allCases)
    func `a success in between begins the row anew`(_ cause: BreakerCause) {
        var bench = Bench()
        for round in 0..<100 {
            for phone in 1..<cause.leastPhones {
                #expect(bench.end(cause.isOutage ? .ailing(cause) : .refusing(cause), round * 100 + phone) == nil)
                bench.wait(.seconds(1))
            }
            bench.end(.well, 0)
        }
    }

    @Test func `refusals of several kinds are not added up`() {
        var bench = Bench()
        for phone in 1...19 { #expect(bench.end(.refusing(.foreignProject), phone) == nil) }
        for phone in 20...21 { #expect(bench.end(.refusing(.credentials), phone) == nil) }
        #expect(bench.end(.refusing(.credentials), 22) == .opened(.credentials))
    }

    @Test(arguments: [BreakerCause.timeout, .unreachable, .unavailable, .proxyFails])
    func `nothing but failures for a while opens it, many at one moment do not`(_ cause: BreakerCause) {
        var bench = Bench()
        for phone in 1...1000 { #expect(bench.end(.ailing(cause), phone) == nil) }
        bench.wait(.milliseconds(1999))
        #expect(bench.end(.ailing(cause), 1001) == nil)
        bench.wait(.milliseconds(1))
        #expect(bench.end(.ailing(cause), 1002) == .opened(cause))
    }

    @Test(arguments: [10, 1000])
    func `failures of one moment stay one event, however long nothing is asked after them`(_ phones: Int) {
        var bench = Bench()
        for phone in 1...phones { #expect(bench.admit(phone) == .pass) }
        bench.wait(.milliseconds(30))
        for phone in 1...phones { #expect(bench.end(.ailing(.unavailable), phone) == nil) }
        bench.wait(.seconds(60))
        // The same phones and others, all at once: each is asked for, and they go well.
        for phone in 1...2000 { #expect(bench.admit(phone) == .pass) }
        bench.wait(.milliseconds(1999))
        #expect(bench.admit(2001) == .pass)
        for phone in 1...2000 { #expect(bench.end(.well, phone) == nil) }
        #expect(bench.breaker.isCalm)
    }

    @Test func `after failures of one moment a phone that waits in vain is enough`() {
        var bench = Bench()
        for phone in 1...100 { bench.end(.ailing(.unavailable), phone) }
        bench.wait(.seconds(5))
        for phone in 101...200 { #expect(bench.admit(phone) == .pass) }
        bench.wait(.milliseconds(1999))
        #expect(bench.admit(201) == .pass)
        bench.wait(.milliseconds(1))
        #expect(bench.admit(202) == .refuse(.unavailable, age: .zero))
    }

    @Test func `a second failure after a pause opens it, and so does a wait of two seconds`() {
        for waits in [false, true] {
            var bench = Bench()
            for phone in 1...10 { bench.end(.ailing(.unavailable), phone) }
            bench.wait(.seconds(60))
            if waits {
                #expect(bench.admit(3) == .pass)
                bench.wait(.seconds(2))
                #expect(bench.admit(11) == .refuse(.unavailable, age: .zero))
            } else {
                #expect(bench.end(.ailing(.unavailable), 11) == .opened(.unavailable))
            }
        }
    }

    @Test func `an answer of any kind ends a row of failures`() {
        for sign in [Health.answering, .refusing(.credentials), .well] {
            var bench = Bench()
            for phone in 1...10 { bench.end(.ailing(.unreachable), phone) }
            bench.end(sign, 11)
            bench.wait(.seconds(60))
            #expect(bench.end(.ailing(.unreachable), 12) == nil)
        }
    }

    @Test func `ten phones that wait for two seconds, with nothing heard meanwhile, open it for the eleventh`() {
        var bench = Bench()
        for phone in 1...10 {
            #expect(bench.admit(phone) == .pass)
            bench.wait(.milliseconds(10))
        }
        bench.wait(.milliseconds(1989))
        #expect(bench.admit(11) == .pass)
        bench.wait(.milliseconds(1))
        let (admission, change) = bench.breaker.admit(phone: 12, at: bench.now, lot: 0.5)
        #expect(admission == .refuse(.timeout, age: .zero))
        #expect(change == .opened(.timeout))
    }

    @Test func `a push from which nothing was learned waits no more`() {
        var bench = Bench()
        for phone in 1...10 {
            #expect(bench.admit(phone) == .pass)
            bench.end(.unknown, phone)
        }
        #expect(bench.breaker.isCalm)
        bench.wait(.seconds(60))
        #expect(bench.admit(11) == .pass)
    }

    @Test func `of a phone with two pushes the one still waits when the other has ended, and a failure stays one`() {
        var bench = Bench()
        for phone in 1...9 { #expect(bench.admit(phone) == .pass) }
        #expect(bench.admit(1) == .pass)
        bench.end(.unknown, 1)
        bench.end(.ailing(.timeout), 10)
        #expect(bench.admit(10) == .pass)
        bench.end(.unknown, 10)
        bench.wait(.seconds(2))
        #expect(bench.breaker.admit(phone: 11, at: bench.now, lot: 0.5).change == .opened(.timeout))
    }

    @Test func `a burst right after one phone's long silence does not open it`() {
        var bench = Bench()
        _ = bench.admit(1)
        bench.wait(.seconds(15))
        bench.end(.ailing(.timeout), 1)
        for phone in 2...500 { #expect(bench.admit(phone) == .pass) }
        bench.wait(.milliseconds(100))
        bench.end(.well, 2)
        #expect(bench.admit(501) == .pass)
        #expect(bench.breaker.open == nil)
    }

    // MARK: Half-open

    @Test(arguments: [
        (BreakerCause.unreachable, [1000, 2000, 3000, 3000]), (.timeout, [1000, 2000, 3000]),
        (.unavailable, [1000, 2000, 3000]), (.proxyFails, [1000, 2000, 3000]),
        (.untrusted, [5000, 10_000, 20_000, 40_000, 60_000, 60_000]), (.notHTTP2, [5000, 10_000]),
        (.proxyRefuses, [5000, 10_000]),
        (.credentials, [60_000, 120_000, 240_000, 300_000, 300_000]),
        (.foreignProject, [60_000, 120_000, 240_000, 300_000]), (.tokenUpdates, [60_000, 60_000, 60_000]),
    ])
    func `after each pause one probe goes and no more, and each that fails makes the pause longer`(
        _ cause: BreakerCause, _ pauses: [Int]
    ) throws {
        var bench = try Bench.open(cause)
        for pause in pauses {
            bench.wait(.milliseconds(pause - 1))
            guard case .refuse = bench.admit() else {
                Issue.record("a probe before \(pause) ms were over")
                return
            }
            bench.wait(.milliseconds(1))
            let probe = try bench.probe()
            for phone in 2...20 {
                guard case .refuse(cause, _) = bench.admit(phone) else {
                    Issue.record("a second probe")
                    return
                }
            }
            #expect(bench.end(cause.isOutage ? .ailing(cause) : .refusing(cause), probe: probe) == nil)
        }
    }

    @Test(arguments: BreakerCause.allCases)
    func `the first success closes it, and all pass at once`(_ cause: BreakerCause) throws {
        var bench = try Bench.open(cause)
        bench.wait(.seconds(300))
        let probe = try bench.probe()
        #expect(bench.end(.well, probe: probe) == .closed(cause, after: .seconds(300)))
        #expect((1...100).allSatisfy { bench.admit($0) == .pass })
    }

    @Test(arguments: BreakerCause.allCases)
    func `a success of a push that was under way closes it too`(_ cause: BreakerCause) throws {
        var bench = try Bench.open(cause)
        #expect(bench.end(.well) == .closed(cause, after: .zero))
    }

    @Test(arguments: BreakerCause.allCases)
    func `failures of pushes that were under way neither prolong nor reopen it`(_ cause: BreakerCause) throws {
        var bench = try Bench.open(cause)
        for phone in 1...100 { #expect(bench.end(.ailing(.timeout), phone) == nil) }
        for phone in 1...100 { #expect(bench.end(.refusing(.credentials), phone) == nil) }
        bench.wait(cause.pause(afterProbes: 0))
        _ = try bench.probe()
    }

    @Test(arguments: [(BreakerCause.timeout, true), (.unreachable, true), (.credentials, false), (.untrusted, false)])
    func `an answer that says nothing of credentials ends an outage and nothing else`(
        _ cause: BreakerCause, _ closes: Bool
    ) throws {
        var bench = try Bench.open(cause)
        bench.wait(cause.pause(afterProbes: 0))
        let probe = try bench.probe()
        let change = bench.end(.answering, probe: probe)
        #expect((change != nil) == closes)
    }

    @Test func `a probe that never comes back makes room for the next`() throws {
        var bench = try Bench.open(.timeout)
        bench.wait(.seconds(1))
        let lost = try bench.probe()
        bench.wait(.milliseconds(2999))
        guard case .refuse = bench.admit() else { throw NoProbe() }
        bench.wait(.milliseconds(1))
        let probe = try bench.probe()
        #expect(probe != lost)
        // The lost one's end changes nothing for the new one.
        bench.end(.ailing(.timeout), probe: lost)
        #expect(bench.end(.well, probe: probe) != nil)
    }

    @Test func `a probe from which nothing was learned is followed by another`() throws {
        var bench = try Bench.open(.credentials)
        bench.wait(.seconds(60))
        let probe = try bench.probe()
        bench.end(.unknown, probe: probe)
        _ = try bench.probe()
    }

    @Test(arguments: [
        (BreakerCause.unavailable, BreakerCause.foreignProject), (.timeout, .credentials),
        (.unreachable, .tokenUpdates), (.credentials, .foreignProject), (.proxyRefuses, .credentials),
    ])
    func `a probe that is refused for another cause ends the first, and counts as one phone does at any other time`(
        first: BreakerCause, second: BreakerCause
    ) throws {
        var bench = try Bench.open(first)
        for _ in 0..<5 {
            bench.wait(.seconds(360))
            let probe = try bench.probe()
            bench.end(first.isOutage ? .ailing(first) : .refusing(first), probe: probe)
        }
        bench.wait(.seconds(360))
        let probe = try bench.probe()
        guard case .closed(first, _) = bench.end(.refusing(second), probe: probe) else {
            Issue.record("one phone's refusal shuts all others out")
            return
        }
        #expect((1...100).allSatisfy { bench.admit($0) == .pass })
        for phone in 2..<second.leastPhones { #expect(bench.end(.refusing(second), phone) == nil) }
        #expect(bench.end(.refusing(second), second.leastPhones) == .opened(second))
        bench.wait(second.pause(afterProbes: 0))
        _ = try bench.probe()
    }

    @Test(arguments: [BreakerCause.untrusted, .notHTTP2, .proxyRefuses])
    func `a probe that somebody on the way refuses shows nothing of the service`(_ cause: BreakerCause) throws {
        var bench = try Bench.open(.credentials)
        bench.wait(.seconds(60))
        let probe = try bench.probe()
        #expect(bench.end(.refusing(cause), probe: probe) == nil)
        #expect(bench.breaker.open?.cause == cause)
    }

    @Test func `a probe whose connection is refused as a whole has met the same refusal again`() throws {
        var bench = try Bench.open(.credentials)
        for pause in [60, 120, 240] {
            bench.wait(.seconds(pause))
            let probe = try bench.probe()
            // The connection's goodbye, and then what it does to the push on it.
            #expect(bench.end(.refusing(.credentials), 1000) == nil)
            #expect(bench.end(.ailing(.unreachable), probe: probe) == nil)
            #expect(bench.breaker.open?.cause == .credentials)
        }
        bench.wait(.seconds(299))
        guard case .refuse(.credentials, _) = bench.admit() else { throw NoProbe() }
        bench.wait(.seconds(1))
        // Without a goodbye it is an outage by now.
        bench.end(.ailing(.unreachable), probe: try bench.probe())
        #expect(bench.breaker.open?.cause == .unreachable)
    }

    // MARK: Small print

    @Test func `a probe that is merely answered makes the next pause no longer`() throws {
        var bench = try Bench.open(.credentials)
        for _ in 0..<3 {
            bench.wait(.seconds(60))
            let probe = try bench.probe()
            #expect(bench.end(.answering, probe: probe) == nil)
        }
        bench.wait(.seconds(60))
        _ = try bench.probe()
    }

    @Test func `a probe of which nothing was learned is followed by another at once`() throws {
        var bench = try Bench.open(.credentials)
        bench.wait(.seconds(60))
        for _ in 0..<5 { bench.end(.unknown, probe: try bench.probe()) }
        // None of them counted as one that failed.
        bench.end(.refusing(.credentials), probe: try bench.probe())
        bench.wait(.seconds(120))
        _ = try bench.probe()
    }

    @Test func `a probe that does not come back makes the next pause longer`() throws {
        var bench = try Bench.open(.credentials)
        bench.wait(.seconds(60))
        _ = try bench.probe()
        bench.wait(.seconds(60))
        _ = try bench.probe()
        bench.wait(.seconds(119))
        guard case .refuse = bench.admit() else { throw NoProbe() }
        bench.wait(.seconds(1))
        _ = try bench.probe()
    }

    @Test func `what an outage was called before a sign of life is not what the next one is called`() {
        var bench = Bench()
        bench.end(.ailing(.unreachable), 1)
        bench.end(.answering, 2)
        for phone in 1...10 { _ = bench.admit(phone) }
        bench.wait(.seconds(2))
        #expect(bench.breaker.admit(phone: 11, at: bench.now, lot: bench.lot).change == .opened(.timeout))
    }

    @Test func `refusals before somebody acted do not count after it`() {
        var bench = Bench()
        for phone in 1...2 { #expect(bench.end(.refusing(.credentials), phone) == nil) }
        #expect(bench.breaker.startAnew(at: bench.now) == nil)
        for phone in 3...4 { #expect(bench.end(.refusing(.credentials), phone) == nil) }
        #expect(bench.end(.refusing(.credentials), 5) == .opened(.credentials))
        #expect(bench.breaker.startAnew(at: bench.now) == .closed(.credentials, after: .zero))
        #expect(bench.breaker.isCalm)
    }

    @Test func `a phone of which one push ended waits from then on, if more of its pushes wait`() {
        var bench = Bench()
        for phone in 1...10 { for _ in 0..<2 { _ = bench.admit(phone) } }
        bench.wait(.milliseconds(1900))
        // Nothing is learned of one of its pushes: the other one has waited since now, for all one knows.
        bench.end(.unknown, 10)
        bench.wait(.milliseconds(200))
        #expect(bench.admit(11) == .pass)
        bench.wait(.milliseconds(1800))
        #expect(bench.breaker.admit(phone: 12, at: bench.now, lot: bench.lot).change == .opened(.timeout))
    }

    // MARK: Connections

    @Test func `what may have been about one connection is tried by another one at once, and then no sooner for more`()
        throws
    {
        var bench = try Bench.open(.tokenUpdates)
        bench.breaker.connected(at: bench.now)
        let probe = try bench.probe()
        #expect(bench.end(.refusing(.tokenUpdates), probe: probe) == nil)
        // Each probe that fails has its connection replaced. That must not go round and round.
        for _ in 0..<10 {
            bench.breaker.connected(at: bench.now)
            guard case .refuse(.tokenUpdates, _) = bench.admit() else { throw NoProbe() }
        }
        bench.wait(.seconds(60))
        let last = try bench.probe()
        #expect(bench.end(.accepting, probe: last) == .closed(.tokenUpdates, after: .seconds(60)))
    }

    @Test(arguments: [
        (BreakerCause.unreachable, true), (.proxyFails, true), (.proxyRefuses, true), (.untrusted, true),
        (.notHTTP2, false), (.timeout, false), (.unavailable, false), (.credentials, false), (.foreignProject, false),
        (.tokenUpdates, true),
    ])
    func `once a connection stands, whatever was for want of one is probed at once`(
        _ cause: BreakerCause, _ isProbed: Bool
    ) throws {
        var bench = try Bench.open(cause)
        bench.breaker.connected(at: bench.now)
        guard isProbed else {
            guard case .refuse = bench.admit() else { throw NoProbe() }
            return
        }
        let probe = try bench.probe()
        // One at a time all the same.
        bench.breaker.connected(at: bench.now)
        guard case .refuse = bench.admit() else { throw NoProbe() }
        #expect(bench.end(.well, probe: probe) != nil)
        bench.breaker.connected(at: bench.now)
        #expect(bench.breaker.isCalm)
    }

    @Test(arguments: [(0.0, 800), (0.5, 1000), (1.0, 1200)])
    func `the lot spreads the probes of many relays`(_ lot: Double, _ pause: Int) {
        var bench = Bench()
        bench.lot = lot
        for phone in 1...10 { bench.end(.ailing(.unreachable), phone) }
        bench.wait(.seconds(2))
        bench.end(.ailing(.unreachable), 1)
        bench.wait(.milliseconds(pause - 1))
        if case .probe = bench.admit() { Issue.record("too early") }
        bench.wait(.milliseconds(1))
        if case .refuse = bench.admit() { Issue.record("too late") }
    }

    // MARK: What senders are told

    @Test(arguments: [
        (BreakerCause.credentials, DeliveryOutcome.deferred(.credentials, retryAfter: .seconds(300))),
        (.foreignProject, .deferred(.credentials, retryAfter: .seconds(300))),
        (.tokenUpdates, .deferred(.serviceThrottled, retryAfter: .seconds(1200))),
        (.untrusted, .failed(.unreachable, retryAfter: .seconds(60))),
        (.notHTTP2, .failed(.unreachable, retryAfter: .seconds(60))),
        (.proxyRefuses, .failed(.unreachable, retryAfter: .seconds(60))),
        (.proxyFails, .failed(.unreachable, retryAfter: .seconds(10))),
        (.unreachable, .failed(.unreachable, retryAfter: .seconds(10))),
        (.timeout, .failed(.timeout, retryAfter: .seconds(10))),
        (.unavailable, .deferred(.serviceUnavailable, retryAfter: .seconds(10))),
    ])
    func `each cause has its reason and its wait`(_ cause: BreakerCause, _ outcome: DeliveryOutcome) {
        #expect(cause.outcome(age: .zero, lot: 0) == outcome)
        #expect(cause.outcome(age: .zero, lot: 1) != outcome)
    }

    @Test func `after twenty minutes nobody is sent away for twenty more`() {
        let told = BreakerCause.tokenUpdates.outcome(age: .seconds(1300), lot: 0)
        #expect(told == .deferred(.serviceThrottled, retryAfter: .seconds(60)))
    }
}
