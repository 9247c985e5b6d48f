import PushModel
import PushServices
import Testing

@Suite(.timeLimit(.minutes(1)))
struct DeliveryAttemptsTests {
    static let start = MonotonicInstant(nanoseconds: 1_000_000_000)
    static let deadline = start.advanced(by: .seconds(4))

    @Test func `what was surely not processed is repeated twice and no more`() {
        var attempts = DeliveryAttempts(deadline: Self.deadline, isReplaceable: false)
        #expect(attempts.next(after: .atOnce, at: Self.start) == .again)
        #expect(attempts.next(after: .atOnce, at: Self.start) == .again)
        #expect(attempts.next(after: .atOnce, at: Self.start) == .conclude)
        #expect(attempts.number == 3)
    }

    @Test func `what may have been processed is repeated once, and only where the phone shows the repeat in its place`()
    {
        var attempts = DeliveryAttempts(deadline: Self.deadline, isReplaceable: true)
        #expect(attempts.next(after: .onceIfReplaceable, at: Self.start) == .again)
        #expect(attempts.next(after: .onceIfReplaceable, at: Self.start) == .conclude)
        var unique = DeliveryAttempts(deadline: Self.deadline, isReplaceable: false)
        #expect(unique.next(after: .onceIfReplaceable, at: Self.start) == .conclude)
    }

    @Test(arguments: [true, false])
    func `another connection is tried once, and a new credential once`(_ mayBeConnection: Bool) {
        var attempts = DeliveryAttempts(deadline: Self.deadline, isReplaceable: true)
        let elsewhere = RetryAdvice.onceElsewhere(mayBeConnection: mayBeConnection)
        #expect(attempts.next(after: .onceWithNewCredential, at: Self.start) == .againWithNewCredential)
        #expect(attempts.next(after: elsewhere, at: Self.start) == .againElsewhere(mayBeConnection: mayBeConnection))
        #expect(attempts.next(after: elsewhere, at: Self.start) == .conclude)
        #expect(attempts.next(after: .onceWithNewCredential, at: Self.start) == .conclude)
    }

    @Test func `a refusal for good is never repeated`() {
        var attempts = DeliveryAttempts(deadline: Self.deadline, isReplaceable: true)
        #expect(attempts.next(after: .never, at: Self.start) == .conclude)
    }

    @Test(arguments: [
        RetryAdvice.atOnce, .onceIfReplaceable, .onceElsewhere(mayBeConnection: true), .onceWithNewCredential,
    ])
    func `nothing is repeated that could no longer be answered in time`(_ advice: RetryAdvice) {
        var attempts = DeliveryAttempts(deadline: Self.deadline, isReplaceable: true)
        #expect(attempts.next(after: advice, at: Self.deadline.advanced(by: .milliseconds(-249))) == .conclude)
        #expect(attempts.next(after: advice, at: Self.deadline.advanced(by: .seconds(1))) == .conclude)
        #expect(attempts.next(after: advice, at: Self.deadline.advanced(by: .milliseconds(-250))) != .conclude)
    }
}
