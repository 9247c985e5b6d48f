import DeviceStore
import PushModel
import PushServices
import Relay
import RelayAPI
import Synchronization

/// What happens on one loop goes to its counters and to the log.
struct LoopObserver: DeliveryObserver, PushObserver, RefusalObserver {
    let metrics: LoopMetrics
    let report: OperatorReport
    /// The same for all loops.
    let forwardingNotice: OnceInAProcess

    func attempted(_ attempt: Attempt, platform: Platform) {
        metrics.attempted(attempt, platform: platform)
        report.attempted(attempt, platform: platform)
    }

    func pushed(
        _ verdict: PushVerdict, _ platform: Platform, startedAt: MonotonicInstant, endedAt: MonotonicInstant
    ) {
        metrics.pushed(verdict, platform, startedAt: startedAt, endedAt: endedAt)
    }

    func storeFailed(_ task: StoreTask, _ error: StoreError) { report.storeFailed(task, error) }

    func refused(_ refusal: Refusal) {
        metrics.refused(refusal)
        report.refused(refusal)
    }

    func couldNotAccept(_ errno: Int32) { report.couldNotAccept(errno) }

    /// Once is enough: it is about the settings, and any sender could have it written at will.
    func ignoredForwarding() {
        if forwardingNotice.isFirst() { report.ignoredForwarding() }
    }
}

/// Tells the first who asks from all others. Any thread may ask.
final class OnceInAProcess: Sendable {
    private let isOver = Atomic<Bool>(false)

    /// True once. The load keeps those who come later from writing to what all loops share.
    func isFirst() -> Bool { !isOver.load(ordering: .relaxed) && !isOver.exchange(true, ordering: .relaxed) }
}

/// What one platform's service does on one loop, with the credentials that it was made with.
struct ServiceObserver: DeliveryObserver {
    let loop: LoopObserver
    /// How often the platform's credentials had been replaced by then.
    let generation: Int

    func attempted(_ attempt: Attempt, platform: Platform) {
        loop.metrics.attempted(attempt, platform: platform, generation: generation)
        loop.report.attempted(attempt, platform: platform)
    }
}

/// Requests for an access token go to the counters and to the log.
struct TokenObserver: AccessTokenObserver {
    let metrics: RelayMetrics
    let report: OperatorReport
    /// What answers say about this service account.
    let record: CredentialRecord

    func requested(_ result: Result<Duration, OAuthFailure>, date: WallInstant?) {
        metrics.requested(result, date: date, for: record)
        report.requested(result, date: date)
    }
}
