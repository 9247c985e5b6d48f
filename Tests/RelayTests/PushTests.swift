import DeviceStore
import Limits
import PushModel
import PushServices
import Relay
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1)))
struct PushTests {
    @Test func `a push reaches the phone that registered, and is counted`() async throws {
        let apple = ScriptedService(.ios, .accepted)
        let scene = Scene(ios: apple)
        let capability = try await scene.registered()
        #expect(await scene.push(capability, kind: .mention) == .accepted)
        let (notification, device) = try #require(apple.asked.first)
        #expect(notification.kind == .mention)
        #expect(notification.tag == CapabilityHash(of: capability).tag)
        #expect(device.token == Scene.iPhone)
        #expect(scene.counted() == ["registered ios": 1, "sent ios mention": 1])
    }

    @Test func `every push has an id of its own`() async throws {
        let apple = ScriptedService(.ios, .accepted)
        let scene = Scene(ios: apple)
        let capability = try await scene.registered()
        for _ in 0..<10 { _ = await scene.push(capability) }
        #expect(Set(apple.asked.map { $0.0.id.description }).count == 10)
    }

    @Test func `an unknown capability costs its address one attempt and the store one look-up`() async throws {
        let scene = Scene(ios: ScriptedService(.ios, .accepted), perAddress: 3)
        for number in UInt8(0)..<3 {
            let stranger = Capability(randomBytes: InlineArray(repeating: number))
            #expect(await scene.push(stranger) == .unknownCapability)
        }
        let fourth = await scene.push(Capability(randomBytes: InlineArray(repeating: 9)))
        #expect(fourth == .addressLimited(retryAfter: .seconds(60)))
        #expect(scene.store.lookUps == 3)
    }

    @Test func `a capability's limit is its own, and says when to come back`() async throws {
        let apple = ScriptedService(.ios, .accepted)
        let scene = Scene(ios: apple, perCapability: 2)
        let first = try await scene.registered()
        let second = try await scene.registered()
        #expect(await scene.push(first) == .accepted)
        scene.time.advance(by: .seconds(20))
        #expect(await scene.push(first) == .accepted)
        #expect(await scene.push(first) == .capabilityLimited(retryAfter: .seconds(40)))
        #expect(await scene.push(second) == .accepted)
        scene.time.advance(by: .seconds(40))
        #expect(await scene.push(first) == .accepted)
        #expect(apple.asked.count == 4)
    }

    @Test func `a phone of a platform without credentials is not pushed to`() async throws {
        let scene = Scene(android: ScriptedService(.android, .accepted))
        let capability = Capability(randomBytes: InlineArray(repeating: 1))
        try await scene.store.register(
            Registration(
                capability: capability, token: Scene.iPhone, environment: .production, opensPreviews: false,
                registeredAt: scene.time.wall))
        #expect(await scene.push(capability) == .platformUnavailable(.ios))
    }

    @Test func `over the bound of pushes in flight the relay says so at once`() async throws {
        let scene = Scene(ios: ScriptedService(.ios, .accepted), permits: 1)
        let capability = try await scene.registered()
        let permit = scene.relay.shared.permits.take(for: .ios)
        #expect(await scene.push(capability) == .overloaded)
        _ = consume permit
        #expect(await scene.push(capability) == .accepted)
        #expect(await scene.push(capability) == .accepted)
    }

