import DeviceStore
import PushModel
import PushServices
import RelayAPI
import SQLiteDeviceStore
import Telemetry

/// Says in words what is wrong, from what was gathered. Pure: the same facts give the same words.
///
/// The thresholds are those of `docs/metrics.md`.
struct Diagnosis {
    /// A limit that remembers more than this share of what it may is short of memory soon.
    static let limiterPressure = 0.8
    /// With less room than this on the disk, it is time to make some.
    static let scarceDiskBytes = 512 << 20
    /// With less than this, writes are about to fail.
    static let lastDiskBytes = 32 << 20
    /// A clock that is wrong by more than this is worth a look.
    static let notableSkew: Int64 = 30_000_000_000
    /// Apple and Google refuse credentials that are further off than some five to ten minutes.
    static let dangerousSkew: Int64 = 240_000_000_000
    /// Timers that fire later than this, one in a hundred, say that a loop is too busy.
    static let notableLag: Int64 = 100_000_000
    /// A refusal that is older than this keeps requests away no longer: only a push can show that the credentials are good by
    /// now. While pushes come, one is tried each six minutes at least (``BreakerCause``).
    static let refusalCounts: Duration = .seconds(600)
    /// Fewer pushes than this in the last minutes say nothing about a push service.
    static let leastPushes = 20

    private let facts: OperatorFacts

    init(_ facts: OperatorFacts) { self.facts = facts }

    /// What readiness depends on, in the order of `ReadinessCheck.Name.allCases`.
    var checks: [ReadinessCheck] {
        ReadinessCheck.Name.allCases.map { name in
            switch name {
            case .serving: ReadinessCheck(name, fault: facts.isDraining ? "the relay is draining" : nil)
            case .store: ReadinessCheck(name, fault: storeFault)
            case .credentials: ReadinessCheck(name, fault: credentialFault)
            }
        }
    }

    /// Everything that is wrong, the worst first.
    var problems: [Problem] {
        let found = [
            storeProblems, credentialProblems, serviceProblems, clockProblems, loadProblems, machineProblems,
        ].flatMap(\.self)
        return found.filter { $0.severity == .error } + found.filter { $0.severity == .warning }
    }

    // MARK: The store

    private var storeFault: String? {
        if facts.isDatabaseReplaced { return StoreError.replaced.operatorLine }
        if let failure = facts.writer.lastFailure { return failure.operatorLine }
        return facts.devices == nil ? "the database does not answer" : nil
    }

    private var storeProblems: [Problem] {
        var problems: [Problem] = []
        if let fault = storeFault { problems.append(Problem(.error, "The store: \(fault)")) }
        if let fault = facts.writer.scrubFailure {
            problems.append(
                Problem(
                    .warning,
                    "What was removed still stands in push.db-wal, which grows: \(fault)"))
        }
        if let free = facts.disk.freeBytes {
            let room = "\(free >> 20) MB are free where DATA_DIR is: make room"
            if free < Self.lastDiskBytes {
                problems.append(Problem(.error, "The disk is full. \(room)"))
            } else if free < Self.scarceDiskBytes {
                problems.append(Problem(.warning, "The disk is almost full. \(room)"))
            }
        }
        return problems
    }

    // MARK: Credentials

    private var credentialFault: String? {
        let now = facts.reckoning.wall
        let isUsable = Platform.allCases.contains { platform in
            switch facts.credentials[platform].state {
            case .untried, .accepted: true
            case .unset: false
            case .refused(let since):
                (facts.credentials[platform].lastRefused ?? since).advanced(by: Self.refusalCounts) < now
            }
        }
        if isUsable { return nil }
        return Platform.allCases.allSatisfy { facts.credentials[$0].state == .unset }
            ? "there are no credentials for any platform" : "no platform's credentials are accepted"
    }

    private var credentialProblems: [Problem] {
        if Platform.allCases.allSatisfy({ facts.credentials[$0].state == .unset }) {
            return [
                Problem(
                    .error,
                    "There are no credentials, so every registration is refused: set APNS_KEY_PATH or FCM_SERVICE_ACCOUNT_PATH"
                )
            ]
        }
        return Platform.allCases.compactMap { platform in
            guard case .refused(let since) = facts.credentials[platform].state else { return nil }
            return switch platform {
            case .ios:
                Problem(
                    .error,
                    "Apple refuses the relay's credentials: check the APNS_ settings, the key at Apple, and the clock",
                    since: since)
            case .android:
                Problem(
                    .error,
                    "Google refuses the relay's credentials: check the service account, its rights, and the clock",
                    since: since)
            }
        }
    }

    // MARK: The push services

