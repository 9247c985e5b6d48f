import PushModel
import PushServices
import Testing

/// How fast a project may send after Google has said that it sends too much.
@Suite(.timeLimit(.minutes(1)))
struct SendPaceTests {
    /// A pace and a clock.
    private struct Bench {
        var pace = SendPace()
        var now = MonotonicInstant(nanoseconds: 3_000_000_000)

        mutating func wait(_ duration: Duration) { now = now.advanced(by: duration) }

        /// As many as may go of so many a second, for so long, evenly; gives how many went.
        mutating func send(_ perSecond: Int, for duration: Duration) -> Int {
            var went = 0
            for _ in 0..<Int(duration / .seconds(1) * Double(perSecond)) {
                wait(.seconds(1) / perSecond)
                guard pace.admit(at: now, lot: 0).wait == nil else { continue }
                pace.sent(at: now)
                went += 1
            }
            return went
        }

        /// Google refuses a push that left just now.
        mutating func refused(_ wait: Duration? = nil, phone: Int = 1, isNamed: Bool = true) -> SendPace.Change? {
            pace.throttled(phone: phone, isNamed: isNamed, sentAt: now, wait: wait, at: now)
        }

        var limit: Double? { pace.limit(at: now) }

        /// Whether about so many may go; to the push nobody counts.
        func allows(_ perSecond: Double) -> Bool { limit.map { abs($0 - perSecond) <= perSecond / 50 } ?? false }
    }

    @Test func `while Google has no objection everything goes`() {
        var bench = Bench()
        #expect(bench.send(1000, for: .seconds(60)) == 60_000)
        #expect(bench.limit == nil && !bench.pace.isHeld)
    }

    @Test(arguments: [1, 5, 60, 600])
    func `half of what went may go`(seconds: Int) {
        var bench = Bench()
        _ = bench.send(100, for: .seconds(seconds))
        let change = bench.refused()
        #expect(change == bench.limit.map { .halved(perSecond: $0) })
        #expect(bench.allows(50))
        for demand in [1000, 60] {
            let went = bench.send(demand, for: .seconds(10))
            #expect((490...510).contains(went))
        }
        // What goes anyway is not slowed down, and saves up no more than a second's.
        #expect(bench.send(20, for: .seconds(10)) == 200)
        #expect(bench.send(1000, for: .seconds(1)) <= 100)
    }

    @Test(
        arguments: [
            (Duration?.none, 60), (.zero, 1), (.milliseconds(1), 1), (.seconds(30), 30), (.seconds(86_400), 300),
        ] as [(Duration?, Int)])
    func `it stays so as long as Google asks, within bounds, and is halved no further meanwhile`(
        _ wait: Duration?, _ seconds: Int
    ) {
        var bench = Bench()
        _ = bench.send(100, for: .seconds(60))
        let sentBefore = bench.now
        _ = bench.refused(wait)
        bench.wait(.seconds(seconds) - .milliseconds(1))
        #expect(bench.allows(50))
        #expect(bench.refused(wait) == nil)
        bench.wait(.seconds(10))
        #expect((bench.limit ?? 0) > 60)
        // Nor by what comes back late of the time before.
        let late = bench.pace.throttled(phone: 1, isNamed: true, sentAt: sentBefore, wait: wait, at: bench.now)
        #expect(late == nil)
        #expect(bench.refused(wait) != nil)
    }

    @Test(arguments: [(0, 50.0), (15, 75), (30, 100), (60, 150), (89, 198)])
    func `then it grows, as from nothing to the old rate in a minute`(seconds: Int, limit: Double) {
        var bench = Bench()
        _ = bench.send(100, for: .seconds(60))
        _ = bench.refused()
        bench.wait(.seconds(60 + seconds))
        #expect(bench.allows(limit))
    }

    @Test func `at twice the old rate it is over`() {
        var bench = Bench()
        _ = bench.send(100, for: .seconds(60))
        _ = bench.refused()
        bench.wait(.seconds(60 + 91))
        let (wait, change) = bench.pace.admit(at: bench.now, lot: 0)
        #expect(wait == nil && change == .lifted)
        #expect(bench.limit == nil && !bench.pace.isHeld)
    }

    @Test func `another objection halves what went since, not what was allowed`() {
        var bench = Bench()
        _ = bench.send(100, for: .seconds(60))
        _ = bench.refused()
        // Ten a second, where fifty and more may.
        _ = bench.send(10, for: .seconds(75))
        _ = bench.refused()
        #expect(bench.allows(5))
    }

    @Test func `however often Google objects, one a second goes`() {
        var bench = Bench()
        for _ in 0..<20 {
            _ = bench.send(100, for: .seconds(2))
            _ = bench.refused(.seconds(1))
        }
        #expect(bench.limit == 1)
        let went = bench.send(100, for: .milliseconds(900))
        #expect(went <= 1)
    }

    @Test(arguments: [(0.0, 60), (1.0, 70)])
    func `whoever may not go is told to come back when it may be better, not all at once`(lot: Double, seconds: Int) {
        var bench = Bench()
        _ = bench.refused()
        let first = bench.pace.admit(at: bench.now, lot: lot).wait
        #expect(first == .seconds(seconds))
        bench.wait(.seconds(55))
        _ = bench.pace.admit(at: bench.now, lot: lot)
        let second = bench.pace.admit(at: bench.now, lot: 0).wait
        #expect(second == .seconds(10))
    }

    // MARK: Whose quota it is

    struct Doubt: Sendable {
        /// Pushes in the last seconds, and how many of them were refused, to so many phones.
        var pushes: Int
        var refused: Int
        var phones: Int
        var isBelieved: Bool
    }

