import Cryptography
import EventLoops
import HTTP2Client
import PushModel
import PushServices
import Relay

/// The push services, as the whole process shares them: credentials and trust. Each loop makes its own connections.
struct Upstreams: Sendable {
    /// What APNs needs; nil without credentials for it.
    struct APNs: Sendable {
        var topic: String
        var production: Origin
        var sandbox: Origin
        var tokens: ProviderTokenSource
    }

    /// What FCM needs; nil without credentials for it.
    struct FCM: Sendable {
        var account: ServiceAccount
        var origin: Origin
        var tokens: AccessTokenSource
        /// The one pool to Google's token endpoint; it lives on the loop that was named when it was made.
        var tokenPool: HTTP2Pool
    }

    var trust: TLSTrust
    var apns: APNs?
    var fcm: FCM?

    /// Makes this loop's connections to both services, which open at their first push.
    func open(on loop: EventLoop, clocks: Clocks, report: OperatorReport) -> LoopUpstreams {
        var pools: [HTTP2Pool] = []
        func pool(_ service: StaticString, _ origin: Origin, _ configuration: HTTP2PoolConfiguration) -> HTTP2Pool {
            let pool = HTTP2Pool(on: loop, origin: origin, trust: trust, configuration: configuration) {
                report.connection(service, $0)
            }
            pools.append(pool)
            return pool
        }
        let ios = apns.map { apns in
            APNsService(
                topic: apns.topic, tokens: apns.tokens,
                production: pool("apns", apns.production, .apns),
                sandbox: pool("apns_sandbox", apns.sandbox, .apns), clocks: clocks, observer: report)
        }
        let android = fcm.map { fcm in
            FCMService(
                projectID: fcm.account.projectID, tokens: fcm.tokens, pool: pool("fcm", fcm.origin, .fcm),
                clocks: clocks, observer: report)
        }
        return LoopUpstreams(services: PushServiceSet(ios: ios, android: android), pools: pools)
    }
}

/// One loop's way to the push services.
struct LoopUpstreams: Sendable {
    var services: PushServiceSet
    var pools: [HTTP2Pool]
}

extension HTTP2PoolConfiguration {
    /// Apple allows one stream until it has seen a valid provider token; it asks for connections that last, and for a
    /// PING at most each hour.
    static let apns: HTTP2PoolConfiguration = {
        var configuration = HTTP2PoolConfiguration(initialStreamLimit: 1)
        configuration.idlePingAfter = .seconds(3600)
        configuration.maximumResponseBody = 8 * 1024
        configuration.retainedHeaders = ["retry-after"]
        return configuration
    }()

    /// Google allows 100 streams, closes what is idle for some minutes, and counts PINGs on an idle connection as abuse.
    static let fcm: HTTP2PoolConfiguration = {
        var configuration = HTTP2PoolConfiguration(initialStreamLimit: 100)
        configuration.idleTimeout = .seconds(90)
        configuration.maximumResponseBody = 64 * 1024
        configuration.retainedHeaders = ["retry-after"]
        return configuration
    }()

    /// Asked about once an hour.
    static let oauth: HTTP2PoolConfiguration = {
        var configuration = HTTP2PoolConfiguration(initialStreamLimit: 1)
        configuration.maximumConnections = 1
        configuration.idleTimeout = .seconds(30)
        configuration.maximumResponseBody = 64 * 1024
        configuration.waitingLimit = 16
        return configuration
    }()
}
