import HTTP2Client
package import PushModel

/// Asks FCM to deliver.
package struct FCMService: PushService {
    /// How long one attempt may take. Google asks for at least 10 s; below 15 s its own clients made doubles.
    package static let attemptTimeout: Duration = .seconds(15)

    package let platform = Platform.android

    private let projectID: String
    private let tokens: AccessTokenSource
    private let pace: ProjectPace
    private let courier: Courier
    private let clocks: Clocks

    /// - Parameters:
    ///   - projectID: the Firebase project, as the service account names it.
    ///   - tokens: shared by all loops.
    ///   - pool: connections of this loop.
    ///   - breaker: shared by all loops; `pace` likewise.
    package init(
        projectID: String, tokens: AccessTokenSource, pool: any UpstreamPool, breaker: ServiceBreaker,
        pace: ProjectPace, clocks: Clocks, observer: any DeliveryObserver
    ) {
        self.projectID = projectID
        self.tokens = tokens
        self.pace = pace
        self.clocks = clocks
        courier = Courier(
            platform: .android, pool: pool, breaker: breaker, attemptTimeout: Self.attemptTimeout,
            remembersCredentials: false, clocks: clocks, observer: observer)
    }

    package func deliver(
        _ notification: PushNotification, to device: Device, by deadline: MonotonicInstant
    ) async -> DeliveryOutcome {
        if let outcome = pace.admit(at: clocks.monotonic()) { return outcome }
        let message = FCMMessage.compose(notification, to: device)
        let isReplaceable = !FCMMessage.isDataOnly(notification, to: device)
        var refused: AccessToken?
        var token: AccessToken?
        var sentAt = clocks.monotonic()
        return await courier.deliver(to: device, by: deadline, isReplaceable: isReplaceable) { withNewCredential in
            if withNewCredential { refused = token }
            let current: AccessToken
            do throws(AccessTokenSource.OAuthRefusal) {
                current = try await tokens.current(insteadOf: refused)
            } catch {
                return .impossible(error.failure.outcome(retryAfter: error.retryAfter), error.failure.health)
            }
            if current == refused {
                // That Google took neither the token nor gave another is for the account's sake only where it says so.
                // While the endpoint is ill, nothing is known about the account.
                guard let trouble = tokens.trouble else { return .nothingNew }
                return .impossible(trouble.failure.outcome(retryAfter: trouble.retryAfter), trouble.failure.health)
            }
            token = current
            sentAt = clocks.monotonic()
            pace.sent(at: sentAt)
            return .request(FCMRequest.compose(message, projectID: projectID, as: current))
        } interpret: { response in
            let answer = FCMAnswer(
                status: response.status, body: response.body, retryAfter: response.value(of: "retry-after"),
                at: clocks.wall())
            if case .projectThrottled(let isNamed, let wait) = answer {
                pace.throttled(
                    phone: device.token.disclosed.hashValue, isNamed: isNamed, sentAt: sentAt, wait: wait,
                    at: clocks.monotonic())
            }
            return answer
        }
    }
}
