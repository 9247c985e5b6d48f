import Testing

@testable import HTTP2Client

@Suite(.timeLimit(.minutes(1)))
struct PoolPlanTests {
    private let start = Moment(nanoseconds: 1_000_000_000)
    private let refused = Unreachable.connectFailed(errno: 111)

    private func view(
        connecting: Int = 0, usable: Int = 0, toReplace: Int = 0, hasRoom: Bool = false, waitingSince: Moment? = nil
    ) -> PoolPlan.View {
        PoolPlan.View(
            connecting: connecting, usable: usable, toReplace: toReplace, hasRoom: hasRoom, waitingSince: waitingSince)
    }

    private func plan(_ change: (inout HTTP2PoolConfiguration) -> Void = { _ in }) -> PoolPlan {
        var configuration = HTTP2PoolConfiguration()
        change(&configuration)
        return PoolPlan(configuration)
    }

    @Test func `nothing is opened before somebody asks`() {
        var plan = plan { $0.minimumConnections = 1 }
        #expect(plan.step(view(), now: start) == .nothing)
    }

    @Test func `the first request opens a connection, and those behind it wait for the same one`() {
        var plan = plan()
        #expect(plan.refusal(view(), now: start) == nil)
        #expect(plan.step(view(waitingSince: start), now: start) == .open)
        #expect(plan.refusal(view(connecting: 1), now: start) == nil)
        #expect(plan.step(view(connecting: 1, waitingSince: start), now: start + .seconds(5)) == .nothing)
    }

    @Test func `another connection is opened when the waiting line has not moved for a while`() {
        var plan = plan()
        let busy = view(usable: 1, waitingSince: start)
        #expect(plan.step(busy, now: start) == .lookAgain(start + .milliseconds(250)))
        #expect(plan.step(busy, now: start + .milliseconds(250)) == .open)
    }

    @Test func `no more connections than configured take requests`() {
        var plan = plan { $0.maximumConnections = 2 }
        #expect(plan.step(view(usable: 2, waitingSince: start), now: start + .seconds(9)) == .nothing)
    }

    @Test func `while it backs off an arrival learns at once, and makes sure of the next attempt`() {
        var plan = plan()
        plan.failed(refused, isWanted: false, now: start, lot: 0.5)
        #expect(plan.step(view(), now: start + .seconds(9)) == .nothing)
        let arrival = start + .milliseconds(500)
        #expect(plan.refusal(view(), now: arrival) == .backingOff(after: refused))
        #expect(plan.step(view(), now: arrival) == .lookAgain(start + .seconds(1)))
        #expect(plan.step(view(), now: start + .seconds(1)) == .open)
        #expect(plan.step(view(), now: start + .seconds(1)) == .nothing)
    }

    @Test func `after the pause an arrival waits for the attempt it starts`() {
        var plan = plan()
        plan.failed(refused, isWanted: true, now: start, lot: 0.5)
        #expect(plan.refusal(view(), now: start + .seconds(1)) == nil)
    }

    @Test func `a repeated attempt that hangs does not make arrivals wait`() {
        var plan = plan()
        plan.failed(.connectTimeout, isWanted: true, now: start, lot: 0.5)
        let again = start + .seconds(1)
        #expect(plan.step(view(), now: again) == .open)
        #expect(plan.refusal(view(connecting: 1), now: again + .milliseconds(999)) == nil)
        #expect(plan.refusal(view(connecting: 1), now: again + .seconds(1)) == .backingOff(after: .connectTimeout))
    }

    @Test func `a connection that is there is used whatever became of the last attempt`() {
        var plan = plan()
        plan.failed(refused, isWanted: true, now: start, lot: 0.5)
        #expect(plan.refusal(view(usable: 1), now: start) == nil)
    }

    @Test(arguments: [(1, 1000), (2, 2000), (3, 3500), (4, 3500), (40, 3500)])
    func `the pause doubles up to its cap, which lets an outage's end be seen within five seconds`(
        failures: Int, milliseconds: Int
    ) {
        var plan = plan()
        for _ in 0..<failures { plan.failed(refused, isWanted: true, now: start, lot: 0.5) }
        #expect(plan.step(view(), now: start) == .lookAgain(start + .milliseconds(milliseconds)))
    }

