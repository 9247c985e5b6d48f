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

    @Test func `the deaths of ten minutes count together, in whichever minute`() {
        let guardian = MassDeathGuard()
        for minute in 0..<10 {
            let now = Self.start.advanced(by: .seconds(60 * minute + 30))
            for number in 0..<2 { _ = guardian.allowsForgetting(Self.device(number: number), at: now) }
            for _ in 0..<4 { guardian.noteLiving(Self.device(), at: now) }
            #expect(guardian.isSuspicious(.ios, at: now) == (minute == 9))
        }
    }

    @Test func `what was lonely ten minutes ago makes one more phone no sign`() {
        let guardian = MassDeathGuard()
        for number in 0..<3 { _ = guardian.allowsForgetting(Self.device(number: number), at: Self.start) }
        #expect(guardian.isSuspicious(.ios, at: Self.start))
        let later = Self.start.advanced(by: .seconds(600))
        for number in 10..<12 {
            _ = guardian.allowsForgetting(Self.device(number: number), at: later)
            #expect(!guardian.isSuspicious(.ios, at: later))
        }
        _ = guardian.allowsForgetting(Self.device(number: 12), at: later)
        #expect(guardian.isSuspicious(.ios, at: later))
    }

    // MARK: Credentials that are replaced

    @Test func `what other credentials reach says nothing about these, neither before nor after they came`() {
        let guardian = MassDeathGuard()
        let before = guardian.era(of: .ios)
        for _ in 0..<100 { guardian.noteLiving(Self.device(), in: before, at: Self.start) }
        guardian.startAnew(.ios)
        let after = guardian.era(of: .ios)
        // A wrong topic, and late answers to pushes that left under the right one.
        for number in 0..<100 {
            guardian.noteLiving(Self.device(), in: before, at: Self.start)
            #expect(!guardian.allowsForgetting(Self.device(number: number), in: after, at: Self.start))
        }
        #expect(guardian.isSuspicious(.ios, at: Self.start))
    }

    @Test func `a death that comes late says nothing about the credentials that came meanwhile`() {
        let guardian = MassDeathGuard()
        let before = guardian.era(of: .android)
        guardian.startAnew(.android)
        guardian.noteLiving(Self.device(.android), at: Self.start)
        for number in 0..<100 {
            #expect(!guardian.allowsForgetting(Self.device(.android, number: number), in: before, at: Self.start))
            guardian.noteForeign(Self.device(.android, number: 100 + number), in: before, at: Self.start)
        }
        for number in 0..<200 {
            #expect(guardian.refusal(of: Self.device(.android, number: number), at: Self.start) == nil)
        }
        #expect(guardian.allowsForgetting(Self.device(.android, number: 1), at: Self.start))
    }

    @Test func `one platform's credentials change nothing about the other`() {
        let guardian = MassDeathGuard()
        guardian.noteLiving(Self.device(), at: Self.start)
        #expect(!guardian.allowsForgetting(Self.device(.ios, .sandbox), at: Self.start))
        guardian.startAnew(.android)
        #expect(guardian.refusal(of: Self.device(.ios, .sandbox), at: Self.start) != nil)
        #expect(guardian.allowsForgetting(Self.device(number: 1), at: Self.start))
    }

    // MARK: Tokens that are kept

    @Test func `a token that is kept is not asked for again for five minutes, and no other is held up`() throws {
        let guardian = MassDeathGuard()
        #expect(guardian.refusal(of: Self.device(), at: Self.start) == nil)
        #expect(!guardian.allowsForgetting(Self.device(), at: Self.start))
        guardian.noteForeign(Self.device(.android), in: guardian.era(of: .android), at: Self.start)
        for other in [Self.device(.ios, .sandbox), Self.device(number: 1), Self.device(.android, number: 1)] {
            #expect(guardian.refusal(of: other, at: Self.start) == nil)
        }
        for (device, refusal) in [(Self.device(), RefusedTokens.Refusal.doubted), (Self.device(.android), .foreign)] {
            let first = try #require(guardian.refusal(of: device, at: Self.start))
            #expect(first == (refusal, .seconds(300)))
            let last = try #require(guardian.refusal(of: device, at: Self.start.advanced(by: .seconds(299))))
            #expect(last == (refusal, .seconds(1)))
            #expect(guardian.refusal(of: device, at: Self.start.advanced(by: .seconds(300))) == nil)
        }
    }

    @Test func `a token that is forgotten is not held up when it is registered anew`() {
        let guardian = MassDeathGuard()
        guardian.noteLiving(Self.device(number: 1), at: Self.start)
        #expect(guardian.allowsForgetting(Self.device(), at: Self.start))
        #expect(guardian.refusal(of: Self.device(), at: Self.start) == nil)
    }

    @Test func `a phone that registers anew is asked for at once, and held up anew when it is refused anew`() {
        let guardian = MassDeathGuard()
        let later = Self.start.advanced(by: .seconds(200))
        for number in 0..<3 { _ = guardian.allowsForgetting(Self.device(number: number), at: Self.start) }
        guardian.noteRegistration(of: Self.device(number: 1).token, in: .sandbox)
        #expect(guardian.refusal(of: Self.device(number: 1), at: Self.start) != nil)
        guardian.noteRegistration(of: Self.device(number: 1).token, in: .production)
        #expect(guardian.refusal(of: Self.device(number: 1), at: Self.start) == nil)
        #expect(guardian.refusal(of: Self.device(number: 2), at: Self.start) != nil)
        #expect(!guardian.allowsForgetting(Self.device(number: 1), at: later))
        // The end of its first time is not the end of its second.
        let end = Self.start.advanced(by: .seconds(300))
        #expect(guardian.refusal(of: Self.device(number: 1), at: end).map { $0 == (.doubted, .seconds(200)) } == true)
        #expect(guardian.refusal(of: Self.device(number: 2), at: end) == nil)
    }

    @Test func `new credentials ask for every token again`() {
        let guardian = MassDeathGuard()
        for number in 0..<10 { _ = guardian.allowsForgetting(Self.device(number: number), at: Self.start) }
        guardian.startAnew(.ios)
        for number in 0..<10 { #expect(guardian.refusal(of: Self.device(number: number), at: Self.start) == nil) }
    }

    @Test func `so many are known at most, and the oldest makes way`() {
        var tokens = RefusedTokens()
        for token in 0..<(3 * RefusedTokens.capacity) {
            tokens.note(token, .doubted, at: Self.start.advanced(by: .milliseconds(token)))
        }
        let end = Self.start.advanced(by: .milliseconds(3 * RefusedTokens.capacity))
        let known = (0..<(3 * RefusedTokens.capacity)).filter { tokens.refusal(of: $0, at: end) != nil }
        #expect(known == Array(2 * RefusedTokens.capacity..<3 * RefusedTokens.capacity))
        // All but the last have served their time, then that one too.
        let last = Self.start.advanced(by: .milliseconds(3 * RefusedTokens.capacity - 1) + RefusedTokens.hold)
        #expect(tokens.refusal(of: 1, at: last.advanced(by: .milliseconds(-1))) == nil && !tokens.isEmpty)
        #expect(tokens.refusal(of: 1, at: last) == nil && tokens.isEmpty)
    }

    @Test func `one that is refused twice at the same time keeps the earlier end`() {
        var tokens = RefusedTokens()
        tokens.note(1, .doubted, at: Self.start)
        tokens.note(1, .foreign, at: Self.start.advanced(by: .seconds(10)))
        let now = Self.start.advanced(by: .seconds(20))
        #expect(tokens.refusal(of: 1, at: now).map { $0 == (.doubted, .seconds(280)) } == true)
        #expect(tokens.refusal(of: 1, at: Self.start.advanced(by: .seconds(300))) == nil)
        #expect(tokens.isEmpty)
    }
}

extension MassDeathGuard {
    fileprivate func noteLiving(_ device: Device, at now: MonotonicInstant) {
        noteLiving(device, in: era(of: device.token.platform), at: now)
    }

    fileprivate func allowsForgetting(_ device: Device, at now: MonotonicInstant) -> Bool {
        allowsForgetting(device, in: era(of: device.token.platform), at: now)
    }
}
