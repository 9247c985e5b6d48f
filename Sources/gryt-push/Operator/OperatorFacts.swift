import DeviceStore
import HTTP2Client
import PushModel
import PushServices
import RelayAPI
import SQLiteDeviceStore
import Telemetry

/// All that a scrape, the page or readiness is made of, gathered at one moment. A plain value, so that what is written and
/// concluded from it needs no running relay to be tested.
struct OperatorFacts: Sendable {
    /// As `/healthz` gives it.
    var version: String
    /// Now, on both clocks.
    var reckoning: WallReckoning
    /// When the process began to serve.
    var startedAt: MonotonicInstant
    /// Whether the relay takes no more requests.
    var isDraining = false

    /// Registrations held; nil when the store did not answer.
    var devices: DeviceCounts?
    /// Sums of the table of counts; empty when the store did not answer.
    var allTime: [AllTimeTotal] = []
    /// What the writer has done.
    var writer = WriterStatistics()
    /// Whether the database's file is no longer the one that is open.
    var isDatabaseReplaced = false
    /// Where the database is.
    var disk: DiskReading
    /// What the system says about the process.
    var process: ProcessReading
    /// When the process began, in nanoseconds since 1970.
    var processStart: Int64?

    /// What the push services think of the credentials.
    var credentials: PerPlatform<CredentialSnapshot>
    /// What has been counted.
    var platforms: PerPlatform<PlatformReading>
    /// The same of the last minutes alone.
    var recent: PerPlatform<RecentReading>
    /// Whether dead tokens are disbelieved.
    var massDeathSuspected: PerPlatform<Bool>
    /// Whether push services are asked, in the order of `Upstream.allCases`, where there are credentials.
    var breakers: [BreakerFacts] = []
    /// How fast pushes go to FCM; nil without credentials for it.
    var pace: PaceFacts?
    /// Connections to push services, in the order of `Upstream.allCases`, where there are credentials.
    var upstreams: [UpstreamFacts] = []

    /// Connections to the public port.
    var openConnections = 0
    /// Pushes under way.
    var pushesInFlight = 0
    /// Pushes that may be under way.
    var pushesInFlightLimit: Int
    /// Requests refused, in the order of ``RefusalCode``'s cases.
    var refusals: [Int]
    /// Requests for an access token, in the order of ``AccessTokenResult``'s cases.
    var accessTokens: [Int]
    /// Each limit's keys.
    var limiters: [LimiterFacts] = []

    /// Reloads, in the order of ``ReloadResult``'s cases.
    var reloads: [Int] = ReloadResult.allCases.map { _ in 0 }

    /// How late the timers of all loops fired.
    var lag: HistogramReading
    /// The same of the last minutes alone.
    var recentLag: HistogramReading
    /// Loops that did not answer in time.
    var silentLoops = 0
    /// Loops that there are.
    var loops: Int
}

/// What loops say about one upstream, all together.
struct UpstreamFacts: Sendable {
    /// As the page shows it.
    var snapshot: ConnectionSnapshot
    /// Connections that came to take requests.
    var opened = 0
    /// Connections of these that are gone.
    var closed = 0
    /// Attempts to connect that came to nothing.
    var failedAttempts = 0

    init(_ upstream: Upstream) { snapshot = ConnectionSnapshot(upstream: upstream) }

    /// Adds one loop's pool.
    mutating func add(_ pool: HTTP2PoolSnapshot) {
        snapshot.connecting += pool.connecting
        snapshot.open += pool.open
        snapshot.draining += pool.draining
        snapshot.inFlight += pool.inFlight
        snapshot.waiting += pool.waiting
        snapshot.streamLimit += pool.streamLimit
        if let fault = pool.lastFault { snapshot.lastFault = fault.description }
        add(pool.totals)
    }

    /// Adds what one loop's pool has counted, and nothing of its state.
    mutating func add(_ totals: HTTP2PoolTotals) {
        opened += totals.opened
        closed += totals.closed
        failedAttempts += totals.failedAttempts
    }
}

/// Whether a push service is asked.
struct BreakerFacts: Sendable {
    /// Which.
    var upstream: Upstream
    /// Why it is not, and since when; nil while it is.
    var open: (cause: BreakerCause, since: MonotonicInstant)?

    init(_ breaker: ServiceBreaker) { self.init(upstream: breaker.upstream, open: breaker.open) }

    init(upstream: Upstream, open: (cause: BreakerCause, since: MonotonicInstant)?) {
        self.upstream = upstream
        self.open = open
    }
}

/// How fast pushes go to a push service.
struct PaceFacts: Sendable {
    /// How many may in a second; nil for any number.
    var limit: Double?
    /// How many were refused for it so far.
    var heldBack: Int
}

/// How many keys a limit remembers.
struct LimiterFacts: Sendable {
    /// Which limit: the values of the label `limit`.
    enum Name: String, MetricLabelValue {
        /// Pushes of an address.
        case address
        /// Pushes to a capability.
        case capability
        /// Registrations of an address.
        case registrations
    }

    var name: Name
    var keys: Int
    var maximum: Int
}
