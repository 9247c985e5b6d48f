package import HTTP2Client
package import PushModel

/// One request to a push service and how it ended: with an answer, or without one.
///
/// A class, because it is handed on some ten times and an answer is large; what is asked of it more than once is found out
/// when it is made.
package final class Attempt: Sendable {
    /// How it ended.
    package enum End: Sendable {
        /// The push service answered.
        case answered(any ServiceAnswer, HTTP2Response)
        /// It did not.
        case failed(HTTP2Failure)
    }

    /// How it ended.
    package let end: End
    /// Which attempt of its push it was; from 2 on it repeated an earlier one.
    package let number: Int
    /// When the request was handed over.
    package let startedAt: MonotonicInstant
    /// When its end was known.
    package let endedAt: MonotonicInstant

    /// What it means for the sender if it stands.
    package let outcome: DeliveryOutcome
    /// Whether it may be repeated.
    package let retry: RetryAdvice
    /// What it says about the push service as a whole.
    package let health: Health
    /// Whether the push service surely knows nothing of it.
    package let neverLeft: Bool
    /// How loudly the operator is told.
    package let alarm: Alarm
    /// The connection that the answer came by; nil where none came.
    package let connection: HTTP2ConnectionID?
    /// Whether that connection is to make way for another.
    package let condemnsConnection: Bool

    package init(end: End, number: Int, startedAt: MonotonicInstant, endedAt: MonotonicInstant) {
        self.end = end
        self.number = number
        self.startedAt = startedAt
        self.endedAt = endedAt
        switch end {
        case .answered(let answer, let response):
            outcome = answer.outcome
            retry = answer.retry
            health = answer.health
            neverLeft = false
            alarm = answer.alarm
            connection = response.connection
            condemnsConnection = answer.condemnsConnection
        case .failed(let failure):
            outcome = failure.outcome
            retry = failure.retry
            health = failure.health
            neverLeft = failure.isSurelyUnprocessed
            alarm = .count
            connection = nil
            condemnsConnection = false
        }
    }

    /// Sends the request and interprets what comes back.
    ///
    /// - Parameter now: the moment of the call.
    static func of(
        _ request: HTTP2Request, on pool: any UpstreamPool, timeout: Duration, leavingWithin: Duration,
        avoiding avoided: HTTP2ConnectionID?, number: Int, at now: MonotonicInstant, clocks: Clocks,
        interpreting interpret: (HTTP2Response) -> any ServiceAnswer
    ) async -> Attempt {
        let end: End
        do throws(HTTP2Failure) {
            let response = try await pool.send(
                request, timeout: timeout, leavingWithin: leavingWithin, avoiding: avoided)
            end = .answered(interpret(response), response)
        } catch {
            end = .failed(error)
        }
        return Attempt(end: end, number: number, startedAt: now, endedAt: clocks.monotonic())
    }

    /// How long it took.
    package var duration: Duration { endedAt.duration(since: startedAt) }

    /// A word out of a closed set, for counting and for the log.
    package var label: String {
        switch end {
        case .answered(let answer, _): answer.label
        case .failed(let failure): String(describing: failure.metricLabel)
        }
    }
}

/// Hears of every attempt, to count it and to tell the operator. Called on the loop; must be quick.
package protocol DeliveryObserver: Sendable {
    /// An attempt has ended.
    func attempted(_ attempt: Attempt, platform: Platform)
}
