package import DeviceStore
package import Limits
package import PushModel
package import PushServices
import Synchronization

/// The way through: one file a step, and here the calls in their order. One a loop; what loops share is in `shared`.
///
/// It sees no socket, no SQL, no Apple and no Google: bytes become values before it, and its verdicts become status and
/// code after it.
package struct Relay: Sendable {
    /// What the loops share.
    package let shared: RelayShared
    /// The devices, as this loop reaches them.
    package let store: any DeviceStore
    /// The push services that have credentials, as this loop reaches them.
    package let services: PushServiceSet
    /// Names this loop's pushes.
    let ids = PushIDSource()
    private let observer: (any PushObserver)?

    /// - Parameter observer: is told how pushes end, and of what the store did not do.
    package init(
        shared: RelayShared, store: any DeviceStore, services: PushServiceSet, observer: (any PushObserver)? = nil
    ) {
        self.shared = shared
        self.store = store
        self.services = services
        self.observer = observer
    }

    /// The store did not do something; whoever asked is told only that it did not work.
    func storeFailed(_ task: StoreTask, _ error: StoreError) { observer?.storeFailed(task, error) }

    /// Registers a phone for one more server.
    package func register(_ request: RegistrationRequest) async -> RegistrationVerdict {
        guard services.has(request.token.platform) else { return .platformUnavailable(request.token.platform) }
        switch admitRegistration(from: request.client) {
        case .admitted: break
        case .refused(let retryAfter): return .limited(retryAfter: retryAfter)
        case .crowded: return .overloaded
        }
        return await enroll(request)
    }

    /// Rings a phone.
    package func push(_ request: PushRequest) async -> PushVerdict {
        switch admitPush(from: request.client, at: shared.clocks.monotonic()) {
        case .admitted: break
        case .refused(let retryAfter): return .addressLimited(retryAfter: retryAfter)
        case .crowded: return .overloaded
        }
        let stored: StoredDevice
        switch await lookUp(request.capability) {
        case .found(let device): stored = device
        case .unknown: return .unknownCapability
        case .overloaded: return .overloaded
        case .storeFailed: return .storeFailed
        }
        let platform = stored.device.token.platform
        // Taken before the capability's limit is asked, for a push that is shed must not count in it.
        guard let permit = shared.permits.take(for: platform) else { return .overloaded }
        let startedAt = shared.clocks.monotonic()
        switch admitPush(to: stored.hash, at: startedAt) {
        case .admitted: break
        case .refused(let retryAfter): return .capabilityLimited(retryAfter: retryAfter)
        case .crowded: return .overloaded
        }
        let era = shared.guardian.era(of: platform)
        guard let service = services.service(for: platform) else { return .platformUnavailable(platform) }
        let verdict = await ring(request, stored, through: service, in: era, permit, at: startedAt)
        observer?.pushed(verdict, platform, startedAt: startedAt, endedAt: shared.clocks.monotonic())
        return verdict
    }

    private func ring(
        _ request: PushRequest, _ stored: StoredDevice, through service: any PushService, in era: MassDeathGuard.Era,
        _ permit: consuming Permit, at now: MonotonicInstant
    ) async -> PushVerdict {
        let asked = Asked(at: shared.clocks.wall(), in: era)
        if let verdict = refusal(of: stored.device, at: now) { return verdict }
        let outcome = await deliver(request, to: stored, through: service, at: now)
        _ = consume permit
        return await conclude(outcome, for: stored, kind: request.kind, asked)
    }

    /// Takes a capability back.
    package func remove(_ capability: Capability) async -> RemovalVerdict {
        await withdraw(capability)
    }
}

/// Hears how pushes end, to count it, and of what the store did not do, to tell the operator. Called on the loop; must be
/// quick.
package protocol PushObserver: Sendable {
    /// A push for which there was a device and a push service has its verdict.
    ///
    /// - Parameter startedAt: when the device was found.
    func pushed(_ verdict: PushVerdict, _ platform: Platform, startedAt: MonotonicInstant, endedAt: MonotonicInstant)

    /// The store did not do something.
    func storeFailed(_ task: StoreTask, _ error: StoreError)
}

/// What the relay asks of the store for somebody. Raw values stand in the log.
package enum StoreTask: String, Sendable {
    case register
    case lookUp = "look_up"
    case forget
    case remove
}

/// What all loops share.
package struct RelayShared: Sendable {
    /// How often an address may push.
    package var pushesByAddress: RateLimiter<ClientAddress>
    /// How often a capability may be pushed to.
    package var pushesByCapability: RateLimiter<CapabilityKey>
    /// How often an address may register.
    package var registrationsByAddress: RateLimiter<ClientAddress>
    /// How many pushes may be in flight at once.
    package var permits: PushPermits
    /// What is counted, by day.
    package var tally: DailyTally
    /// Keeps a wrong setting from emptying the store.
    package var guardian: MassDeathGuard
    /// How long a sender is kept waiting.
    package let budget: PushBudget
    /// The time.
    package var clocks: Clocks

    package init(
        pushesByAddress: RateLimiter<ClientAddress>, pushesByCapability: RateLimiter<CapabilityKey>,
        registrationsByAddress: RateLimiter<ClientAddress>, permits: PushPermits, tally: DailyTally,
        guardian: MassDeathGuard, budget: Duration, clocks: Clocks
    ) {
        self.pushesByAddress = pushesByAddress
        self.pushesByCapability = pushesByCapability
        self.registrationsByAddress = registrationsByAddress
        self.permits = permits
        self.tally = tally
        self.guardian = guardian
        self.budget = PushBudget(budget)
        self.clocks = clocks
    }
}

/// How long a sender is kept waiting for its answer. May be changed at any time; a push keeps what it began with.
package final class PushBudget: Sendable {
    private let milliseconds: Atomic<Int64>

    /// Whole milliseconds count.
    package init(_ duration: Duration) { milliseconds = Atomic(Self.milliseconds(duration)) }

    /// What a push that comes now gets.
    package var duration: Duration { .milliseconds(milliseconds.load(ordering: .relaxed)) }

    /// Gives pushes that come from now on another budget.
    package func change(to duration: Duration) {
        milliseconds.store(Self.milliseconds(duration), ordering: .relaxed)
    }

    private static func milliseconds(_ duration: Duration) -> Int64 { Int64(duration / .milliseconds(1)) }
}

/// The push services that have credentials, as one loop reaches them. They may be replaced at any time; a push that is
/// under way goes on with the one that it began with.
package final class PushServiceSet: Sendable {
    private struct Services: Sendable {
        var ios: (any PushService)?
        var android: (any PushService)?
    }

    private let services: Mutex<Services>

    package init(ios: (any PushService)?, android: (any PushService)?) {
        services = Mutex(Services(ios: ios, android: android))
    }

    /// The service for a platform; nil when the operator gave no credentials for it.
    package func service(for platform: Platform) -> (any PushService)? {
        services.withLock { services in
            switch platform {
            case .ios: services.ios
            case .android: services.android
            }
        }
    }

    /// Has pushes to a platform go through another service from now on, or through none.
    package func replace(_ platform: Platform, by service: (any PushService)?) {
        services.withLock { services in
            switch platform {
            case .ios: services.ios = service
            case .android: services.android = service
            }
        }
    }

    /// Whether phones of this platform can be reached.
    package func has(_ platform: Platform) -> Bool { service(for: platform) != nil }
}
