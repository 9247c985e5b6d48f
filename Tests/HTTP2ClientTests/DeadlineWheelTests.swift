import Testing

@testable import HTTP2Client

@Suite(.timeLimit(.minutes(1)))
struct DeadlineWheelTests {
    private let start = Moment(nanoseconds: 5_000_000_000)

    private func expired(_ wheel: inout DeadlineWheel, at moment: Moment) -> [Int] {
        var slots: [Int] = []
        while let slot = wheel.takeExpired(now: moment) { slots.append(slot) }
        return slots
    }

    @Test(arguments: [1, 16, 17, 500, 4500, 17_179, 17_180, 40_000, 3_600_000])
    func `a deadline is never early and at most a tick late`(milliseconds: Int) {
        var wheel = DeadlineWheel(now: start)
        let deadline = start + .milliseconds(milliseconds)
        wheel.insert(3, deadline: deadline)
        #expect(expired(&wheel, at: deadline + Int64(-1)) == [])
        #expect(expired(&wheel, at: deadline + .milliseconds(17)) == [3])
        #expect(wheel.count == 0)
    }

    @Test func `a deadline that was dropped does not come`() {
        var wheel = DeadlineWheel(now: start)
        for slot in 0..<5 { wheel.insert(slot, deadline: start + .milliseconds(100)) }
        wheel.remove(0)
        wheel.remove(2)
        wheel.remove(4)
        #expect(expired(&wheel, at: start + .seconds(1)) == [1, 3])
        #expect(wheel.nextTick == nil)
    }

    @Test func `the next tick is that of the nearest deadline`() throws {
        var wheel = DeadlineWheel(now: start)
        wheel.insert(0, deadline: start + .seconds(4))
        wheel.insert(1, deadline: start + .seconds(2))
        let next = try #require(wheel.nextTick)
        #expect(next >= start + .seconds(2) && next <= start + .milliseconds(2017))
    }

    @Test func `whatever was due in two hours that were slept through comes at once`() {
        var wheel = DeadlineWheel(now: start)
        for slot in 0..<500 { wheel.insert(slot, deadline: start + .milliseconds(slot * 10)) }
        wheel.insert(500, deadline: start + .seconds(7201))
        let awake = start + .seconds(7200)
        #expect(expired(&wheel, at: awake).sorted() == Array(0..<500))
        #expect(wheel.nextTick.map { $0 > awake } == true)
        #expect(expired(&wheel, at: awake + .seconds(2)) == [500])
    }

    @Test func `following the ticks expires everything in order of time`() {
        var wheel = DeadlineWheel(now: start)
        var generator = SystemRandomNumberGenerator()
        let deadlines = (0..<500).map { _ in start + .milliseconds(Int.random(in: 0...60_000, using: &generator)) }
        for (slot, deadline) in deadlines.enumerated() { wheel.insert(slot, deadline: deadline) }
        var order: [Int] = []
        while let next = wheel.nextTick {
            for slot in expired(&wheel, at: next) {
                #expect(deadlines[slot] <= next)
                order.append(slot)
            }
        }
        #expect(order.sorted() == Array(0..<500))
    }
}
