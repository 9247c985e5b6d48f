package import HTTP2Client
package import PushModel

/// One request to a push service and how it ended: with an answer, or without one.
package struct Attempt: Sendable {
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

    package init(end: End, number: Int, startedAt: MonotonicInstant, endedAt: MonotonicInstant) {
        self.end = end
        self.number = number
        self.startedAt = startedAt
        self.endedAt = endedAt
    }

    /// Sends the request and interprets what comes back.
    static func of(
        _ request: HTTP2Request, on pool: any UpstreamPool, timeout: Duration, leavingWithin: Duration,
        avoiding avoided: HTTP2ConnectionID?, number: Int, clocks: Clocks,
        interpreting interpret: (HTTP2Response) -> any ServiceAnswer
    ) async -> Attempt {
        let startedAt = clocks.monotonic()
        let end: End
        do throws(HTTP2Failure) {
            let response = try await pool.send(
                request, timeout: timeout, leavingWithin: leavingWithin, avoiding: avoided)
            end = .answered(interpret(response), response)
        } catch {
            end = .failed(error)
        }
        return Attempt(end: end, number: number, startedAt: startedAt, endedAt: clocks.monotonic())
    }

    /// How long it took.
    package var duration: Duration { endedAt.duration(since: startedAt) }

    /// The answer as it came, where one came.
    package var response: HTTP2Response? {
        switch end {
        case .answered(_, let response): response
        case .failed: nil
        }
    }

    /// What it means for the sender if it stands.
    package var outcome: DeliveryOutcome {
        switch end {
        case .answered(let answer, _): answer.outcome
        case .failed(let failure): failure.outcome
        }
    }

    /// Whether it may be repeated.
    package var retry: RetryAdvice {
        switch end {
        case .answered(let answer, _): answer.retry
        case .failed(let failure): failure.retry
        }
    }

    /// What it says about the push service as a whole.
    package var health: Health {
        switch end {
        case .answered(let answer, _): answer.health
        case .failed(let failure): failure.health
        }
    }

    /// Whether the push service surely knows nothing of it.
    package var neverLeft: Bool {
        switch end {
        case .answered: false
        case .failed(let failure): failure.isSurelyUnprocessed
        }
    }

    /// A word out of a closed set, for counting and for the log.
    package var label: String {
        switch end {
        case .answered(let answer, _): answer.label
        case .failed(let failure): String(describing: failure.metricLabel)
        }
    }

    /// How loudly the operator is told.
    package var alarm: Alarm {
        switch end {
        case .answered(let answer, _): answer.alarm
        case .failed: .count
        }
    }
}

/// Hears of every attempt, to count it and to tell the operator. Called on the loop; must be quick.
package protocol DeliveryObserver: Sendable {
    /// An attempt has ended.
    func attempted(_ attempt: Attempt, platform: Platform)
}
