import PushModel
import PushServices
import Testing

/// When a token that a push service does not take is believed to be dead.
@Suite(.timeLimit(.minutes(1)))
struct MassDeathGuardTests {
    static let start = MonotonicInstant(nanoseconds: 0)

    static func device(
        _ platform: Platform = .ios, _ environment: APNsEnvironment = .production, number: Int = 0
    ) -> Device {
        Device(
            token: DeviceToken(unchecked: "\(number)", for: platform), environment: environment, opensPreviews: false,
            registeredAt: WallInstant(milliseconds: 0))
    }

    @Test func `a setting that was wrong from the start costs no registration`() {
        let guardian = MassDeathGuard()
        for number in 0..<10_000 {
            #expect(!guardian.allowsForgetting(Self.device(number: number), at: Self.start))
            #expect(guardian.isSuspicious(.ios, at: Self.start) == (number >= 2))
        }
    }

    @Test func `one bad phone on a quiet relay is kept, and makes nobody suspicious`() {
        let guardian = MassDeathGuard()
        for _ in 0..<19 { #expect(!guardian.allowsForgetting(Self.device(), at: Self.start)) }
        #expect(!guardian.isSuspicious(.ios, at: Self.start))
    }

    @Test(arguments: [1, 100, 2400, 100_000])
    func `one that goes wrong later costs one, however much went well before`(_ living: Int) {
        let guardian = MassDeathGuard()
        for _ in 0..<living { guardian.noteLiving(Self.device(), at: Self.start) }
        #expect((0..<1000).count { _ in guardian.allowsForgetting(Self.device(), at: Self.start) } == 1)
    }

    @Test func `dead phones among living ones are forgotten`() {
        let guardian = MassDeathGuard()
        for _ in 0..<1000 {
            for _ in 0..<6 { guardian.noteLiving(Self.device(), at: Self.start) }
            #expect(guardian.allowsForgetting(Self.device(), at: Self.start))
        }
    }

    @Test func `of two in a row the second waits until another phone was reached`() {
        let guardian = MassDeathGuard()
        guardian.noteLiving(Self.device(), at: Self.start)
        #expect(guardian.allowsForgetting(Self.device(), at: Self.start))
        #expect(!guardian.allowsForgetting(Self.device(), at: Self.start))
        guardian.noteLiving(Self.device(), at: Self.start)
        #expect(guardian.allowsForgetting(Self.device(), at: Self.start))
    }

    @Test func `neither platform nor environment vouches for another`() {
        let all = [Self.device(), Self.device(.ios, .sandbox), Self.device(.android)]
        for living in all {
            let guardian = MassDeathGuard()
            for _ in 0..<100 { guardian.noteLiving(living, at: Self.start) }
            for dead in all {
                #expect(guardian.allowsForgetting(dead, at: Self.start) == (living == dead))
            }
        }
    }

    @Test func `a fifth of dead phones is ordinary, more is not`() {
        let guardian = MassDeathGuard()
        for _ in 0..<100 {
            for _ in 0..<4 { guardian.noteLiving(Self.device(), at: Self.start) }
            #expect(guardian.allowsForgetting(Self.device(), at: Self.start))
        }
        guardian.noteLiving(Self.device(), at: Self.start)
        #expect(!guardian.allowsForgetting(Self.device(), at: Self.start))
        #expect(guardian.isSuspicious(.ios, at: Self.start))
    }

    @Test func `ten minutes later it is forgiven`() {
        let guardian = MassDeathGuard()
        for _ in 0..<100 { _ = guardian.allowsForgetting(Self.device(), at: Self.start) }
        #expect(guardian.isSuspicious(.ios, at: Self.start.advanced(by: .seconds(599))))
        let later = Self.start.advanced(by: .seconds(600))
        #expect(!guardian.isSuspicious(.ios, at: later))
        guardian.noteLiving(Self.device(), at: later)
        #expect(guardian.allowsForgetting(Self.device(), at: later))
    }
}
