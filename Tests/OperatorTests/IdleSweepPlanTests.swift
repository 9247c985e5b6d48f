import PushModel
import Testing

@testable import gryt_push

/// When idle capabilities may be looked for: never by a clock that may be wrong.
@Suite(.timeLimit(.minutes(1)))
struct IdleSweepPlanTests {
    /// A plan and both clocks.
    private struct Bench {
        var plan = IdleSweepPlan()
        var wall = WallInstant(milliseconds: 1_790_000_000_000)
        var now = MonotonicInstant(nanoseconds: 5_000_000_000)
        var accepted: MonotonicInstant?
        var idleDays = 120

        mutating func wait(_ duration: Duration) {
            wall = wall.advanced(by: duration)
            now = now.advanced(by: duration)
        }

        mutating func isDue() -> Bool {
            plan.isDue(idleDays: idleDays, wall: wall, lastAccepted: accepted, at: now)
        }
    }

    @Test func `before a push was accepted nobody is dropped, however long the relay runs`() {
        var bench = Bench()
        for _ in 0..<100 {
            #expect(bench.isDue() == false)
            bench.wait(.seconds(7200))
        }
        bench.accepted = bench.now
        #expect(bench.isDue() == true)
    }

    @Test func `then once an hour`() {
        var bench = Bench()
        bench.accepted = bench.now
        #expect(bench.isDue() == true)
        bench.wait(.seconds(3599))
        #expect(bench.isDue() == false)
        bench.wait(.seconds(1))
        #expect(bench.isDue() == true)
        #expect(bench.isDue() == false)
    }

    @Test(arguments: [365.0, -365, 0.26, -0.26])
    func `a clock that was set has to be proven anew, by credentials that were signed since`(days: Double) {
        var bench = Bench()
        bench.accepted = bench.now
        #expect(bench.isDue() == true)
        bench.wait(.seconds(3600))
        bench.wall = bench.wall.advanced(by: .seconds(86_400) * days)
        #expect(bench.isDue() == false)
        bench.wait(.seconds(5399))
        // By credentials that may be from before.
        bench.accepted = bench.now
        #expect(bench.isDue() == false)
        bench.wait(.seconds(1))
        #expect(bench.isDue() == false)
        bench.accepted = bench.now
        #expect(bench.isDue() == true)
    }

    @Test func `a clock that was set while nothing was ever idle has to be proven anew all the same`() {
        var bench = Bench()
        bench.idleDays = 0
        bench.accepted = bench.now
        #expect(bench.isDue() == false)
        bench.wait(.seconds(1))
        bench.wall = bench.wall.advanced(by: .seconds(86_400) * 365)
        #expect(bench.isDue() == false)
        // What makes it idle comes with a reload.
        bench.idleDays = 120
        bench.wait(.seconds(5400))
        #expect(bench.isDue() == false)
        bench.accepted = bench.now
        #expect(bench.isDue() == true)
    }

    @Test func `a clock that a time server puts right by minutes is the same clock`() {
        var bench = Bench()
        bench.accepted = bench.now
        #expect(bench.isDue() == true)
        bench.wait(.seconds(3600))
        bench.wall = bench.wall.advanced(by: .seconds(600))
        #expect(bench.isDue() == true)
    }
}