    private var serviceProblems: [Problem] {
        let connections = facts.upstreams.compactMap { upstream -> Problem? in
            guard let fault = upstream.snapshot.lastFault else { return nil }
            let name = upstream.snapshot.upstream.inWords
            return upstream.snapshot.open == 0
                ? Problem(.error, "No connection to \(name): \(fault)")
                : Problem(.warning, "Some connections to \(name) fail: \(fault)")
        }
        let platforms = Platform.allCases.flatMap { platform -> [Problem] in
            var problems: [Problem] = []
            if facts.massDeathSuspected[platform] {
                problems.append(
                    Problem(
                        .error,
                        "\(platform.pushService) calls so many tokens foreign or malformed at once that none is forgotten for it: check \(platform.deathSettings)"
                    ))
            }
            let recent = facts.recent[platform]
            let asked = recent[.accepted] + recent[.gone] + recent[.throttled] + recent[.failed]
            if asked >= Self.leastPushes, recent[.failed] * 2 > asked {
                problems.append(
                    Problem(
                        .error,
                        "\(recent[.failed]) of the last \(asked) pushes through \(platform.pushService) failed",
                        since: facts.platforms[platform].lastSuccess.map { facts.reckoning.instant($0) }))
            }
            return problems
        }
        let breakers = facts.breakers.compactMap { breaker -> Problem? in
            guard let (cause, since) = breaker.open else { return nil }
            return Problem(
                .error, "\(breaker.upstream.inWords) is not asked for the time being: \(cause.inWords)",
                since: facts.reckoning.instant(since.nanoseconds))
        }
        let pace = facts.pace?.limit.map { limit in
            Problem(
                .warning,
                "Google asks to be sent less: \(Int(limit.rounded(.up))) pushes a second go at most, and grow from there; the console shows the project's quota"
            )
        }
        return breakers + connections + platforms + [pace].compactMap(\.self)
    }

    private var clockProblems: [Problem] {
        let skews = Platform.allCases.compactMap { facts.platforms[$0].skew?.nanoseconds }
        guard let skew = skews.max(by: { $0.magnitude < $1.magnitude }) else { return [] }
        let severity: Problem.Severity
        switch ClockState(skew: skew) {
        case .right: return []
        case .notable: severity = .warning
        case .dangerous: severity = .error
        }
        let seconds = skew.magnitude / 1_000_000_000
        let direction = skew > 0 ? "ahead of" : "behind"
        return [
            Problem(
                severity,
                "This machine's clock is \(seconds) s \(direction) the push services': check its time synchronization")
        ]
    }

    // MARK: Load and the machine

    private var loadProblems: [Problem] {
        var problems: [Problem] = []
        for limiter in facts.limiters where Double(limiter.keys) >= Double(limiter.maximum) * Self.limiterPressure {
            let isFull = limiter.keys >= limiter.maximum
            problems.append(
                Problem(
                    isFull ? .error : .warning,
                    "The limit \(limiter.name.rawValue) remembers \(limiter.keys) of \(limiter.maximum) keys; when it is full, new ones get 503: somebody floods the relay from many addresses"
                ))
        }
        if facts.pushesInFlight * 10 >= facts.pushesInFlightLimit * 9 {
            problems.append(
                Problem(
                    .error,
                    "\(facts.pushesInFlight) of \(facts.pushesInFlightLimit) pushes are under way (MAX_PUSHES_IN_FLIGHT): further ones get 503"
                ))
        }
        if facts.silentLoops > 0 {
            problems.append(
                Problem(
                    .error,
                    "\(facts.silentLoops) of \(facts.loops) event loops do not answer: the machine is overloaded"))
        }
        if let lag = facts.recentLag.quantile(0.99), lag > Self.notableLag {
            problems.append(
                Problem(.warning, "Event loops are up to \(lag / 1_000_000) ms late: the machine has too little CPU"))
        }
        return problems
    }

    private var machineProblems: [Problem] {
        guard let open = facts.process.openDescriptors, facts.process.maximumDescriptors > 0,
            open * 10 >= facts.process.maximumDescriptors * 9
        else { return [] }
        return [
            Problem(
                .error,
                "\(open) of \(facts.process.maximumDescriptors) file descriptors are open: raise the process's limit (nofile)"
            )
        ]
    }
}

extension Upstream {
    /// As a sentence names it.
    var inWords: String {
        switch self {
        case .apns: "APNs"
        case .apnsSandbox: "APNs' sandbox"
        case .fcm: "FCM"
        case .oauth: "Google's token endpoint"
        }
    }
}

extension BreakerCause {
    /// What has happened, and what to look at.
    fileprivate var inWords: String {
        switch self {
        case .credentials: "it refuses the relay's credentials, or not for this app"
        case .foreignProject: "every phone belongs to another Firebase project; check the service account"
        case .tokenUpdates: "it saw provider tokens renewed too often; does another program use the same key?"
        case .untrusted: "its certificate is not trusted; check the system's roots, the clock, and what lies in between"
        case .notHTTP2: "what answers in its place speaks no HTTP/2; does something in between open TLS?"
        case .proxyRefuses: "the proxy in HTTPS_PROXY lets nothing through to it; the log has the proxy's answer"
        case .proxyFails: "the proxy in HTTPS_PROXY does not get through to it"
        case .unreachable: "no connection to it holds"
        case .timeout: "it does not answer"
        case .unavailable: "it answers that it is ill"
        }
    }
}

extension Platform {
    /// Whose push service reaches it.
    fileprivate var pushService: String {
        switch self {
        case .ios: "APNs"
        case .android: "FCM"
        }
    }

    /// What is wrong when all tokens are.
    fileprivate var deathSettings: String {
        switch self {
        case .ios: "APNS_TOPIC and the origins"
        case .android: "that the service account is of the app's project"
        }
    }
}
