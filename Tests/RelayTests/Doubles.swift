import DeviceStore
import Limits
import PushModel
import PushServices
import Relay
import Synchronization

/// Keeps registrations in memory, under the same promises as the real store, and fails on demand.
final class MemoryStore: DeviceStore {
    struct State {
        var devices: [CapabilityHash: StoredDevice] = [:]
        var lookUps = 0
        var marks: [UTCDay] = []
        var counts: [DailyCount: Int] = [:]
        var failure: StoreError?
    }

    let state = Mutex(State())

    func fail(with error: StoreError?) { state.withLock { $0.failure = error } }
    var lookUps: Int { state.withLock { $0.lookUps } }
    var marks: [UTCDay] { state.withLock { $0.marks } }
    var counts: [DailyCount: Int] { state.withLock { $0.counts } }
    func knows(_ capability: Capability) -> Bool {
        state.withLock { $0.devices[CapabilityHash(of: capability)] != nil }
    }

    private func tried<Value: Sendable>(
        _ body: (inout State) -> Value
    ) throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = state.withLock { state in
            if let failure = state.failure { return .failure(failure) }
            return .success(body(&state))
        }
        return try result.get()
    }

    func register(_ registration: Registration) async throws(StoreError) {
        let hash = CapabilityHash(of: registration.capability)
        let device = Device(
            token: registration.token, environment: registration.environment,
            opensPreviews: registration.opensPreviews, registeredAt: registration.registeredAt)
        try tried {
            $0.devices[hash] = StoredDevice(hash: hash, device: device, lastUsed: registration.registeredAt.day)
        }
    }

    func device(for capability: Capability) async throws(StoreError) -> StoredDevice? {
        try tried { state in
            state.lookUps += 1
            return state.devices[CapabilityHash(of: capability)]
        }
    }

    func remove(_ hash: CapabilityHash) async throws(StoreError) -> Bool {
        try tried { $0.devices.removeValue(forKey: hash) != nil }
    }

    func forget(
        _ token: DeviceToken, in environment: APNsEnvironment, registeredBefore instant: WallInstant?
    ) async throws(StoreError) -> Int {
        try tried { state in
            let before = state.devices.count
            state.devices = state.devices.filter { _, stored in
                guard stored.device.token == token, stored.device.environment == environment else { return true }
                guard let instant else { return false }
                return stored.device.registeredAt > instant
            }
            return before - state.devices.count
        }
    }

    func markUsed(_ hash: CapabilityHash, on day: UTCDay) {
        state.withLock { state in
            state.devices[hash]?.lastUsed = day
            state.marks.append(day)
        }
    }

    func add(_ counts: [DailyCount: Int]) async throws(StoreError) {
        try tried { $0.counts.merge(counts, uniquingKeysWith: +) }
    }

    func dailyCounts(from day: UTCDay) async throws(StoreError) -> [DailyTotal] {
        try tried { state in
            state.counts.filter { $0.key.day >= day }.sorted { $0.key < $1.key }
                .map { DailyTotal(count: $0.key, n: $0.value) }
        }
    }

    func allTimeCounts() async throws(StoreError) -> [AllTimeTotal] { [] }

    func deviceCounts() async throws(StoreError) -> DeviceCounts {
        try tried { state in
            let ios = state.devices.values.count { $0.device.token.platform == .ios }
            return DeviceCounts(ios: ios, android: state.devices.count - ios)
        }
    }

    func dropIdle(before day: UTCDay, limit: Int) async throws(StoreError) -> Int {
        try tried { state in
            let idle = state.devices.filter { $0.value.lastUsed < day }.prefix(limit)
            for (hash, _) in idle { state.devices[hash] = nil }
            return idle.count
        }
    }

    func flush() async throws(StoreError) {}
    func close() async {}
}

/// A push service that answers what it was told to, and keeps what it was asked.
final class ScriptedService: PushService {
    let platform: Platform
    private let state = Mutex<(outcomes: [DeliveryOutcome], asked: [(PushNotification, Device)])>(([], []))
    private let meanwhile: @Sendable () async -> Void

