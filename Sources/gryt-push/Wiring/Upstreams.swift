import Cryptography
import EventLoops
import HTTP2Client
import PushModel
import PushServices
import Relay
import Synchronization
import Telemetry

/// The push services, as the whole process shares them: credentials and trust. Each loop makes its own connections.
struct Upstreams: Sendable {
    /// What APNs needs; nil without credentials for it.
    struct APNs: Sendable {
        var topic: String
        var production: Origin
        var sandbox: Origin
        var tokens: ProviderTokenSource
        var productionBreaker: ServiceBreaker
        var sandboxBreaker: ServiceBreaker
    }

    /// What FCM needs; nil without credentials for it.
    struct FCM: Sendable {
        var account: ServiceAccount
        var origin: Origin
        var tokens: AccessTokenSource
        var breaker: ServiceBreaker
        var pace: ProjectPace
        /// What the token endpoint says about the account.
        var record: CredentialRecord
        /// The one pool to Google's token endpoint; it lives on the loop that was named when it was made.
        var tokenPool: HTTP2Pool
    }

    var trust: TLSTrust
    /// The proxy on the way to all of them; nil when there is none.
    var proxy: ForwardProxy?
    var apns: APNs?
    var fcm: FCM?

    /// What there are credentials for, in the order of `Upstream.allCases`.
    var names: [Upstream] {
        (apns == nil ? [] : [.apns, .apnsSandbox]) + (fcm == nil ? [] : [.fcm, .oauth])
    }

    /// What stands before them, in the same order.
    var breakers: [ServiceBreaker] {
        [apns?.productionBreaker, apns?.sandboxBreaker, fcm?.breaker].compactMap(\.self)
    }

    /// Lets nothing wait any more for what has failed so far: the operator has acted.
    func startAnew(at now: MonotonicInstant) {
        for breaker in breakers { breaker.startAnew(at: now) }
        fcm?.tokens.startAnew()
    }

    /// Makes one loop's connections to a platform's service, which open at their first push. Nil without credentials.
    func open(
        _ platform: Platform, on loop: EventLoop, clocks: Clocks, observer: LoopObserver
    ) -> (service: any PushService, pools: [NamedPool])? {
        let generation = observer.metrics.platforms[platform].generation.load(ordering: .relaxed)
        let watching = ServiceObserver(loop: observer, generation: generation)
        let report = observer.report
        func pool(
            _ upstream: Upstream, _ origin: Origin, _ configuration: HTTP2PoolConfiguration, _ breaker: ServiceBreaker,
            watch: @escaping @Sendable (HTTP2ConnectionEvent) -> Void = { _ in }
        ) -> NamedPool {
            let pool = HTTP2Pool(
                on: loop, origin: origin, proxy: proxy?.proxy(towards: origin), trust: trust,
                configuration: configuration
            ) { event in
                report.connection(upstream, event)
                if case .opened = event { breaker.connected(at: clocks.monotonic()) }
                watch(event)
            }
            return NamedPool(upstream: upstream, pool: pool)
        }
        func apple(_ upstream: Upstream, _ origin: Origin, _ breaker: ServiceBreaker) -> NamedPool {
            pool(upstream, origin, .apns, breaker) { APNsGoodbye.note($0, for: breaker, at: clocks.monotonic()) }
        }
        switch platform {
        case .ios:
            guard let apns else { return nil }
            let production = apple(.apns, apns.production, apns.productionBreaker)
            let sandbox = apple(.apnsSandbox, apns.sandbox, apns.sandboxBreaker)
            let service = APNsService(
                topic: apns.topic, tokens: apns.tokens,
                production: APNsService.Route(pool: production.pool, breaker: apns.productionBreaker),
                sandbox: APNsService.Route(pool: sandbox.pool, breaker: apns.sandboxBreaker), clocks: clocks,
                observer: watching)
            return (service, [production, sandbox])
        case .android:
            guard let fcm else { return nil }
            let named = pool(.fcm, fcm.origin, .fcm, fcm.breaker)
            let service = FCMService(
                projectID: fcm.account.projectID, tokens: fcm.tokens, pool: named.pool, breaker: fcm.breaker,
                pace: fcm.pace, clocks: clocks, observer: watching)
            return (service, [named])
        }
    }
}

