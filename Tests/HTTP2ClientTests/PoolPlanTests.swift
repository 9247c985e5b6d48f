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

    /// All of so many connections are silent, and somebody waits since then.
    private func silence(_ usable: Int, connecting: Int = 0, since: Moment) -> PoolPlan.View {
        PoolPlan.View(
            connecting: connecting, usable: usable, silent: usable, hasOnlySilent: true, hasOnlySilentAt: since,
            waitingSince: since)
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
        #expect(
            plan.step(view(connecting: 1, waitingSince: start), now: start) == .lookAgain(start + .seconds(3)))
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

    // MARK: Attempts that hang

    @Test func `an attempt that hangs gets others beside it, a few and at their pace`() {
        var plan = plan()
        #expect(plan.step(view(waitingSince: start), now: start) == .open)
        for number in 1...3 {
            let hanging = view(connecting: number, waitingSince: start)
            let due = start + .seconds(3 * number)
            #expect(plan.step(hanging, now: due + Int64(-1)) == .lookAgain(due))
            #expect(plan.step(hanging, now: due) == .open)
        }
        #expect(plan.step(view(connecting: 4, waitingSince: start), now: start + .seconds(100)) == .nothing)
    }

    @Test func `where nobody waits, or there is a connection, an attempt may hang as it likes`() {
        var plan = plan()
        #expect(plan.step(view(waitingSince: start), now: start) == .open)
        let later = start + .seconds(9)
        #expect(plan.step(view(connecting: 1), now: later) == .nothing)
        #expect(plan.step(view(connecting: 1, usable: 1, waitingSince: start), now: later) == .nothing)
    }

    @Test
    func `an arrival that is told at once that there is none makes sure of another attempt beside the one that hangs`()
    {
        var plan = plan()
        plan.failed(.proxyTimeout, isWanted: true, now: start, lot: 0.5)
        let again = start + .seconds(1)
        #expect(plan.step(view(), now: again) == .open)
        #expect(plan.step(view(connecting: 1), now: again + .seconds(5)) == .nothing)
        let refusal = plan.refusal(view(connecting: 1), now: again + .seconds(5))
        #expect(refusal == .backingOff(after: .proxyTimeout))
        #expect(plan.step(view(connecting: 1), now: again + .seconds(5)) == .open)
    }

    // MARK: Silence

    @Test func `whoever finds but a silent connection has another opened, and waits for it a moment`() {
        var plan = plan()
        #expect(plan.holdsOut(isConnecting: false, now: start) == true)
        #expect(plan.step(silence(1, since: start), now: start) == .open)
        #expect(plan.holdsOut(isConnecting: true, now: start + .milliseconds(999)) == true)
        let moment = start + .seconds(1)
        #expect(plan.step(silence(1, connecting: 1, since: start), now: start) == .lookAgain(moment))
        // It hangs: then rather by the silent one, which may be slow and not dead.
        #expect(plan.holdsOut(isConnecting: true, now: moment) == false)
        #expect(plan.step(silence(1, connecting: 1, since: start), now: moment) == .nothing)
    }

    @Test func `where the next is silent too the pauses double, and meanwhile nobody waits`() {
        var plan = plan()
        var now = start
        for pause in [5, 10, 20, 30, 30, 30] {
            #expect(plan.step(silence(1, since: now), now: now) == .open)
            let next = now + .seconds(pause)
            #expect(plan.holdsOut(isConnecting: false, now: next + Int64(-1)) == false)
            #expect(plan.step(silence(1, since: now), now: now + .seconds(3)) == .lookAgain(next))
            now = next
        }
    }

    @Test func `ten minutes of silence, whatever comes in, cost 22 connections`() {
        var plan = plan()
        var opened = 0
        for tick in 0..<6000 where plan.step(silence(1, since: start), now: start + .milliseconds(100 * tick)) == .open
        {
            opened += 1
        }
        #expect(opened == 22)
    }

    @Test func `a silence long after the last is the first again`() {
        var plan = plan()
        #expect(plan.step(silence(1, since: start), now: start) == .open)
        let second = start + .seconds(5)
        #expect(plan.step(silence(1, since: second), now: second) == .open)
        // The pause is over at 15 s, and then a minute more.
        let third = start + .seconds(75)
        #expect(plan.step(silence(1, since: third), now: third) == .open)
        #expect(plan.step(silence(1, since: third), now: third) == .lookAgain(third + .seconds(5)))
    }

    @Test func `growing beside a silent connection counts as replacing it`() {
        var plan = plan { $0.maximumConnections = 2 }
        let full = PoolPlan.View(usable: 2, silent: 1, waitingSince: start)
        #expect(plan.step(full, now: start) == .lookAgain(start + .milliseconds(250)))
        #expect(plan.step(full, now: start + .milliseconds(250)) == .open)
        #expect(plan.step(full, now: start + .seconds(1)) == .lookAgain(start + .milliseconds(5250)))
    }

    @Test func `who waits for a stream of connections that are about to be silent is not forgotten`() {
        var plan = plan { $0.maximumConnections = 2 }
        let due = start + .seconds(2)
        let waiting = PoolPlan.View(usable: 2, hasOnlySilentAt: due, waitingSince: start)
        #expect(plan.step(waiting, now: start + .seconds(1)) == .lookAgain(due))
    }

    @Test func `a silent connection without another is spared no more often than others are opened for it`() {
        var plan = plan()
        #expect(plan.maySpareSilent(now: start) == true)
        #expect(plan.maySpareSilent(now: start + .milliseconds(4999)) == false)
        #expect(plan.maySpareSilent(now: start + .seconds(5)) == true)
        #expect(plan.holdsOut(isConnecting: false, now: start + .seconds(14)) == false)
    }
}
