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
}

/// Requests for an access token go to the counters and to the log.
struct TokenObserver: AccessTokenObserver {
    let metrics: RelayMetrics
    let report: OperatorReport

    func requested(_ result: Result<Duration, OAuthFailure>, date: WallInstant?) {
        metrics.requested(result, date: date)
        report.requested(result, date: date)
    }
}
