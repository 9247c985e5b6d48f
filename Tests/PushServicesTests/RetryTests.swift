import PushModel
import PushServices
import Testing

@Suite(.timeLimit(.minutes(1)))
struct RetryAfterTests {
    /// 1994-11-06T08:49:37Z, the date in the example of RFC 9110.
    static let now = WallInstant(milliseconds: 784_111_777_000)

    @Test(arguments: [
        ("0", Duration.seconds(0)), ("30", .seconds(30)), (" 30", .seconds(30)),
        ("99999999999999999999", .seconds(86_400)),
        ("Sun, 06 Nov 1994 08:50:07 GMT", .seconds(30)), ("Sun, 06 Nov 1994 08:49:00 GMT", .zero),
        ("Fri, 06 Nov 2094 08:49:37 GMT", .seconds(86_400)), ("Thu, 29 Feb 1996 00:00:00 GMT", .seconds(86_400)),
    ])
    func `seconds and dates are read, and a wait is at most a day`(_ field: String, _ wait: Duration) {
        #expect(RetryAfter.duration(field, at: Self.now) == wait)
    }

    @Test(arguments: [
        "", " ", "-1", "+1", "1.5", "1s", "soon", "Sun, 06 Nov 1994 08:49:37", "Sun, 32 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    ])
    func `anything else counts as absent`(_ field: String) {
        #expect(RetryAfter.duration(field, at: Self.now) == nil)
    }

    @Test func `absent is absent`() {
        #expect(RetryAfter.duration(nil, at: Self.now) == nil)
    }

    @Test(arguments: [
        ("Thu, 01 Jan 1970 00:00:00 GMT", Int64(0)), ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600_000),
        ("Mon, 01 Mar 2100 00:00:00 GMT", 4_107_542_400_000), ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777_000),
        ("Sat, 01 Jan 0000 00:00:00 GMT", -62_167_219_200_000), ("Wed, 01 Mar 0000 00:00:00 GMT", -62_162_035_200_000),
    ])
    func `a date is the moment it names`(_ text: String, _ milliseconds: Int64) {
        #expect(HTTPDate.instant(of: text) == WallInstant(milliseconds: milliseconds))
    }
}

@Suite(.timeLimit(.minutes(1)))
struct DeliveryAttemptsTests {
    static let start = MonotonicInstant(nanoseconds: 1_000_000_000)

    @Test func `what was surely not processed is repeated twice and no more`() {
        var attempts = DeliveryAttempts(deadline: Self.start.advanced(by: .seconds(4)))
        let again = DeliveryAttempts.Step.again(newConnection: false, newCredential: false)
        #expect(attempts.next(after: .atOnce, at: Self.start) == again)
        #expect(attempts.next(after: .atOnce, at: Self.start) == again)
        #expect(attempts.next(after: .atOnce, at: Self.start) == .conclude)
    }

    @Test func `another connection is tried once, and a new credential once`() {
        var attempts = DeliveryAttempts(deadline: Self.start.advanced(by: .seconds(4)))
        #expect(
            attempts.next(after: .onceWithNewCredential, at: Self.start)
                == .again(newConnection: true, newCredential: true))
        #expect(
            attempts.next(after: .onceOnNewConnection, at: Self.start)
                == .again(newConnection: true, newCredential: false))
        #expect(attempts.next(after: .onceOnNewConnection, at: Self.start) == .conclude)
        #expect(attempts.next(after: .onceWithNewCredential, at: Self.start) == .conclude)
    }

    @Test func `a refusal for good is never repeated`() {
        var attempts = DeliveryAttempts(deadline: Self.start.advanced(by: .seconds(4)))
        #expect(attempts.next(after: .never, at: Self.start) == .conclude)
    }

    @Test func `nothing is repeated that could no longer be answered in time`() {
        let deadline = Self.start.advanced(by: .seconds(4))
        var attempts = DeliveryAttempts(deadline: deadline)
        #expect(attempts.next(after: .atOnce, at: deadline.advanced(by: .milliseconds(-249))) == .conclude)
        #expect(attempts.next(after: .atOnce, at: deadline.advanced(by: .seconds(1))) == .conclude)
        #expect(attempts.next(after: .atOnce, at: deadline.advanced(by: .milliseconds(-250))) != .conclude)
    }
}

@Suite(.timeLimit(.minutes(1)))
struct MassDeathGuardTests {
    static let start = MonotonicInstant(nanoseconds: 0)

    @Test func `a wrong topic costs nineteen registrations and then no more`() {
        let guardian = MassDeathGuard()
        let forgotten = (0..<10_000).count { _ in guardian.allowsForgetting(.ios, at: Self.start) }
        #expect(forgotten == 19)
        #expect(guardian.isSuspicious(.ios, at: Self.start))
    }

    @Test(arguments: [0, 100, 2400, 100_000])
    func `however much went well before, a wrong topic costs nineteen`(_ living: Int) {
        let guardian = MassDeathGuard()
        for _ in 0..<living { guardian.noteLiving(.ios, at: Self.start) }
        #expect((0..<1000).count { _ in guardian.allowsForgetting(.ios, at: Self.start) } == 19)
    }

    @Test func `dead phones among living ones are forgotten`() {
        let guardian = MassDeathGuard()
        for _ in 0..<1000 {
            for _ in 0..<6 { guardian.noteLiving(.ios, at: Self.start) }
            #expect(guardian.allowsForgetting(.ios, at: Self.start))
        }
    }

    @Test func `one platform's deaths say nothing about the other's`() {
        let guardian = MassDeathGuard()
        for _ in 0..<100 { _ = guardian.allowsForgetting(.ios, at: Self.start) }
        #expect(guardian.allowsForgetting(.android, at: Self.start))
    }

    @Test func `a fifth of dead phones is ordinary, more is not`() {
        let guardian = MassDeathGuard()
        for _ in 0..<100 {
            for _ in 0..<4 { guardian.noteLiving(.ios, at: Self.start) }
            #expect(guardian.allowsForgetting(.ios, at: Self.start))
        }
        #expect(!guardian.allowsForgetting(.ios, at: Self.start))
    }

    @Test func `ten minutes later it is forgiven`() {
        let guardian = MassDeathGuard()
        for _ in 0..<100 { _ = guardian.allowsForgetting(.ios, at: Self.start) }
        #expect(guardian.isSuspicious(.ios, at: Self.start.advanced(by: .seconds(599))))
        #expect(!guardian.isSuspicious(.ios, at: Self.start.advanced(by: .seconds(600))))
        #expect(guardian.allowsForgetting(.ios, at: Self.start.advanced(by: .seconds(600))))
    }
}
