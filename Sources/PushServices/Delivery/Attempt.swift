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

    /// For a test, or for an end that is known without asking.
    package init(end: End) { self.end = end }

    /// Sends the request and interprets what comes back.
    static func of(
        _ request: HTTP2Request, on pool: any UpstreamPool, timeout: Duration,
        interpreting interpret: (HTTP2Response) -> any ServiceAnswer
    ) async -> Attempt {
        do throws(HTTP2Failure) {
            let response = try await pool.send(request, timeout: timeout)
            return Attempt(end: .answered(interpret(response), response))
        } catch {
            return Attempt(end: .failed(error))
        }
    }

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
