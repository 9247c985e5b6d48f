import HTTP2Client
package import PushModel

/// Asks APNs to deliver.
package struct APNsService: PushService {
    /// How long one attempt may take. Apple answers within a second when well; clients in the field wait 5 to 60.
    package static let attemptTimeout: Duration = .seconds(15)

    package let platform = Platform.ios

    private let topic: String
    private let tokens: ProviderTokenSource
    private let production: any UpstreamPool
    private let sandbox: any UpstreamPool
    private let clocks: Clocks
    private let observer: any DeliveryObserver

    /// - Parameters:
    ///   - topic: the app's bundle id.
    ///   - tokens: shared by all loops.
    ///   - production: connections of this loop to Apple's production environment; `sandbox` likewise.
    package init(
        topic: String, tokens: ProviderTokenSource, production: any UpstreamPool, sandbox: any UpstreamPool,
        clocks: Clocks, observer: any DeliveryObserver
    ) {
        self.topic = topic
        self.tokens = tokens
        self.production = production
        self.sandbox = sandbox
        self.clocks = clocks
        self.observer = observer
    }

    package func deliver(
        _ notification: PushNotification, to device: Device, by deadline: MonotonicInstant
    ) async -> DeliveryOutcome {
        let pool =
            switch device.environment {
            case .production: production
            case .sandbox: sandbox
            }
        let payload = APNsPayload.compose(notification)
        let id = notification.id.description
        var attempts = DeliveryAttempts(deadline: deadline)
        var token = tokens.current()
        while true {
            let request = HTTP2Request(
                method: "POST", path: "/3/device/\(device.token.disclosed)",
                headers: [
                    HTTP2Header(name: "authorization", value: token.authorization, indexing: .incremental),
                    HTTP2Header(name: "apns-topic", value: topic, indexing: .incremental),
                    HTTP2Header(name: "apns-push-type", value: "alert", indexing: .incremental),
                    HTTP2Header(name: "apns-priority", value: "10", indexing: .incremental),
                    HTTP2Header(name: "apns-id", value: id, indexing: .incrementalFirstThenNever),
                    HTTP2Header(name: "apns-collapse-id", value: id, indexing: .incrementalFirstThenNever),
                ],
                body: payload)
            let attempt = await Attempt.of(
                request, on: pool, timeout: Self.attemptTimeout, number: attempts.number, clocks: clocks
            ) { response in
                APNsAnswer(
                    status: response.status, body: response.body, retryAfter: response.value(of: "retry-after"),
                    at: clocks.wall())
            }
            observer.attempted(attempt, platform: platform)
            switch attempts.next(after: attempt.retry, at: clocks.monotonic()) {
            case .conclude:
                return attempt.outcome
            case .again(let newConnection, let newCredential):
                if newConnection, let response = attempt.response { await pool.retire(response.connection) }
                if newCredential { token = tokens.renew(insteadOf: token) }
            }
        }
    }
}
