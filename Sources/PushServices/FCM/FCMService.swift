import HTTP2Client
package import PushModel

/// Asks FCM to deliver.
package struct FCMService: PushService {
    /// How long one attempt may take. Google asks for at least 10 s; below 15 s its own clients made doubles.
    package static let attemptTimeout: Duration = .seconds(15)

    package let platform = Platform.android

    private let path: String
    private let tokens: AccessTokenSource
    private let pool: any UpstreamPool
    private let clocks: Clocks
    private let observer: any DeliveryObserver

    /// - Parameters:
    ///   - projectID: the Firebase project, as the service account names it.
    ///   - tokens: shared by all loops.
    ///   - pool: connections of this loop.
    package init(
        projectID: String, tokens: AccessTokenSource, pool: any UpstreamPool, clocks: Clocks,
        observer: any DeliveryObserver
    ) {
        self.path = "/v1/projects/\(projectID)/messages:send"
        self.tokens = tokens
        self.pool = pool
        self.clocks = clocks
        self.observer = observer
    }

    package func deliver(
        _ notification: PushNotification, to device: Device, by deadline: MonotonicInstant
    ) async -> DeliveryOutcome {
        let message = FCMMessage.compose(notification, to: device)
        var attempts = DeliveryAttempts(deadline: deadline)
        while true {
            let token: AccessToken
            do throws(AccessTokenSource.OAuthRefusal) {
                token = try await tokens.current()
            } catch {
                return error.failure.outcome(retryAfter: error.retryAfter)
            }
            let request = HTTP2Request(
                method: "POST", path: path,
                headers: [
                    HTTP2Header(name: "authorization", value: token.authorization, indexing: .incremental),
                    HTTP2Header(name: "content-type", value: "application/json", indexing: .incremental),
                    HTTP2Header(name: "x-goog-api-format-version", value: "2", indexing: .incremental),
                ],
                body: message)
            let attempt = await Attempt.of(
                request, on: pool, timeout: Self.attemptTimeout, number: attempts.number, clocks: clocks
            ) { response in
                FCMAnswer(
                    status: response.status, body: response.body, retryAfter: response.value(of: "retry-after"),
                    at: clocks.wall())
            }
            observer.attempted(attempt, platform: platform)
            switch attempts.next(after: attempt.retry, at: clocks.monotonic()) {
            case .conclude:
                return attempt.outcome
            case .again(let newConnection, let newCredential):
                if newCredential {
                    tokens.giveUp(token)
                } else if newConnection, let response = attempt.response {
                    await pool.retire(response.connection)
                }
            }
        }
    }
}
