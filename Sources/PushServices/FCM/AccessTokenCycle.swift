package import PushModel

/// When an access token is asked for, used and given up: a value without I/O, the clock handed in.
///
/// One request at a time. A token is renewed in the background ahead of its end and used until then, so that no push
/// waits for a renewal and a slow endpoint costs nothing for minutes. After a failure the endpoint is left alone for a
/// while, longer each time as long as there is a token.
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
        /// The endpoint has just refused or failed, and is asked again only after a pause. To come back after this time.
        case refused(OAuthFailure, retryAfter: Duration)
    }

    /// How long before its end a token is renewed.
    package static let renewalMargin: Duration = .seconds(300)
    /// How long before its end a token is no longer used, so that none runs out on the way.
    package static let usableMargin: Duration = .seconds(15)
    /// From the beginning of a request that failed, and that a repeat may mend, to the next; doubled each time.
    package static let firstPause: Duration = .seconds(1)
    /// The longest such time.
    package static let longestPause: Duration = .seconds(60)
    /// The longest where there is no token meanwhile: the end of an outage is to be noticed within five seconds, or as soon
    /// as a request that hangs is given up.
    package static let longestPauseWithoutToken: Duration = .seconds(3)
    /// From so many failures in a row on it is an outage, and nobody is told to come back before ``outageWait``, as where
    /// FCM itself fails.
    package static let outageFailures = 3
    /// What is told in an outage, and by lot up to twice as much.
    package static let outageWait: Duration = .seconds(10)

    /// How the last request failed.
    private struct Setback {
        var failure: OAuthFailure
        /// When that request began.
        var began: MonotonicInstant
        /// From 0 to 1, which spreads the next request.
        var lot: Double
        /// Failures in a row, with this one.
        var number: Int

        /// When the endpoint may be asked again.
        func end(hasToken: Bool) -> MonotonicInstant {
            let doubled = AccessTokenCycle.firstPause * (1 << min(number - 1, 6))
            let longest = hasToken || !failure.isOutage ? longestPause : longestPauseWithoutToken
            let pause = failure.isOutage ? min(doubled, longest) : longest
            return began.advanced(by: pause - pause * (lot * 0.2))
        }
    }

    private var token: AccessToken?
    private var receivedAt = MonotonicInstant(nanoseconds: 0)
    private var expires = MonotonicInstant(nanoseconds: 0)
    private var renewsAt = MonotonicInstant(nanoseconds: 0)
    /// When the request under way began; nil when there is none.
    private var requestedAt: MonotonicInstant?
    private var setback: Setback?

    package init() {}

    /// What to do for somebody who needs a token now. When a request is to be started, the cycle counts it as started.
    ///
    /// - Parameter refused: the one that FCM did not take from whoever asks. It asks for another, unless a newer one has
    ///   come since. Meanwhile everybody else goes on with the old one: FCM may have meant one push, and it is not for the
    ///   endpoint's faults to shut out all. Nor is there another to be had while the endpoint is left alone.
    package mutating func need(insteadOf refused: AccessToken? = nil, at now: MonotonicInstant) -> Advice {
        let usable = usable(at: now)
        let hasToken = usable != nil && usable != refused
        let isPaused = setback.map { now < $0.end(hasToken: hasToken) } ?? false
        if let usable, hasToken || isPaused {
            guard now >= renewsAt, requestedAt == nil, !isPaused else { return .use(usable) }
            requestedAt = now
            return .useAndRequest(usable)
        }
        if requestedAt != nil { return .wait }
        if isPaused, let setback { return .refused(setback.failure, retryAfter: wait(at: now)) }
        requestedAt = now
        return .requestAndWait
    }

    /// The request under way brought a token that is good for `lifetime`.
    package mutating func received(_ newToken: AccessToken, lifetime: Duration, at now: MonotonicInstant) {
        requestedAt = nil
        setback = nil
        token = newToken
        receivedAt = now
        expires = now.advanced(by: lifetime)
        // A short-lived token is renewed at half its life rather than at once.
        renewsAt = now.advanced(by: max(lifetime - Self.renewalMargin, lifetime / 2))
    }

    /// The request under way failed. `lot` in 0..<1 spreads the next one.
    package mutating func failed(_ failure: OAuthFailure, lot: Double, at now: MonotonicInstant) {
        setback = Setback(
            failure: failure, began: requestedAt ?? now, lot: lot, number: (setback?.number ?? 0) + 1)
        requestedAt = nil
    }

    /// Somebody has acted: the endpoint is not left alone any more for what it did.
    package mutating func startAnew() { setback = nil }

    /// How the last request failed; nil where it did not, and while none has ended.
    package var lastFailure: OAuthFailure? { setback?.failure }

    /// When somebody is to come back who needs a token and has none; zero where nothing has failed.
    package func wait(at now: MonotonicInstant) -> Duration {
        guard let setback else { return .zero }
        let pause = max(setback.end(hasToken: false).duration(since: now), .zero)
        let isLong = setback.failure.isOutage && setback.number >= Self.outageFailures
        return isLong ? max(pause, Self.outageWait * (1 + setback.lot)) : pause
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

    /// Whether the endpoint fails us, and may be well again the next second, rather than refuses us until somebody has
    /// acted.
    package var isOutage: Bool {
        switch self {
        case .unreachable, .unavailable, .malformed: true
        case .refused, .clock: false
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
