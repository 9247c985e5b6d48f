import Cryptography
import PushModel
import PushServices
import Synchronization
import Telemetry
import Testing

@testable import HTTP2Client

/// Connections that answer by a script, and keep what they were asked.
final class ScriptedPool: UpstreamPool {
    /// One request as it came.
    struct Call: Sendable {
        var request: HTTP2Request
        var leavingWithin: Duration?
        var avoided: HTTP2ConnectionID?

        func header(_ name: String) -> String? {
            request.headers.first { "\($0.name)" == name }?.value
        }

        /// The device token in an APNs path.
        var token: String { String(request.path.split(separator: "/").last ?? "") }
    }

    /// How a request ends, by its number from 1 on.
    typealias Script = @Sendable (Int, Call) -> Result<HTTP2Response, HTTP2Failure>

    private struct State {
        var calls: [Call] = []
        var retired: [HTTP2ConnectionID] = []
        var replaced: [HTTP2ConnectionID] = []
        /// How many requests had come, each time young connections were retired.
        var renewals: [Int] = []
        var script: Script
    }

    private let state: Mutex<State>

    init(_ script: @escaping Script) { state = Mutex(State(script: script)) }

    var calls: [Call] { state.withLock { $0.calls } }
    var retired: [HTTP2ConnectionID] { state.withLock { $0.retired } }
    var replaced: [HTTP2ConnectionID] { state.withLock { $0.replaced } }
    var renewals: [Int] { state.withLock { $0.renewals } }

    /// Goes on by another script.
    func follow(_ script: @escaping Script) { state.withLock { $0.script = script } }

    func send(
        _ request: HTTP2Request, timeout: Duration, leavingWithin: Duration?, avoiding avoided: HTTP2ConnectionID?
    ) async throws(HTTP2Failure) -> HTTP2Response {
        let call = Call(request: request, leavingWithin: leavingWithin, avoided: avoided)
        let (script, number) = state.withLock { state in
            state.calls.append(call)
            return (state.script, state.calls.count)
        }
        return try script(number, call).get()
    }

    func retire(_ connection: HTTP2ConnectionID) async { state.withLock { $0.retired.append(connection) } }
    func retire(usedForLessThan time: Duration) async {
        #expect(time == .seconds(20 * 60))
        state.withLock { $0.renewals.append($0.calls.count) }
    }
    func replace(_ connection: HTTP2ConnectionID) async { state.withLock { $0.replaced.append(connection) } }
}

/// An answer, by the connection of that number.
func answer(
    _ status: Int, _ body: String = "", by connection: UInt64 = 1, retryAfter: String? = nil
) -> Result<HTTP2Response, HTTP2Failure> {
    .success(
        HTTP2Response(
            status: status, body: Array(body.utf8), bodyWasCut: false,
            connection: HTTP2ConnectionID(number: connection),
            headers: retryAfter.map { [RetainedHeader(name: "retry-after", value: $0)] } ?? []))
}

/// A refusal in Apple's shape.
func refusal(_ status: Int, _ reason: String, by connection: UInt64 = 1) -> Result<HTTP2Response, HTTP2Failure> {
    answer(status, #"{"reason":"\#(reason)"}"#, by: connection)
}

/// A service over a script, with its breaker and its clocks.
struct ScriptedService: Sendable {
    let time = SetClocks()
    let pool: ScriptedPool
    let breaker: ServiceBreaker
    let log = BreakerLog()
    let pace = ProjectPace(observer: NoObserver())
    let service: any PushService
    let tokens: ProviderTokenSource?
    /// Where access tokens are got, for Google.
    let endpoint = ScriptedPool { _, _ in answer(200, #"{"access_token":"t","expires_in":3600}"#) }

    static func apple(_ script: @escaping ScriptedPool.Script) -> ScriptedService {
        ScriptedService(.ios, script)
    }

    static func google(_ script: @escaping ScriptedPool.Script) -> ScriptedService {
        ScriptedService(.android, script)
    }

    private init(_ platform: Platform, _ script: @escaping ScriptedPool.Script) {
        pool = ScriptedPool(script)
        breaker = ServiceBreaker(platform == .ios ? .apns : .fcm, observer: log)
        switch platform {
        case .ios:
            let tokens = ProviderTokenSource(
                key: .generate(), keyID: "KEY4567890", teamID: "TEAM567890", clocks: time.clocks)
            let route = APNsService.Route(pool: pool, breaker: breaker)
            self.tokens = tokens
            service = APNsService(
                topic: "chat.gryt.app", tokens: tokens, production: route, sandbox: route, clocks: time.clocks,
                observer: NoObserver())
        case .android:
            tokens = nil
            let source = AccessTokenSource(
                account: ServiceAccount(
                    projectID: "p", clientEmail: "relay@p.example", privateKeyID: "", key: Self.accountKey,
                    tokenURI: "https://oauth2.example/token"),
                path: "/token", endpoint: endpoint, on: globalConcurrentExecutor, clocks: time.clocks,
                observer: NoObserver())
            service = FCMService(
                projectID: "p", tokens: source, pool: pool, breaker: breaker, pace: pace, clocks: time.clocks,
                observer: NoObserver())
        }
    }

    private static let accountKey = RS256SigningKey.generate()

    /// Rings the phone of that number.
    func push(to phone: Int = 1, isDataOnly: Bool = false, budget: Duration = .seconds(4)) async -> DeliveryOutcome {
        let device = Device(
            token: DeviceToken(unchecked: "\(phone)", for: service.platform), environment: .production,
            opensPreviews: isDataOnly, registeredAt: WallInstant(milliseconds: 0))
        let notification = ComposingTests.notification(.mention, isDataOnly ? ComposingTests.preview : nil)
        return await service.deliver(
            notification, to: device, by: time.clocks.monotonic().advanced(by: budget))
    }
}

/// What breakers told.
final class BreakerLog: BreakerObserver {
    private let told = Mutex<[CircuitBreaker.Change]>([])

    var changes: [CircuitBreaker.Change] { told.withLock { $0 } }

    func breaker(_ upstream: Upstream, _ change: CircuitBreaker.Change) { told.withLock { $0.append(change) } }
}

/// Hears nothing.
struct NoObserver: DeliveryObserver, AccessTokenObserver, PaceObserver {
    func attempted(_ attempt: Attempt, platform: Platform) {}
    func requested(_ result: Result<Duration, OAuthFailure>, date: WallInstant?) {}
    func pace(_ change: SendPace.Change) {}
}
