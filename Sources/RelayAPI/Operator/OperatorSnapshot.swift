package import DeviceStore
package import PushModel
package import Telemetry

/// The whole relay at one moment, for whoever runs it: what the page shows and what readiness is decided by.
///
/// A plain value. Nothing in it belongs to one device, server or address.
package struct OperatorSnapshot: Sendable {
    /// As `/healthz` gives it.
    package var version: String
    /// When this was taken.
    package var now: WallInstant
    /// Since the process began to serve.
    package var uptime: Duration
    /// Whether the relay takes no more requests and is about to end.
    package var isDraining: Bool
    /// What readiness depends on, and what is wrong with it; in a fixed order.
    package var checks: [ReadinessCheck]
    /// Registrations held and the daily counts; nil when the store did not answer, which a check then says.
    package var statistics: DailyStatistics?
    /// One for each platform, whether it has credentials or not; in the order of `Platform.allCases`.
    package var credentials: [CredentialSnapshot]
    /// One for each upstream that has credentials, all loops together; in the order of `Upstream.allCases`.
    package var connections: [ConnectionSnapshot]
    /// One for each platform that has credentials.
    package var latencies: [LatencySnapshot]
    /// Pushes under way at this moment.
    package var pushesInFlight: Int
    /// Loops that did not answer in time, and whose connections and requests are therefore missing here.
    package var silentLoops: Int
    /// Is anything wrong? Empty when nothing is; the worst first.
    package var problems: [Problem]

    package init(
        version: String, now: WallInstant, uptime: Duration, isDraining: Bool, checks: [ReadinessCheck],
        statistics: DailyStatistics?, credentials: [CredentialSnapshot], connections: [ConnectionSnapshot],
        latencies: [LatencySnapshot], pushesInFlight: Int, silentLoops: Int, problems: [Problem]
    ) {
        self.version = version
        self.now = now
        self.uptime = uptime
        self.isDraining = isDraining
        self.checks = checks
        self.statistics = statistics
        self.credentials = credentials
        self.connections = connections
        self.latencies = latencies
        self.pushesInFlight = pushesInFlight
        self.silentLoops = silentLoops
        self.problems = problems
    }

    /// Whether requests should come here: no check has failed.
    package var isReady: Bool { checks.allSatisfy(\.hasPassed) }
}

/// One condition of readiness.
package struct ReadinessCheck: Sendable, Equatable {
    /// What is looked at. Raw values stand in `/readyz`.
    package enum Name: String, CaseIterable, Sendable {
        /// The relay is not draining.
        case serving
        /// The store answers, and takes what is written.
        case store
        /// At least one platform has credentials that its push service has not refused.
        case credentials
    }

    /// What is looked at.
    package var name: Name
    /// What is wrong, in words; nil when the check has passed.
    package var fault: String?

    package init(_ name: Name, fault: String?) {
        self.name = name
        self.fault = fault
    }

    /// Whether nothing is wrong.
    package var hasPassed: Bool { fault == nil }
}

/// The daily counts of some days and the registrations held, as `/stats` gives them.
package struct DailyStatistics: Sendable, Equatable {
    /// The first day that is asked about. Days on which nothing happened have no rows.
    package var from: UTCDay
    /// Registrations held now.
    package var devices: DeviceCounts
    /// By day, event, platform and kind. Written and gathered counts together: nothing lags behind.
    package var daily: [DailyTotal]

    package init(from: UTCDay, devices: DeviceCounts, daily: [DailyTotal]) {
        self.from = from
        self.devices = devices
        self.daily = daily
    }

    /// The days that may be asked about; what is outside is clamped.
    package static let days = 1...3660
    /// The days that are meant when nobody says how many.
    package static let standardDays = 30

    /// The first of so many days that end with `today`.
    package static func first(of days: Int, until today: UTCDay) -> UTCDay {
        let days = min(max(days, Self.days.lowerBound), Self.days.upperBound)
        return UTCDay(number: today.number - Int32(days - 1))
    }
}

/// What a push service thinks of the operator's credentials.
package struct CredentialSnapshot: Sendable, Equatable {
    /// What is known about them.
    package enum State: Sendable, Equatable {
        /// There are none; the platform is refused.
        case unset
        /// They are set, and the push service has not been asked yet.
        case untried
        /// The last answer that says anything about them accepted them.
        case accepted
        /// They are refused, without a break, since then.
        case refused(since: WallInstant)
    }

    /// Whose push service.
    package var platform: Platform
    /// What is known about them.
    package var state: State
    /// Age of the token that is sent now: Apple's provider token or Google's access token. Nil when there is none.
    package var tokenAge: Duration?
    /// When the push service last accepted them; nil when it has not since the process began.
    package var lastAccepted: WallInstant?
    /// When it last refused them; nil when it has not since the process began.
    package var lastRefused: WallInstant?

    package init(
        platform: Platform, state: State, tokenAge: Duration?, lastAccepted: WallInstant?,
        lastRefused: WallInstant? = nil
    ) {
        self.platform = platform
        self.state = state
        self.tokenAge = tokenAge
        self.lastAccepted = lastAccepted
        self.lastRefused = lastRefused
    }
}

/// The connections to one upstream, all loops together.
package struct ConnectionSnapshot: Sendable, Equatable {
    /// Which.
    package var upstream: Upstream
    /// Connections on their way.
    package var connecting = 0
    /// Connections that take requests.
    package var open = 0
    /// Connections that only wait for their last answers.
    package var draining = 0
    /// Requests that have gone out and have no answer.
    package var inFlight = 0
    /// Requests that wait for a connection or a stream.
    package var waiting = 0
    /// Streams that the open connections allow, all together.
    package var streamLimit = 0
    /// Why the last attempt to connect failed, in words; nil when a connection has answered since.
    package var lastFault: String?

    package init(upstream: Upstream) { self.upstream = upstream }
}

/// How fast a push service answers, over the last minutes.
package struct LatencySnapshot: Sendable, Equatable {
    /// Whose push service.
    package var platform: Platform
    /// Answers in the window that the two figures below are made of.
    package var answers: Int
    /// Half of the answers came within this. Nil without answers.
    package var median: Duration?
    /// All but one in a hundred came within this. Nil without answers.
    package var p99: Duration?
    /// When the push service last accepted a push; nil when it has not since the process began.
    package var lastSuccess: WallInstant?

    package init(
        platform: Platform, answers: Int, median: Duration?, p99: Duration?, lastSuccess: WallInstant?
    ) {
        self.platform = platform
        self.answers = answers
        self.median = median
        self.p99 = p99
        self.lastSuccess = lastSuccess
    }
}

/// Something that is wrong, in words for somebody who was woken up by it.
package struct Problem: Sendable, Equatable {
    /// How bad it is.
    package enum Severity: String, CaseIterable, Sendable, Comparable {
        /// Pushes or registrations are being lost.
        case error
        /// It may come to that.
        case warning

        package static func < (left: Severity, right: Severity) -> Bool { left == .error && right == .warning }
    }

    /// How bad it is.
    package var severity: Severity
    /// What is wrong, and where there is something to be done, what. One sentence or two, without a full stop at the end.
    package var text: String
    /// Since when, as far as the relay knows.
    package var since: WallInstant?

    package init(_ severity: Severity, _ text: String, since: WallInstant? = nil) {
        self.severity = severity
        self.text = text
        self.since = since
    }
}
