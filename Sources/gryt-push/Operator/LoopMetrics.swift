import HTTP2Client
import PushModel
import PushServices
import Relay
import RelayAPI
import Synchronization
import Telemetry

/// What one loop counts. Its own loop writes, by plain atomic additions that nobody contends for; a scrape reads from
/// elsewhere whenever it likes, and adds the loops up.
final class LoopMetrics: DeliveryObserver {
    /// How late a loop's timers may fire, from the kernel's own grain to what hurts.
    static let lagBounds: [Duration] = [
        .milliseconds(1), .microseconds(2500), .milliseconds(5), .milliseconds(10), .milliseconds(25),
        .milliseconds(50), .milliseconds(100), .milliseconds(250), .milliseconds(500), .seconds(1), .seconds(5),
    ]

    /// What concerns each platform.
    let platforms = PerPlatform { _ in PlatformMetrics() }
    /// Requests refused.
    let refusals = LabelledCounters<RefusalCode>()
    /// How late timers fired.
    let lag = Histogram(bounds: lagBounds)

    private let clocks: Clocks
    private let lastBeat: Atomic<Int64>

    init(clocks: Clocks) {
        self.clocks = clocks
        lastBeat = Atomic(RunningInstant.now.nanoseconds)
    }

    func attempted(_ attempt: Attempt, platform: Platform) {
        platforms[platform].count(attempt, clocks, speaksOfCredentials: true)
    }

    /// An attempt with credentials that may have been replaced since: those of `generation`.
    func attempted(_ attempt: Attempt, platform: Platform, generation: Int) {
        let isCurrent = generation == platforms[platform].generation.load(ordering: .relaxed)
        platforms[platform].count(attempt, clocks, speaksOfCredentials: isCurrent)
    }

    /// A push has its verdict.
    func pushed(
        _ verdict: PushVerdict, _ platform: Platform, startedAt: MonotonicInstant, endedAt: MonotonicInstant
    ) {
        guard let outcome = PushOutcome(verdict) else { return }
        platforms[platform].pushes[outcome.ordinal].add(nanoseconds: endedAt.nanoseconds - startedAt.nanoseconds)
    }

    func refused(_ refusal: Refusal) { refusals[refusal.label].add() }

    /// The loop's timer fired, so much later than it was meant to.
    func beat(late nanoseconds: Int64, at now: RunningInstant) {
        lag.add(nanoseconds: nanoseconds)
        lastBeat.store(now.nanoseconds, ordering: .relaxed)
    }

    /// For how long the loop has not gone round. A suspension of the machine is no silence of the loop's.
    func silence(at now: RunningInstant) -> Duration {
        .nanoseconds(max(0, now.nanoseconds - lastBeat.load(ordering: .relaxed)))
    }
}

/// What one loop counts about the pushes to one platform.
final class PlatformMetrics: Sendable {
    /// How long pushes took, one for each ``PushOutcome``.
    let pushes = PushOutcome.allCases.map { _ in Histogram() }
    /// How long answers took, one attempt at a time.
    let upstream = Histogram()
    /// Answers.
    let answers = DoublyLabelledCounters<StatusClass, AnswerReason>()
    /// Attempts without an answer.
    let failures = LabelledCounters<FailureReason>()
    /// Attempts that repeated an earlier one.
    let retries = Counter()
    /// What answers say about the credentials.
    let credentials = CredentialRecord()
    /// How often the credentials have been replaced.
    let generation = Atomic<Int>(0)

    /// Nothing is known of the credentials from now on, for they are others. On the loop.
    func replaceCredentials() {
        generation.add(1, ordering: .relaxed)
        credentials.forget()
    }

    private static let never: Int64 = .min

    private let acceptedAt = Atomic<Int64>(never)
    private let skewRecord = SkewRecord()

