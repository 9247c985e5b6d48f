import HTTP2Client
package import PushModel
import Synchronization

/// Asks APNs to deliver.
package struct APNsService: PushService {
    /// How long one attempt may take. Apple answers within a second when well; clients in the field wait 5 to 60.
    package static let attemptTimeout: Duration = .seconds(15)

    package let platform = Platform.ios

    private let topic: String
    private let tokens: ProviderTokenSource
    private let production: Courier
    private let sandbox: Courier
    private let clocks: Clocks
    private let lastToken = LastToken()

    /// The number of the token that this loop's connections were shown last; 0 before any.
    private final class LastToken: Sendable {
        let number = Atomic(0)
    }

    /// The way to one of Apple's environments.
    package struct Route: Sendable {
        /// Connections of this loop.
        package var pool: any UpstreamPool
        /// Shared by all loops.
        package var breaker: ServiceBreaker

        package init(pool: any UpstreamPool, breaker: ServiceBreaker) {
            self.pool = pool
            self.breaker = breaker
        }
    }

    /// - Parameters:
    ///   - topic: the app's bundle id.
    ///   - tokens: shared by all loops.
    ///   - production: the way to Apple's production environment; `sandbox` likewise.
    package init(
        topic: String, tokens: ProviderTokenSource, production: Route, sandbox: Route, clocks: Clocks,
        observer: any DeliveryObserver
    ) {
        func courier(_ route: Route) -> Courier {
            Courier(
                platform: .ios, pool: route.pool, breaker: route.breaker, attemptTimeout: Self.attemptTimeout,
                remembersCredentials: true, clocks: clocks, observer: observer)
        }
        self.topic = topic
        self.tokens = tokens
        self.production = courier(production)
        self.sandbox = courier(sandbox)
        self.clocks = clocks
    }

    package func deliver(
        _ notification: PushNotification, to device: Device, by deadline: MonotonicInstant
    ) async -> DeliveryOutcome {
        let courier =
            switch device.environment {
            case .production: production
            case .sandbox: sandbox
            }
        let payload = APNsPayload.compose(notification)
        let id = notification.id.description
        var token: ProviderToken?
        // The collapse id makes a repeat take the place of what the phone shows.
        return await courier.deliver(to: device, by: deadline, isReplaceable: true) { withNewCredential in
            // A repeat may come after a renewal, and must not show a new connection the token before.
            let current =
                if withNewCredential, let token { tokens.renew(insteadOf: token) } else { tokens.current() }
            token = current
            if isRenewed(current) { await retireYoungConnections() }
            return .request(
                APNsRequest.compose(
                    payload: payload, id: id, topic: topic, to: device.token, as: current))
        } interpret: { response in
            let answer = APNsAnswer(
                status: response.status, body: response.body, retryAfter: response.value(of: "retry-after"),
                at: clocks.wall())
            if case .tooManyProviderTokenUpdates = answer { tokens.holdBack() }
            if tokens.isRefused, answer.evidence == .accepted { tokens.accepted() }
            return answer
        }
    }

    /// Whether this loop's connections were shown another token before, asked with each attempt.
    private func isRenewed(_ token: ProviderToken) -> Bool {
        guard lastToken.number.load(ordering: .relaxed) != token.number else { return false }
        return lastToken.number.exchange(token.number, ordering: .relaxed) != 0
    }

    /// Sees to it that no connection is shown this token which may have been shown another a short while ago. Apple words
    /// the time between two tokens for each connection, and refuses the second one where the first came too late
    /// (TooManyProviderTokenUpdates), however seldom tokens are renewed. Connections that saw their first one later than that
    /// make way before anything is sent, on each loop by its first push after a renewal; a push that waits to be sent with the
    /// token before comes back, and goes with this one.
    private func retireYoungConnections() async {
        for courier in [production, sandbox] {
            await courier.pool.retire(usedForLessThan: ProviderTokenSchedule.leastAge)
        }
    }
}