    @Test func `the pause is longer where somebody's hand is needed`() {
        var plan = plan()
        for _ in 0..<40 { plan.failed(.certificateForAnotherHost, isWanted: true, now: start, lot: 0.5) }
        #expect(plan.step(view(), now: start) == .lookAgain(start + .seconds(60)))
    }

    @Test func `the lot spreads the pause by a fifth to either side`() {
        var (early, late) = (plan(), plan())
        early.failed(refused, isWanted: true, now: start, lot: 0)
        late.failed(refused, isWanted: true, now: start, lot: 1)
        #expect(early.step(view(), now: start) == .lookAgain(start + .milliseconds(800)))
        #expect(late.step(view(), now: start) == .lookAgain(start + .milliseconds(1200)))
    }

    @Test func `one connection lost before its first answer is replaced at once, a second in a row is waited after`() {
        var plan = PoolPlan(HTTP2PoolConfiguration())
        var waiting = PoolPlan.View()
        waiting.waitingSince = start
        plan.failed(.noAnswer, isWanted: true, now: start, lot: 0.5)
        #expect(plan.refusal(PoolPlan.View(), now: start) == nil)
        #expect(plan.step(waiting, now: start) == .open)
        plan.failed(.noAnswer, isWanted: true, now: start, lot: 0.5)
        #expect(plan.refusal(PoolPlan.View(), now: start) == .backingOff(after: .noAnswer))
        #expect(plan.step(waiting, now: start) != .open)
    }

    @Test func `a peer that wants us slower makes requests wait and not fail`() {
        var plan = plan()
        plan.failed(.goodbyeWithError(code: 11), isWanted: false, now: start, lot: 0.5)
        #expect(plan.refusal(view(), now: start) == nil)
        #expect(plan.step(view(waitingSince: start), now: start) == .lookAgain(start + .seconds(1)))
    }

    @Test func `an answer ends the back-off`() {
        var plan = plan()
        plan.failed(refused, isWanted: false, now: start, lot: 0.5)
        plan.answered(now: start)
        #expect(plan.lastFault == nil)
        #expect(plan.step(view(waitingSince: start), now: start) == .open)
    }

    @Test func `an answer by another connection does not cut the pause of a peer that wants us slower`() {
        var plan = plan()
        plan.failed(.goodbyeWithError(code: 11), isWanted: false, now: start, lot: 0.5)
        plan.answered(now: start + .milliseconds(999))
        #expect(plan.step(view(waitingSince: start), now: start) == .lookAgain(start + .seconds(1)))
        plan.answered(now: start + .seconds(1))
        #expect(plan.lastFault == nil)
    }

    @Test func `connections are opened in a small burst and then one a second`() {
        var plan = plan()
        let wanted = view(waitingSince: start)
        for _ in 0..<3 { #expect(plan.step(wanted, now: start) == .open) }
        #expect(plan.step(wanted, now: start) == .lookAgain(start + .seconds(3)))
        #expect(plan.step(wanted, now: start + .seconds(3)) == .open)
    }

    @Test func `a connection that should be replaced is, beyond the maximum`() {
        var plan = plan { $0.maximumConnections = 1 }
        #expect(plan.step(view(usable: 1, toReplace: 1, hasRoom: true), now: start) == .open)
    }

    @Test func `one who may go by none of those there are has another opened, at the pace of openings`() {
        var plan = plan {
            $0.maximumConnections = 2
            $0.openingBurst = 1
        }
        var wanting = view(usable: 1, hasRoom: true, waitingSince: start)
        wanting.needsAnother = true
        #expect(plan.step(wanting, now: start) == .open)
        #expect(plan.step(wanting, now: start + .milliseconds(999)) == .lookAgain(start + .seconds(1)))
        wanting.usable = 2
        #expect(plan.step(wanting, now: start + .seconds(5)) == .nothing)
    }

    @Test func `a used pool keeps its least number of connections`() {
        var plan = plan { $0.minimumConnections = 2 }
        #expect(plan.refusal(view(usable: 1, hasRoom: true), now: start) == nil)
        #expect(plan.step(view(usable: 1, hasRoom: true), now: start) == .open)
        #expect(plan.step(view(usable: 2, hasRoom: true), now: start) == .nothing)
    }
}
