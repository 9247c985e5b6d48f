import Limits
import Testing

// `#expect` copies what it looks at, and a permit cannot be copied, so that booleans are made first.
private func exists(_ permit: borrowing Permit?) -> Bool { permit != nil }

@Suite(.timeLimit(.minutes(1)))
struct InFlightPermitsTests {
    @Test func `a permit's end of life gives the place back`() {
        let permits = InFlightPermits(limit: 2)
        do {
            let first = permits.take()
            let second = permits.take()
            let third = permits.take()
            let seen = [exists(first), exists(second), exists(third)]
            #expect(seen == [true, true, false])
            #expect(permits.inUse == 2)
            withExtendedLifetime(first) { withExtendedLifetime(second) {} }
        }
        #expect(permits.inUse == 0)
        let again = exists(permits.take())
        #expect(again)
    }

    @Test func `an error on the way gives the place back as well`() {
        struct Fault: Error {}
        let permits = InFlightPermits(limit: 1)
        func work(_ permit: consuming Permit?) throws {
            #expect(permits.inUse == 1)
            throw Fault()
        }
        #expect(throws: Fault.self) { try work(permits.take()) }
        #expect(permits.inUse == 0)
    }

    @Test func `many threads never hold more than there are`() async {
        let permits = InFlightPermits(limit: 3)
        let overfull = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    (0..<10_000).contains { _ in
                        let permit = permits.take()
                        let isOverfull = permits.inUse > 3
                        return exists(permit) && isOverfull
                    }
                }
            }
            return await group.contains(true)
        }
        #expect(!overfull)
        #expect(permits.inUse == 0)
    }
}