    /// - Parameters:
    ///   - outcomes: in turn; the last one for ever after.
    ///   - meanwhile: happens while a push is under way.
    init(_ platform: Platform, _ outcomes: DeliveryOutcome..., meanwhile: @escaping @Sendable () async -> Void = {}) {
        self.platform = platform
        self.meanwhile = meanwhile
        state.withLock { $0.outcomes = outcomes }
    }

    var asked: [(PushNotification, Device)] { state.withLock { $0.asked } }

    func deliver(
        _ notification: PushNotification, to device: Device, by deadline: MonotonicInstant
    ) async -> DeliveryOutcome {
        await meanwhile()
        return state.withLock { state in
            state.asked.append((notification, device))
            return state.outcomes.count > 1 ? state.outcomes.removeFirst() : state.outcomes[0]
        }
    }
}

/// Clocks that a test sets; they begin at a noon.
final class SetClocks: Sendable {
    private let now = Mutex<(wall: Int64, monotonic: Int64)>((1_790_000_000_000, 0))

    var clocks: Clocks {
        Clocks(
            wall: { WallInstant(milliseconds: self.now.withLock { $0.wall }) },
            monotonic: { MonotonicInstant(nanoseconds: self.now.withLock { $0.monotonic }) })
    }

    var wall: WallInstant { clocks.wall() }

    func advance(by duration: Duration) {
        now.withLock {
            $0.wall += duration.wholeMilliseconds
            $0.monotonic += duration.wholeNanoseconds
        }
    }

    func jumpWall(by duration: Duration) { now.withLock { $0.wall += duration.wholeMilliseconds } }
}

/// A relay over doubles, with small limits unless a test asks for others.
struct Scene {
    let time = SetClocks()
    let store = MemoryStore()
    let tally = DailyTally()
    let relay: Relay
    let client = ClientAddress(ipv4: 0x0102_0304)

    init(
        ios: (any PushService)? = nil, android: (any PushService)? = nil, perAddress: Int = 1200,
        perCapability: Int = 20,
        registrations: Int = 60, permits: Int = 100
    ) {
        relay = Relay(
            shared: RelayShared(
                pushesByAddress: RateLimiter(limit: perAddress, window: .seconds(60), maximumKeys: 1000),
                pushesByCapability: RateLimiter(limit: perCapability, window: .seconds(60), maximumKeys: 1000),
                registrationsByAddress: RateLimiter(limit: registrations, window: .seconds(3600), maximumKeys: 1000),
                permits: PushPermits(limit: permits), tally: tally, guardian: MassDeathGuard(),
                budget: .milliseconds(4500), clocks: time.clocks),
            store: store, services: PushServiceSet(ios: ios, android: android))
    }

    static let iPhone = DeviceToken(unchecked: String(repeating: "ab", count: 32), for: .ios)
    static let android = DeviceToken(unchecked: String(repeating: "x", count: 140), for: .android)

    func registered(
        _ token: DeviceToken = iPhone, in environment: APNsEnvironment = .production
    ) async throws -> Capability {
        let verdict = await relay.register(
            RegistrationRequest(client: client, token: token, environment: environment, opensPreviews: false))
        guard case .registered(let capability) = verdict else { throw SceneError.notRegistered }
        return capability
    }

    func push(_ capability: Capability, kind: Kind = .dm, preview: SealedPreview? = nil) async -> PushVerdict {
        await relay.push(PushRequest(client: client, capability: capability, kind: kind, preview: preview))
    }

    /// What has been counted, days left out.
    func counted() -> [String: Int] {
        var counts: [String: Int] = [:]
        for (key, n) in tally.unwritten.counts {
            counts["\(key.event.rawValue) \(key.platform.rawValue)\(key.kind.map { " " + $0.rawValue } ?? "")"] = n
        }
        return counts
    }
}

enum SceneError: Error { case notRegistered }
