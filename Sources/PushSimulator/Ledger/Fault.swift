/// What a service is told to do in place of its ordinary answer.
package struct Fault: Sendable, Equatable {
    /// What becomes of the request.
    package enum Action: Sendable, Equatable {
        /// A refusal in the service's own shape: APNs's `{"reason":…}`, FCM's error object with this `errorCode`, or
        /// OAuth's `{"error":…}`. `retryAfter` is the text of a `retry-after` field.
        case refuse(status: Int, reason: String, retryAfter: String? = nil)
        /// Exactly this answer.
        case answer(SimulatedAnswer)
        /// No answer, ever; the stream stays open.
        case silence
        /// RST_STREAM with this HTTP/2 error code.
        case reset(UInt32)
        /// GOAWAY; by its `lastStreamID` it may leave out the request that met the fault.
        case goAway(GoAway)
        /// The connection is closed without a word.
        case disconnect
    }

    /// What is done in place of the answer.
    package var action: Action
    /// Whether the phone gets the notification all the same: the answer that was lost, the 503 that was none. Only for
    /// the faults of a token; those of a service come before the notification is looked at.
    package var delivers: Bool
    /// How many requests meet the fault; nil is every one until it is taken back.
    package var times: Int?
    /// How long the action waits, on top of the service's latency.
    package var delay: Duration

    package init(_ action: Action, delivers: Bool = false, times: Int? = nil, delay: Duration = .zero) {
        self.action = action
        self.delivers = delivers
        self.times = times
        self.delay = delay
    }
}

extension Fault {
    /// What the service does, and what the books say of it. `refuse` gives a refusal (status, reason, `retry-after`)
    /// the service's own shape.
    func outcome(
        refuse: (Int, String, String?) -> SimulatedAnswer
    ) -> (reaction: Reaction, status: Int?, reason: String?) {
        switch action {
        case .refuse(let status, let reason, let retryAfter):
            (Reaction(action: .answer(refuse(status, reason, retryAfter)), delay: delay), status, reason)
        case .answer(let answer): (Reaction(action: .answer(answer), delay: delay), answer.status, nil)
        case .silence: (Reaction(action: .silence, delay: delay), nil, nil)
        case .reset(let code): (Reaction(action: .reset(code), delay: delay), nil, nil)
        case .goAway(let goAway): (Reaction(action: .goAway(goAway), delay: delay), nil, nil)
        case .disconnect: (Reaction(action: .disconnect, delay: delay), nil, nil)
        }
    }
}

/// How connections to a service behave, looked up when one is opened.
package struct ConnectionBehaviour: Sendable, Equatable {
    /// SETTINGS_MAX_CONCURRENT_STREAMS of the first SETTINGS. Apple: 1 with a provider token.
    package var firstConcurrentStreams: UInt32
    /// The same once a provider token was accepted. Google: from the start.
    package var concurrentStreams: UInt32
    /// How many bytes of a body may be on their way in one stream.
    package var streamWindow: UInt32 = 65_535
    /// How many bytes of bodies may be on their way on the connection as a whole. At least 65,535.
    package var connectionWindow: UInt32 = 65_535
    /// APNs only: any refusal but a 410 lowers the limit to 1 until the next accepted notification.
    package var dropsToOneAfterRefusal = false
    /// APNs only: after ExpiredProviderToken everything on the connection is refused the same way.
    package var wedgesAfterExpiredToken = false
    /// APNs only: a provider token that is more than an hour ahead gives TooManyProviderTokenUpdates, as was seen once,
    /// in place of InvalidProviderToken.
    package var callsFutureTokensTooMany = false

    package init(firstConcurrentStreams: UInt32, concurrentStreams: UInt32) {
        self.firstConcurrentStreams = firstConcurrentStreams
        self.concurrentStreams = concurrentStreams
    }

    private static let google: ConnectionBehaviour = {
        var behaviour = ConnectionBehaviour(firstConcurrentStreams: 100, concurrentStreams: 100)
        behaviour.streamWindow = 1_048_576
        behaviour.connectionWindow = 1_048_576
        return behaviour
    }()

    /// The first SETTINGS that go with it.
    func settings(maxHeaderListSize: UInt32) -> ConnectionSettings {
        ConnectionSettings(
            concurrentStreams: firstConcurrentStreams, initialWindowSize: streamWindow,
            maxHeaderListSize: maxHeaderListSize, connectionWindow: connectionWindow)
    }

    /// What the service is known to do.
    package static func usual(of service: SimulatedService) -> ConnectionBehaviour {
        switch service {
        case .apnsProduction, .apnsSandbox: ConnectionBehaviour(firstConcurrentStreams: 1, concurrentStreams: 1000)
        case .fcm, .oauth, .control: google
        }
    }
}

/// Faults that wait for their requests. Pure.
struct FaultQueue: Sendable {
    private var faults: [Fault] = []

    /// Adds one after those that wait.
    mutating func add(_ fault: Fault) { faults.append(fault) }

    /// Drops all.
    mutating func clear() { faults.removeAll() }

    /// The fault that the next request meets, counted down; nil when none waits.
    mutating func next() -> Fault? {
        guard let first = faults.first else { return nil }
        if let times = first.times {
            if times <= 1 { faults.removeFirst() } else { faults[0].times = times - 1 }
        }
        return first
    }
}