    @Test(arguments: [
        Doubt(pushes: 1000, refused: 1000, phones: 1, isBelieved: false),
        Doubt(pushes: 1000, refused: 1000, phones: 2, isBelieved: false),
        Doubt(pushes: 1000, refused: 1000, phones: 3, isBelieved: true),
        Doubt(pushes: 3, refused: 3, phones: 3, isBelieved: true),
        Doubt(pushes: 1000, refused: 250, phones: 100, isBelieved: false),
        Doubt(pushes: 1000, refused: 252, phones: 100, isBelieved: true),
    ])
    func `where Google names nobody, it takes several phones and many pushes`(_ doubt: Doubt) {
        var bench = Bench()
        for _ in 0..<doubt.pushes { bench.pace.sent(at: bench.now) }
        for number in 0..<doubt.refused { _ = bench.refused(phone: number % doubt.phones, isNamed: false) }
        #expect(bench.pace.isHeld == doubt.isBelieved)
    }

    @Test func `what was a while ago is forgotten`() {
        var bench = Bench()
        for phone in 1...2 { #expect(bench.refused(phone: phone, isNamed: false) == nil) }
        bench.wait(.seconds(11))
        #expect(bench.refused(phone: 3, isNamed: false) == nil)
    }

    @Test func `one phone that is refused again and again keeps nobody else's refusal alive`() {
        var bench = Bench()
        for other in 2...20 {
            #expect(bench.refused(phone: other, isNamed: false) == nil)
            for _ in 0..<4 {
                bench.wait(.seconds(4))
                #expect(bench.refused(phone: 1, isNamed: false) == nil)
            }
        }
    }

    // MARK: Against a Google

    /// A quota as Google words it: so many in any minute, refused ones not counted.
    private struct Quota {
        var perMinute: Int
        var accepted: [MonotonicInstant] = []
        var refused = 0

        mutating func takes(at now: MonotonicInstant) -> Bool {
            while let oldest = accepted.first, now.duration(since: oldest) >= .seconds(60) { accepted.removeFirst() }
            guard accepted.count < perMinute else {
                refused += 1
                return false
            }
            accepted.append(now)
            return true
        }
    }

    @Test(arguments: [20, 40, 200])
    func `a demand far above the quota is served nearly as the quota allows, and little is refused by Google`(
        perSecond: Int
    ) {
        var bench = Bench()
        var quota = Quota(perMinute: 600)
        var (accepted, sent) = (0, 0)
        for _ in 0..<(perSecond * 60 * 30) {
            bench.wait(.seconds(1) / perSecond)
            guard bench.pace.admit(at: bench.now, lot: 0).wait == nil else { continue }
            bench.pace.sent(at: bench.now)
            sent += 1
            if quota.takes(at: bench.now) {
                accepted += 1
            } else {
                _ = bench.refused()
            }
        }
        // Half an hour of 600 a minute are 18,000; without a pace all the rest would be refused.
        #expect(accepted > 18_000 * 6 / 10, "\(accepted) of \(sent)")
        #expect(quota.refused < (perSecond * 60 * 30 - 18_000) / 20, "\(quota.refused)")
    }
}

/// The same as a whole service sees it.
@Suite(.timeLimit(.minutes(1)))
struct ProjectPaceTests {
    static let ofProject = FCMAnswerTests.google(
        "RESOURCE_EXHAUSTED",
        details: #"{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"subject":"project:p"}]}"#)

    @Test func `pushes beyond the pace are refused without asking, and the rate grows back to what it was`() async {
        let google = ScriptedService.google { _, _ in answer(200) }
        /// What Google sees of ten pushes a second for so long, a second's share.
        func rate(_ seconds: Int) async -> Double {
            let before = google.pool.calls.count
            for phone in 0..<(10 * seconds) {
                google.time.advance(by: .milliseconds(100))
                _ = await google.push(to: phone)
            }
            return Double(google.pool.calls.count - before) / Double(seconds)
        }
        #expect(await rate(60) == 10)
        google.pool.follow { _, _ in answer(429, Self.ofProject, retryAfter: "30") }
        #expect(await google.push() == .deferred(.serviceThrottled, retryAfter: .seconds(30)))
        google.pool.follow { _, _ in answer(200) }
        let held = await rate(30)
        #expect((4.5...5.5).contains(held), "\(held)")
        #expect(google.pace.heldBack >= 140)
        let growing = await rate(15)
        #expect((5.5...7.5).contains(growing), "\(growing)")
        _ = await rate(15)
        #expect(await rate(60) == 10)
        #expect(google.pace.limit(at: google.time.clocks.monotonic()) == nil)
        #expect(google.log.changes.isEmpty)
    }

    @Test func `a push that is not sent for it says when to come back, and is nothing against the service`() async {
        let google = ScriptedService.google { _, _ in answer(429, Self.ofProject) }
        _ = await google.push()
        for phone in 0..<100 {
            guard case .deferred(.serviceThrottled, let wait) = await google.push(to: phone) else {
                Issue.record("not told as throttled")
                return
            }
            #expect((.seconds(60) ... .seconds(70)).contains(wait))
        }
        #expect(google.pool.calls.count == 1)
        #expect(google.log.changes.isEmpty)
    }

    @Test(arguments: [("device:1", false), ("project:p", true)])
    func `a quota of one phone slows down nobody`(_ subject: String, _ slows: Bool) async {
        let body = FCMAnswerTests.google(
            "RESOURCE_EXHAUSTED",
            details:
                #"{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"subject":"\#(subject)"}]}"#)
        let google = ScriptedService.google { _, _ in answer(429, body) }
        for phone in 0..<10 { _ = await google.push(to: phone) }
        #expect((google.pool.calls.count < 10) == slows)
    }
}