    @Test func `a push that is shed does not count in the capability's limit`() async throws {
        let scene = Scene(ios: ScriptedService(.ios, .accepted), perCapability: 1, permits: 1)
        let capability = try await scene.registered()
        let permit = scene.relay.shared.permits.take(for: .ios)
        for _ in 0..<5 { #expect(await scene.push(capability) == .overloaded) }
        _ = consume permit
        #expect(await scene.push(capability) == .accepted)
    }

    @Test func `a push service that hangs leaves the other's permits alone`() async throws {
        let scene = Scene(
            ios: ScriptedService(.ios, .accepted), android: ScriptedService(.android, .accepted), permits: 1)
        let capability = try await scene.registered(Scene.android)
        let permit = scene.relay.shared.permits.take(for: .ios)
        #expect(await scene.push(capability) == .accepted)
        _ = consume permit
    }

    @Test func `a store that does not answer is no unknown capability`() async throws {
        let scene = Scene(ios: ScriptedService(.ios, .accepted))
        let capability = try await scene.registered()
        scene.store.fail(with: .corrupt)
        #expect(await scene.push(capability) == .storeFailed)
    }

    @Test func `a day is noted once`() async throws {
        let scene = Scene(ios: ScriptedService(.ios, .accepted))
        let capability = try await scene.registered()
        _ = await scene.push(capability)
        #expect(scene.store.marks.isEmpty, "the day of registration counts as used")
        scene.time.advance(by: .seconds(86_400))
        for _ in 0..<3 { _ = await scene.push(capability) }
        #expect(scene.store.marks == [scene.time.wall.day])
    }

    @Test(arguments: [
        (DeliveryOutcome.rejected(.malformed), PushVerdict.upstreamFailed(.rejected, retryAfter: nil)),
        (.rejected(.foreignDevice), .upstreamFailed(.rejected, retryAfter: nil)),
        (.rejected(.unknown), .upstreamFailed(.rejected, retryAfter: nil)),
        (.deferred(.phoneThrottled, retryAfter: .seconds(9)), .phoneThrottled(retryAfter: .seconds(9))),
        (.deferred(.serviceThrottled, retryAfter: .seconds(9)), .upstreamFailed(.throttled, retryAfter: .seconds(9))),
        (
            .deferred(.serviceUnavailable, retryAfter: .seconds(9)),
            .upstreamFailed(.unavailable, retryAfter: .seconds(9))
        ),
        (.deferred(.credentials, retryAfter: .seconds(9)), .upstreamFailed(.credentials, retryAfter: .seconds(9))),
        (.failed(.timeout, retryAfter: .seconds(9)), .upstreamFailed(.timeout, retryAfter: .seconds(9))),
        (.failed(.unreachable, retryAfter: .seconds(9)), .upstreamFailed(.unreachable, retryAfter: .seconds(9))),
        (.failed(.overloaded, retryAfter: .seconds(9)), .overloaded),
    ])
    func `what fails is counted, told, and keeps the registration`(
        _ outcome: DeliveryOutcome, _ verdict: PushVerdict
    ) async throws {
        let scene = Scene(ios: ScriptedService(.ios, outcome))
        let capability = try await scene.registered()
        #expect(await scene.push(capability) == verdict)
        #expect(scene.store.knows(capability))
        #expect(scene.counted() == ["registered ios": 1, "failed ios": 1])
    }
}

@Suite(.timeLimit(.minutes(1)))
struct ForgettingTests {
    @Test func `a dead token is forgotten with every capability that leads to it`() async throws {
        let scene = Scene(ios: ScriptedService(.ios, .unregistered(.stated(since: nil))))
        let first = try await scene.registered()
        let second = try await scene.registered()
        #expect(await scene.push(first) == .gone)
        #expect(!scene.store.knows(first) && !scene.store.knows(second))
        #expect(await scene.push(second) == .unknownCapability)
        #expect(scene.counted() == ["registered ios": 2, "gone ios": 1])
    }

    @Test func `a phone that registered after Apple had given it up is kept`() async throws {
        let scene = Scene()
        let died = scene.time.wall.advanced(by: .seconds(-1))
        let again = Scene(ios: ScriptedService(.ios, .unregistered(.stated(since: died))))
        let capability = try await again.registered()
        #expect(await again.push(capability) == .upstreamFailed(.rejected, retryAfter: .seconds(60)))
        #expect(again.store.knows(capability))
    }

    @Test func `a phone that registered before Apple gave it up is forgotten, one that came back since is not`()
        async throws
    {
        let died = Scene().time.wall.advanced(by: .seconds(10))
        let scene = Scene(ios: ScriptedService(.ios, .unregistered(.stated(since: died))))
        let old = try await scene.registered()
        scene.time.advance(by: .seconds(20))
        let new = try await scene.registered()
        #expect(await scene.push(old) == .gone)
        #expect(!scene.store.knows(old))
        #expect(scene.store.knows(new))
    }

    @Test func `a phone that came back at the very moment of its death is kept, and the push has failed`() async throws
    {
        let scene = Scene(ios: ScriptedService(.ios, .unregistered(.stated(since: SetClocks().wall))))
        let capability = try await scene.registered()
        #expect(await scene.push(capability) == .upstreamFailed(.rejected, retryAfter: .seconds(60)))
        #expect(scene.store.knows(capability))
        #expect(scene.counted() == ["registered ios": 1, "failed ios": 1])
    }