    /// Counts an attempt. On the loop.
    ///
    /// - Parameter speaksOfCredentials: whether it was made with the credentials that are in force.
    func count(_ attempt: Attempt, _ clocks: Clocks, speaksOfCredentials: Bool) {
        if attempt.number > 1 { retries.add() }
        switch attempt.end {
        case .answered(let answer, let response):
            upstream.add(nanoseconds: attempt.endedAt.nanoseconds - attempt.startedAt.nanoseconds)
            let reason = answer.reason
            answers[StatusClass(response.status), reason].add()
            if speaksOfCredentials { credentials.note(answer.evidence, at: attempt.endedAt) }
            if case .accepted = reason { acceptedAt.store(attempt.endedAt.nanoseconds, ordering: .relaxed) }
            measureSkew(response, attempt, clocks)
        case .failed(let failure):
            failures[FailureReason(failure)].add()
        }
    }

    /// When a push was last accepted, on the clock that nobody sets; nil when none was.
    var lastSuccess: Int64? {
        let value = acceptedAt.load(ordering: .relaxed)
        return value == Self.never ? nil : value
    }

    /// By how much the clock on the wall is ahead of the push service's, and when that was measured; nil when it never was.
    var skew: (nanoseconds: Int64, measuredAt: Int64)? { skewRecord.reading }

    private func measureSkew(_ response: HTTP2Response, _ attempt: Attempt, _ clocks: Clocks) {
        guard skewRecord.isDue(at: attempt.endedAt),
            let date = response.value(of: "date").flatMap(HTTPDate.instant(of:))
        else { return }
        skewRecord.note(date, wall: clocks.wall(), at: attempt.endedAt)
    }
}

/// By how much this machine's clock is ahead of a push service's, as its answers tell. One loop writes; any thread reads.
final class SkewRecord: Sendable {
    private static let never: Int64 = .min
    private static let interval: Int64 = 1_000_000_000
    /// A century: nobody's clock is further off, and whoever says so says nonsense that must fit into nanoseconds.
    private static let greatest: Int64 = 36_525 * 86_400_000

    private let dueAt = Atomic<Int64>(never)
    private let measuredAt = Atomic<Int64>(never)
    private let nanoseconds = Atomic<Int64>(0)

    /// Whether it is worth reading a `Date` again. Says so once a second.
    func isDue(at now: MonotonicInstant) -> Bool {
        guard now.nanoseconds >= dueAt.load(ordering: .relaxed) else { return false }
        dueAt.store(now.nanoseconds + Self.interval, ordering: .relaxed)
        return true
    }

    /// Takes the `Date` of an answer. It is the second in which the answer was made, so on average half a second more had
    /// passed. It may name any year there is; more than a century is noted as one.
    func note(_ date: WallInstant, wall: WallInstant, at now: MonotonicInstant) {
        let ahead = wall.milliseconds - date.milliseconds - 500
        let bounded = min(max(ahead, -Self.greatest), Self.greatest)
        nanoseconds.store(bounded * 1_000_000, ordering: .relaxed)
        measuredAt.store(now.nanoseconds, ordering: .releasing)
    }

    /// The last measurement, and when it was made; nil when there was none.
    var reading: (nanoseconds: Int64, measuredAt: Int64)? {
        let measuredAt = measuredAt.load(ordering: .acquiring)
        return measuredAt == Self.never ? nil : (nanoseconds.load(ordering: .relaxed), measuredAt)
    }
}

/// How a push ended that had a device and a push service: the values of the label `outcome`.
enum PushOutcome: String, MetricLabelValue {
    /// The push service took it.
    case accepted
    /// The phone is gone.
    case gone
    /// The push service throttles this phone.
    case throttled
    /// The push service did not take it, or did not answer.
    case failed
    /// Too much at once.
    case overloaded

    /// Nil for a verdict that no push service was asked for.
    init?(_ verdict: PushVerdict) {
        switch verdict {
        case .accepted: self = .accepted
        case .gone: self = .gone
        case .phoneThrottled: self = .throttled
        case .upstreamFailed: self = .failed
        case .overloaded: self = .overloaded
        case .addressLimited, .capabilityLimited, .unknownCapability, .platformUnavailable, .storeFailed: return nil
        }
    }

    var ordinal: Int {
        switch self {
        case .accepted: 0
        case .gone: 1
        case .throttled: 2
        case .failed: 3
        case .overloaded: 4
        }
    }
}
