package import PushModel

/// When an access token is asked for, used and given up: a value without I/O, the clock handed in.
///
/// One request at a time. A token is renewed in the background ahead of its end and used until then, so that no push
/// waits for a renewal and a slow endpoint costs nothing for minutes. After a failure the endpoint is left alone for a
/// while, longer each time.
package struct AccessTokenCycle: Sendable {
    /// What somebody who needs a token is told.
    package enum Advice: Sendable, Equatable {
        /// Use this one.
        case use(AccessToken)
        /// Use this one, and start a request for the next.
        case useAndRequest(AccessToken)
        /// Wait for the request under way.
        case wait
        /// Start a request, and wait for it.
        case requestAndWait
        /// The endpoint has just refused or failed, and is asked again only after this time.
        case refused(OAuthFailure, retryAfter: Duration)
    }

    /// How long before its end a token is renewed.
    package static let renewalMargin: Duration = .seconds(300)
    /// How long before its end a token is no longer used, so that none runs out on the way.
    package static let usableMargin: Duration = .seconds(15)
    /// The wait after the first failure that a repeat may mend; doubled each time.
    package static let firstPause: Duration = .seconds(1)
    /// The longest wait between two requests.
    package static let longestPause: Duration = .seconds(60)

    private var token: AccessToken?
    private var receivedAt = MonotonicInstant(nanoseconds: 0)
    private var expires = MonotonicInstant(nanoseconds: 0)
    private var renewsAt = MonotonicInstant(nanoseconds: 0)
    private var isRequesting = false
    private var failure: (OAuthFailure, until: MonotonicInstant)?
    private var failuresInARow = 0

    package init() {}

    /// What to do for somebody who needs a token now. When a request is to be started, the cycle counts it as started.
    ///
    /// - Parameter refused: the one that FCM did not take from whoever asks. It asks for another, unless a newer one has
    ///   come since. Meanwhile everybody else goes on with the old one: FCM may have meant one push, and it is not for the
    ///   endpoint's faults to shut out all. Nor is there another to be had while the endpoint is left alone.
    package mutating func need(insteadOf refused: AccessToken? = nil, at now: MonotonicInstant) -> Advice {
        let paused = failure.map { now < $0.until } ?? false
        if let token = usable(at: now), token != refused || paused {
            guard now >= renewsAt, !isRequesting, !paused else { return .use(token) }
            isRequesting = true
            return .useAndRequest(token)
        }
        if isRequesting { return .wait }
        if paused, let failure {
            return .refused(failure.0, retryAfter: failure.until.duration(since: now))
        }
        isRequesting = true
        return .requestAndWait
    }

    /// The request under way brought a token that is good for `lifetime`.
    package mutating func received(_ newToken: AccessToken, lifetime: Duration, at now: MonotonicInstant) {
        isRequesting = false
        failure = nil
        failuresInARow = 0
        token = newToken
        receivedAt = now
        expires = now.advanced(by: lifetime)
        // A short-lived token is renewed at half its life rather than at once.
        renewsAt = now.advanced(by: max(lifetime - Self.renewalMargin, lifetime / 2))
    }

    /// The request under way failed. `jitter` in 0..<1 spreads the next one.
    package mutating func failed(_ reason: OAuthFailure, jitter: Double, at now: MonotonicInstant) {
        isRequesting = false
        let doubled = Self.firstPause * (1 << min(failuresInARow, 6))
        failuresInARow += 1
        let pause: Duration =
            switch reason {
            case .refused, .clock: Self.longestPause
            case .unreachable, .unavailable, .malformed: min(doubled, Self.longestPause)
            }
        failure = (reason, now.advanced(by: pause - pause * (jitter * 0.2)))
    }

    /// Somebody has acted: the endpoint is not left alone any more for what it did.
    package mutating func startAnew() {
        failure = nil
        failuresInARow = 0
    }

    /// How the last request failed; nil where it did not, and while none has ended.
    package var lastFailure: OAuthFailure? { failure?.0 }

    /// How long the endpoint is still left alone after a failure.
    package func pauseLeft(at now: MonotonicInstant) -> Duration {
        failure.map { max($0.until.duration(since: now), .zero) } ?? .zero
    }

    /// The age of the token that is used now; nil when there is none.
    package func age(at now: MonotonicInstant) -> Duration? {
        usable(at: now).map { _ in now.duration(since: receivedAt) }
    }

    /// The token there is, if it does not run out on the way.
    package func usable(at now: MonotonicInstant) -> AccessToken? {
        expires.duration(since: now) > Self.usableMargin ? token : nil
    }
}

/// An access token as it stands in the `authorization` header. It does not print.
package struct AccessToken: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    /// `Bearer` and the token.
    package let authorization: String

    /// Takes Google's `access_token`.
    package init(_ token: String) { authorization = "Bearer \(token)" }

    package var description: String { "(access token)" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Why there is no access token.
package enum OAuthFailure: Error, Sendable, Equatable {
    /// The endpoint could not be reached.
    case unreachable
    /// The endpoint has a fault of its own or asks for patience.
    case unavailable
    /// The endpoint answered something that is no token.
    case malformed
    /// Google did not accept the account or its key.
    case refused
    /// Google did not accept the times in the assertion: our clock is wrong.
    case clock

    /// What the sender is told.
    package func outcome(retryAfter: Duration) -> DeliveryOutcome {
        switch self {
        case .unreachable: .failed(.unreachable, retryAfter: retryAfter)
        case .unavailable, .malformed: .deferred(.serviceUnavailable, retryAfter: retryAfter)
        case .refused, .clock: .deferred(.credentials, retryAfter: retryAfter)
        }
    }

    /// What it says about FCM, which cannot be asked without a token. Whoever cannot be reached, or has a fault, is asked
    /// again by the cycle's own rhythm; an account that is refused is refused for everybody.
    package var health: Health {
        switch self {
        case .refused: .refusing(.credentials)
        case .unreachable, .unavailable, .malformed, .clock: .unknown
        }
    }

    /// How loudly the operator is told.
    package var alarm: Alarm {
        switch self {
        case .unreachable, .unavailable, .malformed: .count
        case .refused, .clock: .page
        }
    }

    /// A word out of a closed set, for counting and for the log.
    package var label: String {
        switch self {
        case .unreachable: "oauth_unreachable"
        case .unavailable: "oauth_unavailable"
        case .malformed: "oauth_malformed"
        case .refused: "oauth_refused"
        case .clock: "oauth_clock"
        }
    }
}
