import DeviceStore
import HTTP2Client
import PushModel
import PushServices
import RelayAPI
import SQLiteDeviceStore
import Synchronization
import Telemetry

@testable import gryt_push

/// Clocks that a test sets; they begin at a noon, an hour after the machine's start.
final class SetClocks: Sendable {
    private let now = Mutex<(wall: Int64, monotonic: Int64)>((1_790_000_000_000, 3_600_000_000_000))

    var clocks: Clocks {
        Clocks(
            wall: { WallInstant(milliseconds: self.now.withLock { $0.wall }) },
            monotonic: { MonotonicInstant(nanoseconds: self.now.withLock { $0.monotonic }) })
    }

    func advance(by duration: Duration) {
        now.withLock { now in
            now.wall += duration.wholeMilliseconds
            now.monotonic += duration.wholeNanoseconds
        }
    }
}

/// Counts without devices, which fail on demand. What is written is seen by readers at once.
final class CountStore: DeviceStore {
    struct State {
        var counts: [DailyCount: Int] = [:]
        var failure: StoreError?
        var reads = 0
        /// The days from which daily counts were asked for.
        var daysAsked: [UTCDay] = []
        /// Happens in the middle of each read, after the store was looked at.
        var afterLook: (@Sendable () async -> Void)?
    }

    let state = Mutex(State())

    var counts: [DailyCount: Int] { state.withLock { $0.counts } }

    private func look<Value: Sendable>(_ body: (State) -> Value) async throws(StoreError) -> Value {
        let (result, afterLook): (Result<Value, StoreError>, (@Sendable () async -> Void)?) = state.withLock { state in
            state.reads += 1
            let afterLook = state.afterLook
            if let failure = state.failure { return (.failure(failure), afterLook) }
            return (.success(body(state)), afterLook)
        }
        await afterLook?()
        return try result.get()
    }

    func add(_ counts: [DailyCount: Int]) async throws(StoreError) {
        let failure = state.withLock { state -> StoreError? in
            if state.failure == nil { state.counts.merge(counts, uniquingKeysWith: +) }
            return state.failure
        }
        if let failure { throw failure }
    }

    func dailyCounts(from day: UTCDay) async throws(StoreError) -> [DailyTotal] {
        state.withLock { $0.daysAsked.append(day) }
        return try await look { state in
            state.counts.filter { $0.key.day >= day }.sorted { $0.key < $1.key }
                .map { DailyTotal(count: $0.key, n: $0.value) }
        }
    }

    func allTimeCounts() async throws(StoreError) -> [AllTimeTotal] {
        try await look { state in
            state.counts.map {
                AllTimeTotal(event: $0.key.event, platform: $0.key.platform, kind: $0.key.kind, n: $0.value)
            }
        }
    }

    func deviceCounts() async throws(StoreError) -> DeviceCounts { DeviceCounts(ios: 3, android: 4) }

    func register(_ registration: Registration) async throws(StoreError) { throw .closed }
    func device(for capability: Capability) async throws(StoreError) -> StoredDevice? { nil }
    func remove(_ hash: CapabilityHash) async throws(StoreError) -> Bool { false }
    func forget(
        _ token: DeviceToken, in environment: APNsEnvironment, registeredBefore instant: WallInstant?
    ) async throws(StoreError) -> Int { 0 }
    func markUsed(_ hash: CapabilityHash, on day: UTCDay) {}
    func dropIdle(before day: UTCDay, limit: Int) async throws(StoreError) -> Int { 0 }
    func flush() async throws(StoreError) {}
    func close() async {}
}

/// What a relay without any trouble has to say: both platforms accepted, nothing under way.
func quietFacts(_ clocks: SetClocks = SetClocks(), metrics: RelayMetrics? = nil) -> OperatorFacts {
    let metrics = metrics ?? RelayMetrics(loops: 2, clocks: clocks.clocks)
    let platforms = PerPlatform { metrics.platform($0) }
    let window = RecentWindow()
    let reckoning = WallReckoning(clocks.clocks)
    var facts = OperatorFacts(
        version: "1.2.3", reckoning: reckoning, startedAt: clocks.clocks.monotonic(),
        disk: DiskReading(freeBytes: 10 << 30, databaseBytes: 1 << 20),
        process: ProcessReading(
            cpuNanoseconds: 1_500_000_000, residentBytes: 1 << 24, virtualBytes: 1 << 30, openDescriptors: 40,
            maximumDescriptors: 1024),
        processStart: 1_789_999_000_500_000_000,
        credentials: PerPlatform {
            CredentialSnapshot(
                platform: $0, state: .accepted, tokenAge: .seconds(90),
                lastAccepted: reckoning.wall.advanced(by: .seconds(-1)))
        },
        platforms: platforms, recent: PerPlatform { window.recent($0, platforms[$0]) },
        massDeathSuspected: PerPlatform { _ in false }, pushesInFlightLimit: 100, refusals: metrics.refusals,
        accessTokens: metrics.accessTokens.values, lag: metrics.lag, recentLag: metrics.lag, loops: 2)
    facts.devices = DeviceCounts(ios: 3, android: 4)
    facts.upstreams = Upstream.allCases.map { UpstreamFacts($0) }
    facts.pace = PaceFacts(heldBack: 0)
    facts.breakers = [Upstream.apns, .apnsSandbox, .fcm].map { BreakerFacts(upstream: $0, open: nil) }
    facts.limiters = LimiterFacts.Name.allCases.map { LimiterFacts(name: $0, keys: 1, maximum: 1000) }
    return facts
}