    @Test func `a registration made while the push was under way is kept`() async throws {
        let late = Mutex<Capability?>(nil)
        let box = Mutex<Scene?>(nil)
        let apple = ScriptedService(
            .ios, .unregistered(.stated(since: nil)),
            meanwhile: {
                guard let scene = box.withLock({ $0 }) else { return }
                scene.time.advance(by: .seconds(1))
                let capability = try? await scene.registered()
                late.withLock { $0 = capability }
            })
        let scene = Scene(ios: apple)
        box.withLock { $0 = scene }
        defer { box.withLock { $0 = nil } }
        let old = try await scene.registered()
        #expect(await scene.push(old) == .gone)
        #expect(!scene.store.knows(old))
        let new = try #require(late.withLock { $0 })
        #expect(scene.store.knows(new))
    }

    @Test func `a registration that a clock's jump made look newer is forgotten all the same`() async throws {
        let scene = Scene(ios: ScriptedService(.ios, .unregistered(.stated(since: nil))))
        let capability = try await scene.registered()
        scene.time.jumpWall(by: .seconds(-3600))
        #expect(await scene.push(capability) == .gone)
        #expect(!scene.store.knows(capability))
    }

    @Test func `a wrong topic does not empty the store`() async throws {
        let scene = Scene(ios: ScriptedService(.ios, .unregistered(.inferred)), registrations: 0)
        var verdicts: [PushVerdict] = []
        for number in 0..<100 {
            let text = String(number)
            let token = DeviceToken(
                unchecked: String(repeating: "0", count: 64 - text.count) + text, for: .ios)
            verdicts.append(await scene.push(try await scene.registered(token)))
        }
        #expect(verdicts.count { $0 == .upstreamFailed(.credentials, retryAfter: .seconds(300)) } == 100)
        #expect(try await scene.store.deviceCounts().ios == 100)
    }

    @Test func `a token that was not taken and is kept is not asked for again for a while`() async throws {
        let apple = ScriptedService(.ios, .unregistered(.inferred))
        let scene = Scene(ios: apple)
        let capability = try await scene.registered()
        let other = try await scene.registered()
        #expect(await scene.push(capability) == .upstreamFailed(.credentials, retryAfter: .seconds(300)))
        scene.time.advance(by: .seconds(100))
        for capability in [capability, other] {
            #expect(await scene.push(capability) == .upstreamFailed(.credentials, retryAfter: .seconds(200)))
        }
        #expect(apple.asked.count == 1)
        #expect(scene.counted() == ["registered ios": 2, "failed ios": 3])
        scene.time.advance(by: .seconds(200))
        #expect(await scene.push(capability) == .upstreamFailed(.credentials, retryAfter: .seconds(300)))
        #expect(apple.asked.count == 2)
        // A phone that registers anew is asked for at once, by whichever capability.
        _ = try await scene.registered()
        #expect(await scene.push(other) == .upstreamFailed(.credentials, retryAfter: .seconds(300)))
        #expect(apple.asked.count == 3)
    }

