import PushModel
import PushServices
import RelayAPI
import Synchronization
import Telemetry

/// What the process counts: its loops, and what it has one of.
final class RelayMetrics: Sendable {
    /// One for each loop.
    let loops: [LoopMetrics]
    /// Requests for an access token.
    let accessTokens = LabelledCounters<AccessTokenResult>()
    /// Reloads, by how they ended.
    let reloads = LabelledCounters<ReloadResult>()

    /// What they say about the clock. With a clock that is far off Google gives no token, and no push gets so far as to tell.
    let tokenSkew = SkewRecord()

    private let clocks: Clocks

    init(loops: Int, clocks: Clocks) {
        self.loops = (0..<loops).map { _ in LoopMetrics(clocks: clocks) }
        self.clocks = clocks
    }

    /// A request for an access token has ended; `record` is of the service account that it was made with, `date` what Google's
    /// clock said.
    func requested(
        _ result: Result<Duration, OAuthFailure>, date: WallInstant?, for record: CredentialRecord
    ) {
        if let date { tokenSkew.note(date, wall: clocks.wall(), at: clocks.monotonic()) }
        let result = AccessTokenResult(result)
        accessTokens[result].add()
        record.note(result.evidence, at: clocks.monotonic())
    }

    /// What all loops have counted about one platform, together.
    func platform(_ platform: Platform) -> PlatformReading {
        let parts = loops.map { PlatformReading($0.platforms[platform]) }
        var whole = parts.dropFirst().reduce(parts[0]) { $0.adding($1) }
        whole.skew = skew(platform)
        return whole
    }

    /// When a platform's push service last accepted a push, on the clock that nobody sets; nil when it never did.
    func lastSuccess(_ platform: Platform) -> Int64? { loops.compactMap { $0.platforms[platform].lastSuccess }.max() }

    /// By how much the clock on the wall is ahead of a push service's, as measured last; nil when it never was.
    func skew(_ platform: Platform) -> (nanoseconds: Int64, measuredAt: Int64)? {
        var readings = loops.compactMap { $0.platforms[platform].skew }
        if platform == .android, let reading = tokenSkew.reading { readings.append(reading) }
        return readings.max { $0.measuredAt < $1.measuredAt }
    }

    /// How late the timers of all loops fired.
    var lag: HistogramReading {
        loops.dropFirst().reduce(loops[0].lag.reading) { $0 + $1.lag.reading }
    }

    /// Requests refused, in the order of ``RefusalCode``'s cases.
    var refusals: [Int] { sum(loops.map { $0.refusals.values }) }
}

/// What has been counted about one platform at one moment, by one loop or by several.
struct PlatformReading: Sendable {
    /// In the order of ``PushOutcome``'s cases.
    var pushes: [HistogramReading]
    /// How long answers took.
    var upstream: HistogramReading
    /// By ``StatusClass``, then by ``AnswerReason``.
    var answers: [[Int]]
    /// In the order of ``FailureReason``'s cases.
    var failures: [Int]
    /// Attempts that repeated an earlier one.
    var retries: Int
    /// What answers say about the credentials.
    var credentials: CredentialTrace
    /// When a push was last accepted, on the clock that nobody sets, in nanoseconds.
    var lastSuccess: Int64?
    /// By how much the clock on the wall is ahead, and when that was measured.
    var skew: (nanoseconds: Int64, measuredAt: Int64)?

    init(_ metrics: PlatformMetrics) {
        pushes = metrics.pushes.map(\.reading)
        upstream = metrics.upstream.reading
        answers = metrics.answers.values
        failures = metrics.failures.values
        retries = metrics.retries.value
        credentials = metrics.credentials.trace
        lastSuccess = metrics.lastSuccess
        skew = metrics.skew
    }

    /// The two together.
    func adding(_ other: PlatformReading) -> PlatformReading {
        var whole = self
        whole.pushes = zip(pushes, other.pushes).map { $0 + $1 }
        whole.upstream = upstream + other.upstream
        whole.answers = zip(answers, other.answers).map { sum([$0, $1]) }
        whole.failures = sum([failures, other.failures])
        whole.retries += other.retries
        whole.credentials = .together([credentials, other.credentials])
        whole.lastSuccess = [lastSuccess, other.lastSuccess].compactMap(\.self).max()
        whole.skew = [skew, other.skew].compactMap(\.self).max { $0.measuredAt < $1.measuredAt }
        return whole
    }
}

private func sum(_ rows: [[Int]]) -> [Int] {
    rows.dropFirst().reduce(rows[0]) { zip($0, $1).map(+) }
}

/// How a request for an access token ended: the values of the label `result`.
enum AccessTokenResult: String, MetricLabelValue {
    /// There is a new token.
    case renewed
    /// The endpoint could not be reached.
    case unreachable
    /// The endpoint has a fault of its own.
    case unavailable
    /// The answer was no token.
    case malformed
    /// The account or its key was not accepted.
    case refused
    /// The times in the assertion were not accepted.
    case clock

    init(_ result: Result<Duration, OAuthFailure>) {
        self =
            switch result {
            case .success: .renewed
            case .failure(.unreachable): .unreachable
            case .failure(.unavailable): .unavailable
            case .failure(.malformed): .malformed
            case .failure(.refused): .refused
            case .failure(.clock): .clock
            }
    }

    /// What it says about the service account.
    var evidence: CredentialEvidence {
        switch self {
        case .renewed: .accepted
        case .refused, .clock: .refused
        case .unreachable, .unavailable, .malformed: .none
        }
    }
}

/// How a reload ended: the values of the label `result`.
enum ReloadResult: String, MetricLabelValue {
    /// The settings are in force, changed or not.
    case applied
    /// They could not be right, and those before stay in force.
    case refused
}

/// The credentials of both platforms, and what is thought of them. They may be replaced while the relay runs.
final class CredentialBook: Sendable {
    let metrics: RelayMetrics
    private let current: Mutex<Upstreams>

    init(metrics: RelayMetrics, upstreams: Upstreams) {
        self.metrics = metrics
        current = Mutex(upstreams)
    }

    /// Those in force.
    var upstreams: Upstreams { current.withLock { $0 } }

    /// Puts others into force.
    func replace(by upstreams: Upstreams) { current.withLock { $0 = upstreams } }

    /// Whether there are any for a platform.
    func isSet(_ platform: Platform) -> Bool {
        switch platform {
        case .ios: upstreams.apns != nil
        case .android: upstreams.fcm != nil
        }
    }

    /// What is known about a platform's now.
    func snapshot(_ platform: Platform, _ reckoning: WallReckoning) -> CredentialSnapshot {
        let pushes = CredentialTrace.together(metrics.loops.map { $0.platforms[platform].credentials.trace })
        let tokens: CredentialTrace
        let age: Duration?
        let upstreams = upstreams
        switch platform {
        case .ios: (tokens, age) = (CredentialTrace(), upstreams.apns?.tokens.age)
        case .android: (tokens, age) = (upstreams.fcm?.record.trace ?? CredentialTrace(), upstreams.fcm?.tokens.age)
        }
        return CredentialSnapshot(
            platform: platform,
            state: .init(isSet: isSet(platform), pushes: pushes, tokens: tokens, reckoning: reckoning), tokenAge: age,
            lastAccepted: [pushes.lastAccepted, tokens.lastAccepted].compactMap(\.self).max()
                .map { reckoning.instant($0) },
            lastRefused: [pushes.lastRefused, tokens.lastRefused].compactMap(\.self).max()
                .map { reckoning.instant($0) })
    }
}
