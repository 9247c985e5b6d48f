import Cryptography
import EventLoops
import HTTP2Client
import PushModel
import PushServices
import Relay
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

    /// Makes this loop's connections to both services, which open at their first push.
    func open(
        on loop: EventLoop, clocks: Clocks, observer: any DeliveryObserver, report: OperatorReport
    ) -> LoopUpstreams {
        var pools: [NamedPool] = []
        func pool(
            _ upstream: Upstream, _ origin: Origin, _ configuration: HTTP2PoolConfiguration,
            watch: @escaping @Sendable (HTTP2ConnectionEvent) -> Void = { _ in }
        ) -> HTTP2Pool {
            let pool = HTTP2Pool(
                on: loop, origin: origin, proxy: proxy?.proxy(towards: origin), trust: trust,
                configuration: configuration
            ) { event in
                report.connection(upstream, event)
                watch(event)
            }
            pools.append(NamedPool(upstream: upstream, pool: pool))
            return pool
        }
        func route(_ upstream: Upstream, _ origin: Origin, _ breaker: ServiceBreaker) -> APNsService.Route {
            let pool = pool(upstream, origin, .apns) { APNsGoodbye.note($0, for: breaker, at: clocks.monotonic()) }
            return APNsService.Route(pool: pool, breaker: breaker)
        }
        let ios = apns.map { apns in
            APNsService(
                topic: apns.topic, tokens: apns.tokens,
                production: route(.apns, apns.production, apns.productionBreaker),
                sandbox: route(.apnsSandbox, apns.sandbox, apns.sandboxBreaker), clocks: clocks, observer: observer)
        }
        let android = fcm.map { fcm in
            FCMService(
                projectID: fcm.account.projectID, tokens: fcm.tokens, pool: pool(.fcm, fcm.origin, .fcm),
                breaker: fcm.breaker, clocks: clocks, observer: observer)
        }
        return LoopUpstreams(services: PushServiceSet(ios: ios, android: android), pools: pools)
    }
}

/// One loop's way to the push services.
struct LoopUpstreams: Sendable {
    var services: PushServiceSet
    var pools: [NamedPool]
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
