/// How connections to a service behave, looked up when one is opened.
package struct ConnectionBehaviour: Sendable, Equatable {
    /// SETTINGS_MAX_CONCURRENT_STREAMS of the first SETTINGS. Apple: 1 with a provider token.
    package var firstConcurrentStreams: UInt32
    /// The same once a provider token was accepted. Google: from the start.
    package var concurrentStreams: UInt32
    /// How many bytes of a body may be on their way in one stream.
    package var streamWindow: UInt32 = 65_535
    /// How many bytes of bodies may be on their way on the connection as a whole. At least 65,535,
    /// from which every connection starts.
    package var connectionWindow: UInt32 = 65_535
    /// APNs only: any refusal but a 410 lowers the limit to 1 until the next accepted notification.
    package var dropsToOneAfterRefusal = false
    /// APNs only: after ExpiredProviderToken everything on the connection is refused the same way.
    package var wedgesAfterExpiredToken = false
    /// APNs only: a provider token that is more than an hour ahead gives TooManyProviderTokenUpdates, as was seen once,
    /// in place of InvalidProviderToken.
    package var callsFutureTokensTooMany = false

    /// APNs only: where a second new provider token within 20 minutes is noticed.
    package var tokenChanges = TokenChanges.perConnection
    /// Faults that the requests of each connection meet, before any of the service; each connection has its own.
    package var faults: [Fault] = []
    /// When the first SETTINGS go out.
    package var firstSettings = FirstSettings.atOnce
    /// What a stream beyond the limit meets.
    package var overLimit = OverLimit.usual
    /// Which windows are opened again as bodies are read.
    package var windowUpdates = WindowUpdates.usual
    /// Whether PINGs are answered.
    package var answersPings = true
    /// Whether the client's SETTINGS are confirmed.
    package var acknowledgesSettings = true
    /// What the TLS handshake shows.
    package var tls = TLSProfile.usual
    /// What the connection does by itself, and when.
    package var plan: [PlannedAct] = []

    /// Where a second new provider token within 20 minutes is noticed.
    package enum TokenChanges: String, Sendable, CaseIterable {
        /// As Apple words it.
        case perConnection = "connection"
        /// Over all connections of this machine to both environments, as a developer saw it.
        case perAddress = "address"
        /// Nowhere.
        case unchecked = "never"
    }

    /// When the first SETTINGS go out.
    package enum FirstSettings: Sendable, Equatable {
        case atOnce
        /// Nothing at all is sent before so long.
        case after(Duration)
        /// Never, and everything else as if they had been.
        case never
    }

    /// What a stream beyond the limit meets.
    package enum OverLimit: String, Sendable, CaseIterable {
        /// RST_STREAM REFUSED_STREAM while the client has not confirmed the limit, then a GOAWAY with the service's text.
        case usual
        /// RST_STREAM REFUSED_STREAM always.
        case refuses = "refuse"
        /// A GOAWAY with the service's text always, as Apple met clients that did not wait for its SETTINGS.
        case goesAway = "goaway"
        /// An answer.
        case serves = "serve"
    }

    /// Which windows are opened again as bodies are read.
    package enum WindowUpdates: String, Sendable, CaseIterable {
        case usual
        /// Those of streams, never the connection's.
        case streamsOnly = "streams"
        /// None.
        case never
    }

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
        case .fcm, .oauth, .control, .proxy: google
        }
    }
}
