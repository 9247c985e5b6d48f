import DeviceStore
import PushModel
import PushServices
import Relay
import RelayAPI

/// What happens on one loop goes to its counters and to the log.
struct LoopObserver: DeliveryObserver, PushObserver, RefusalObserver {
    let metrics: LoopMetrics
    let report: OperatorReport

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