    @Test func `a phone of another project is not asked for again for a while, and is kept`() async throws {
        let google = ScriptedService(.android, .rejected(.foreignDevice))
        let scene = Scene(android: google)
        let capability = try await scene.registered(Scene.android)
        for _ in 0..<3 { #expect(await scene.push(capability) == .upstreamFailed(.rejected, retryAfter: nil)) }
        #expect(google.asked.count == 1)
        #expect(scene.store.knows(capability))
        #expect(scene.counted() == ["registered android": 1, "failed android": 3])
        scene.time.advance(by: .seconds(300))
        #expect(await scene.push(capability) == .upstreamFailed(.rejected, retryAfter: nil))
        #expect(google.asked.count == 2)
    }

    @Test(arguments: [APNsEnvironment.production, .sandbox])
    func `what is no token in one of Apple's environments goes on in the other`(dead: APNsEnvironment) async throws {
        let apple = ScriptedService(.ios, .accepted, .unregistered(.inferred), .accepted)
        let scene = Scene(ios: apple)
        let other = DeviceToken(unchecked: String(repeating: "cd", count: 32), for: .ios)
        #expect(await scene.push(try await scene.registered(other, in: dead)) == .accepted)
        let right = try await scene.registered(in: dead == .sandbox ? .production : .sandbox)
        let wrong = try await scene.registered(in: dead)
        #expect(await scene.push(wrong) == .gone)
        #expect(!scene.store.knows(wrong))
        #expect(await scene.push(right) == .accepted)
    }

    @Test func `late answers under a right topic do not vouch for a wrong one that came meanwhile`() async throws {
        let box = Mutex<Scene?>(nil)
        defer { box.withLock { $0 = nil } }
        let wrong = ScriptedService(.ios, .unregistered(.inferred))
        let right = ScriptedService(
            .ios, .accepted,
            meanwhile: {
                guard let relay = box.withLock({ $0 })?.relay else { return }
                relay.services.replace(.ios, by: wrong)
                relay.shared.guardian.startAnew(.ios)
            })
        let scene = Scene(ios: right)
        var phones: [Capability] = []
        for number in 0..<10 {
            let token = DeviceToken(unchecked: String(repeating: "\(number)f", count: 32), for: .ios)
            phones.append(try await scene.registered(token))
        }
        box.withLock { $0 = scene }
        #expect(await scene.push(phones[0]) == .accepted)
        for phone in phones.dropFirst() {
            #expect(await scene.push(phone) == .upstreamFailed(.credentials, retryAfter: .seconds(300)))
        }
        #expect(phones.allSatisfy { scene.store.knows($0) })
    }

    private static let unforgotten: [(error: StoreError, verdict: PushVerdict)] = [
        (.full, .storeFailed), (.readOnly, .storeFailed), (.failed(code: 1034), .storeFailed), (.busy, .overloaded),
        (.overloaded, .overloaded), (.replaced, .overloaded),
    ]

    @Test(arguments: unforgotten)
    func `gone is said once the phone is forgotten, and not before`(
        error: StoreError, verdict: PushVerdict
    ) async throws {
        let box = Mutex<MemoryStore?>(nil)
        let apple = ScriptedService(
            .ios, .unregistered(.stated(since: nil)), meanwhile: { box.withLock { $0 }?.fail(with: error) })
        let scene = Scene(ios: apple)
        box.withLock { $0 = scene.store }
        let capability = try await scene.registered()
        #expect(await scene.push(capability) == verdict)
        #expect(scene.store.knows(capability))
        #expect(scene.counted() == ["registered ios": 1, "failed ios": 1])
        // The disk is back: the next push is told, and the death counts once.
        box.withLock { $0 = nil }
        scene.store.fail(with: nil)
        #expect(await scene.push(capability) == .gone)
        #expect(!scene.store.knows(capability))
        #expect(scene.counted() == ["registered ios": 1, "failed ios": 1, "gone ios": 1])
    }

    @Test func `a look-up that another process is in the way of may come again`() async throws {
        let scene = Scene(ios: ScriptedService(.ios, .accepted))
        let capability = try await scene.registered()
        scene.store.fail(with: .busy)
        #expect(await scene.push(capability) == .overloaded)
        scene.store.fail(with: nil)
        #expect(await scene.push(capability) == .accepted)
    }
}

@Suite(.timeLimit(.minutes(1)))
struct RegistrationTests {
    @Test func `a phone without its platform's credentials is refused before it costs a place in the limit`() async {
        let scene = Scene(android: ScriptedService(.android, .accepted), registrations: 1)
        for _ in 0..<3 {
            let verdict = await scene.relay.register(
                RegistrationRequest(
                    client: scene.client, token: Scene.iPhone, environment: .production, opensPreviews: false))
            guard case .platformUnavailable(.ios) = verdict else {
                Issue.record("\(verdict)")
                return
            }
        }
        await #expect(throws: Never.self) { try await scene.registered(Scene.android) }
    }

    @Test func `no two registrations get the same capability`() async throws {
        let scene = Scene(ios: ScriptedService(.ios, .accepted), registrations: 0)
        var seen: Set<String> = []
        for _ in 0..<1000 { seen.insert(try await scene.registered().disclosed) }
        #expect(seen.count == 1000)
    }

    @Test func `an address may register so often and no more`() async throws {
        let scene = Scene(ios: ScriptedService(.ios, .accepted), registrations: 2)
        _ = try await scene.registered()
        _ = try await scene.registered()
        await #expect(throws: SceneError.notRegistered) { try await scene.registered() }
        scene.time.advance(by: .seconds(3600))
        _ = try await scene.registered()
    }

    @Test func `a registration that could not be written leads nowhere and is not counted`() async {
        let scene = Scene(ios: ScriptedService(.ios, .accepted))
        scene.store.fail(with: .full)
        await #expect(throws: SceneError.notRegistered) { try await scene.registered() }
        #expect(scene.counted() == [:])
    }

    @Test func `what was taken back is unknown, and can be registered anew`() async throws {
        let scene = Scene(ios: ScriptedService(.ios, .accepted))
        let first = try await scene.registered()
        guard case .removed = await scene.relay.remove(first) else {
            Issue.record("not removed")
            return
        }
        guard case .unknownCapability = await scene.relay.remove(first) else {
            Issue.record("removed twice")
            return
        }
        #expect(await scene.push(first) == .unknownCapability)
        #expect(await scene.push(try await scene.registered()) == .accepted)
    }
}
