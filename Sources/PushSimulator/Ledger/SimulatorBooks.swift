/// A notification that a phone got.
package struct DeliveredNotification: Sendable, Equatable {
    /// Counts up from 1 over the whole simulator.
    package var number: Int
    /// The service it came through.
    package var service: SimulatedService
    /// The system of the phone.
    package var platform: PhonePlatform
    /// The phone's token as it was addressed; Apple's in lower case.
    package var token: String
    /// The client's connection, counted from 1 over the whole simulator.
    package var connection: Int
    /// The HTTP/2 stream.
    package var stream: Int32
    /// The request's fields but `authorization`, in order.
    package var headers: [HeaderField]
    /// JSON: what APNs's body was, or FCM's `message`.
    package var payload: String
    /// `apns-id`, or the name that FCM gave the message.
    package var id: String
    /// What makes a later notification take the place of this one on the screen: `apns-collapse-id`, or
    /// `android.notification.tag`. Nil where there is none.
    package var replacementKey: String?
    /// Whether an earlier one of this phone had the same replacement key, and so is no longer shown.
    package var replacesEarlier: Bool
    /// Whether the very same push was delivered before: the same `apns-id`, or FCM tag, or sealed preview.
    package var isDouble: Bool
    /// Milliseconds since 1970, by the simulator's clock.
    package var instant: Int64

    /// The first field of this name.
    package func header(_ name: String) -> String? {
        headers.first { $0.name == name }?.value
    }

    /// Whether a sealed preview came along.
    package var carriesPreview: Bool {
        guard let payload = JSON(text: payload) else { return false }
        return switch platform {
        case .ios: payload["p"] != nil
        case .android: payload["data"]?["p"] != nil
        }
    }
}

/// One request to any service and what became of it.
package struct RequestRecord: Sendable, Equatable {
    /// Counts up from 1 over the whole simulator.
    package var number: Int
    /// The service that was asked.
    package var service: SimulatedService
    /// The client's connection, counted from 1 over the whole simulator.
    package var connection: Int
    /// The HTTP/2 stream.
    package var stream: Int32
    /// `:method`.
    package var method: String
    /// `:path`, query included.
    package var target: String
    /// All fields, in order, `authorization` too.
    package var headers: [HeaderField]
    /// Names of the fields that came as literals never to be indexed (RFC 7541 section 6.2.3), pseudo-headers too.
    package var neverIndexed: [String] = []
    /// The status of the answer; nil where there was none.
    package var status: Int?
    /// The reason or error code that went with a refusal.
    package var reason: String?
}

/// What the simulator has seen so far. A copy that does not change.
package struct SimulatorBooks: Sendable {
    /// What one service has seen.
    package struct ServiceCounts: Sendable, Equatable {
        /// Connections taken so far.
        package var connectionsOpened = 0
        /// Connections that have not ended.
        package var connectionsOpen = 0
        /// Whole requests.
        package var requests = 0
        /// Answers by status.
        package var answers: [Int: Int] = [:]
        /// Refusals by reason or error code.
        package var refusals: [String: Int] = [:]
        /// Streams opened beyond the limit.
        package var overLimitStreams = 0
        /// Connections that were reset, held or answered in clear in place of TLS, or later than usual.
        package var connectionsHeldBack = 0
        /// Whole requests on connections that had fallen silent or had said GOAWAY before; not among `requests`.
        package var unanswered = 0
        /// Frames that are no part of a request, by name: `PING`, `RST_STREAM`, `GOAWAY`, `SETTINGS ACK` and so on.
        package var frames: [String: Int] = [:]
        /// PINGs of clients.
        package var pings: Int { frames["PING"] ?? 0 }
        /// Notifications that a phone got.
        package var delivered = 0
        /// Those of them whose client was not told so: the answer was lost, or was a refusal.
        package var deliveredUnsaid = 0
        /// The most streams that were open at once on one connection.
        package var mostStreams = 0
        /// Those of them that a phone had got before.
        package var doubles = 0

        package init() {}
    }

    /// By service; one that saw nothing may be missing.
    package var services: [SimulatedService: ServiceCounts] = [:]
    /// What the proxy has seen.
    package var proxy = ProxyCounts()
    /// Different provider tokens with a right signature.
    package var providerTokens = 0
    /// Access tokens given out.
    package var accessTokens = 0
    /// The latest notifications, oldest first; as many as the configuration says.
    package var notifications: [DeliveredNotification] = []
    /// The latest requests, oldest first; as many as the configuration says.
    package var requests: [RequestRecord] = []

    /// The counts of one service; zeros when it saw nothing.
    package subscript(_ service: SimulatedService) -> ServiceCounts { services[service] ?? ServiceCounts() }

    /// Notifications that phones got, over all services.
    package var delivered: Int { services.values.reduce(0) { $0 + $1.delivered } }
    /// Notifications that a phone had got before, over all services.
    package var doubles: Int { services.values.reduce(0) { $0 + $1.doubles } }
    /// What became of the pushes for one kind of phone, to compare a client's own counts with.
    ///
    /// A client that loses nothing and repeats nothing has counted `accepted` as sent, `gone` as gone, and at most
    /// `unsaid` as failed although they were delivered.
    package func tally(of platform: PhonePlatform) -> DeliveryTally {
        let services: [SimulatedService] = platform == .ios ? [.apnsProduction, .apnsSandbox] : [.fcm]
        return services.reduce(into: DeliveryTally()) { tally, service in
            let counts = self[service]
            tally.accepted += counts.answers[200] ?? 0
            tally.delivered += counts.delivered
            tally.unsaid += counts.deliveredUnsaid
            tally.doubles += counts.doubles
            for reason in DeathReason.allCases.map(\.rawValue) + ["UNREGISTERED"] {
                tally.gone += counts.refusals[reason] ?? 0
            }
        }
    }

    /// Requests for access tokens.
    package var oauthCalls: Int { self[.oauth].requests }
}

/// What became of pushes, counted at the end where they arrive.
package struct DeliveryTally: Sendable, Equatable {
    /// Answered with 200.
    package var accepted = 0
    /// Put on a phone.
    package var delivered = 0
    /// Put on a phone, without a word of it to the client.
    package var unsaid = 0
    /// Put on a phone that had got the very same push before.
    package var doubles = 0
    /// Refused because the token is finished.
    package var gone = 0

    package init() {}
}

/// The newest of what was put in, oldest first. Pure.
struct Recent<Element: Sendable>: Sendable {
    private let depth: Int
    private var elements: [Element] = []

    /// Keeps `depth` elements.
    init(depth: Int) { self.depth = depth }

    /// Drops the oldest when full; amortised, so that a load test does not shift an array for each push.
    mutating func append(_ element: Element) {
        guard depth > 0 else { return }
        if elements.count >= 2 * depth { elements.removeFirst(elements.count - depth + 1) }
        elements.append(element)
    }

    /// The kept elements, oldest first.
    var all: [Element] { elements.count <= depth ? elements : Array(elements.suffix(depth)) }
}

/// Which of the newest keys were seen before. Pure.
struct RecentKeys: Sendable {
    private let depth: Int
    private var young: Set<String> = []
    private var old: Set<String> = []

    /// Remembers at least the last `depth` keys.
    init(depth: Int) { self.depth = depth }

    /// Whether the key is new among those remembered; it is remembered from now on.
    mutating func insert(_ key: String) -> Bool {
        let isNew = !young.contains(key) && !old.contains(key)
        young.insert(key)
        if young.count > depth {
            old = young
            young = []
        }
        return isNew
    }
}