/// Makes upstreams out of settings.
struct UpstreamMaker: Sendable {
    /// Where the pool to Google's token endpoint lives.
    let tokenLoop: EventLoop
    let metrics: RelayMetrics
    let clocks: Clocks
    let report: OperatorReport

    /// Everything anew.
    func make(_ settings: Settings, trust: TLSTrust) -> Upstreams {
        Upstreams(
            trust: trust, proxy: settings.forwardProxy, apns: settings.apns.map { apns($0) },
            fcm: settings.fcm.map { fcm($0, trust: trust, proxy: settings.forwardProxy) })
    }

    /// What these settings change, anew; the rest as it is. A provider token stays as long as it is signed alike, for Apple
    /// wants no more than one in 20 minutes.
    func make(_ settings: Settings, trust: TLSTrust, changed names: [SettingName], from before: Upstreams) -> Upstreams
    {
        var upstreams = before
        upstreams.trust = trust
        if names.contains(where: \.isApples) {
            upstreams.apns = settings.apns.map { apns($0) }
            if let tokens = before.apns?.tokens, !names.contains(where: \.isOfProviderToken) {
                upstreams.apns?.tokens = tokens
            }
        }
        if names.contains(where: \.isGoogles) {
            upstreams.fcm = settings.fcm.map { fcm($0, trust: trust, proxy: before.proxy) }
        }
        return upstreams
    }

    private func apns(_ apns: APNsSettings) -> Upstreams.APNs {
        Upstreams.APNs(
            topic: apns.topic, production: apns.productionOrigin.origin, sandbox: apns.sandboxOrigin.origin,
            tokens: ProviderTokenSource(key: apns.key, keyID: apns.keyID, teamID: apns.teamID, clocks: clocks),
            productionBreaker: ServiceBreaker(.apns, observer: report),
            sandboxBreaker: ServiceBreaker(.apnsSandbox, observer: report))
    }

    private func fcm(_ fcm: FCMSettings, trust: TLSTrust, proxy: ForwardProxy?) -> Upstreams.FCM {
        let account = fcm.account
        let report = report
        let origin = account.tokenURI.origin.origin
        let pool = HTTP2Pool(
            on: tokenLoop, origin: origin, proxy: proxy?.proxy(towards: origin), trust: trust, configuration: .oauth
        ) { report.connection(.oauth, $0) }
        let record = CredentialRecord()
        let tokens = AccessTokenSource(
            account: account.account, path: account.tokenURI.path, endpoint: pool, on: tokenLoop, clocks: clocks,
            observer: TokenObserver(metrics: metrics, report: report, record: record))
        return Upstreams.FCM(
            account: account.account, origin: fcm.origin.origin, tokens: tokens,
            breaker: ServiceBreaker(.fcm, observer: report), pace: ProjectPace(observer: report), record: record,
            tokenPool: pool)
    }
}

/// A pool and what it leads to.
struct NamedPool: Sendable {
    var upstream: Upstream
    var pool: HTTP2Pool
}

extension HTTP2PoolConfiguration {
    /// Apple allows one stream until it has seen a valid provider token; it asks for connections that last, and for a
    /// PING at most each hour.
    static let apns: HTTP2PoolConfiguration = {
        var configuration = HTTP2PoolConfiguration(initialStreamLimit: 1)
        configuration.idlePingAfter = .seconds(3600)
        configuration.maximumResponseBody = 8 * 1024
        configuration.retainedHeaders = ["retry-after", "date"]
        return configuration
    }()

    /// Google allows 100 streams, closes what is idle for some minutes, and counts PINGs on an idle connection as abuse.
    static let fcm: HTTP2PoolConfiguration = {
        var configuration = HTTP2PoolConfiguration(initialStreamLimit: 100)
        configuration.idleTimeout = .seconds(90)
        configuration.maximumResponseBody = 64 * 1024
        configuration.retainedHeaders = ["retry-after", "date"]
        return configuration
    }()

    /// Asked about once an hour.
    static let oauth: HTTP2PoolConfiguration = {
        var configuration = HTTP2PoolConfiguration(initialStreamLimit: 1)
        configuration.maximumConnections = 1
        configuration.idleTimeout = .seconds(30)
        configuration.maximumResponseBody = 64 * 1024
        configuration.waitingLimit = 16
        configuration.retainedHeaders = ["date"]
        return configuration
    }()
}
