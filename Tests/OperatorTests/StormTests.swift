import DeviceStore
import PushModel
import PushServices
import Relay
import RelayAPI
import Synchronization
import Telemetry
import Testing

@testable import HTTP2Client
@testable import gryt_push

/// An hour in which nothing goes well, two hundred times a second.
@Suite(.timeLimit(.minutes(1)))
struct StormTests {
    /// Counts lines by level and event.
    private final class CountingSink: LogSink {
        private let counted = Mutex<[String: Int]>([:])

        var lines: [String: Int] { counted.withLock { $0 } }

        func write(_ line: [UInt8]) {
            let words = String(decoding: line, as: UTF8.self).split(separator: " ")
            counted.withLock { $0[words[1] + " " + words[2], default: 0] += 1 }
        }
    }

    /// What goes wrong: each calls a report once.
    private static func troubles() -> [@Sendable (OperatorReport) -> Void] {
        let failures: [HTTP2Failure] = [
            .notSent(.neverLeft), .unknownOutcome(.timeout), .unknownOutcome(.connectionLost),
            .unreachable(.connectTimeout), .unreachable(.certificateNotTrusted(code: 20)), .overloaded,
        ]
        let answers: [APNsAnswer] = [
            .malformed, .topicRefused, .invalidProviderToken, .tooManyProviderTokenUpdates, .internalServerError,
        ]
        var troubles: [@Sendable (OperatorReport) -> Void] = []
        func attempted(_ end: Attempt.End, _ platform: Platform) {
            let instant = MonotonicInstant(nanoseconds: 0)
            let attempt = Attempt(end: end, number: 1, startedAt: instant, endedAt: instant)
            troubles.append { $0.attempted(attempt, platform: platform) }
        }
        for platform in Platform.allCases { for failure in failures { attempted(.failed(failure), platform) } }
        for answer in answers {
            let response = HTTP2Response(
                status: 403, body: [], bodyWasCut: false, connection: HTTP2ConnectionID(number: 1), headers: [])
            attempted(.answered(answer, response), .ios)
        }
        for failure in [OAuthFailure.unreachable, .unavailable, .refused] {
            troubles.append { $0.requested(.failure(failure), date: nil) }
        }
        for upstream in Upstream.allCases {
            troubles.append { $0.connection(upstream, .failed(.connectTimeout)) }
            troubles.append { $0.connection(upstream, .opened(HTTP2ConnectionID(number: 1))) }
            troubles.append { $0.breaker(upstream, .opened(.unavailable)) }
            troubles.append { $0.breaker(upstream, .closed(.unavailable, after: .seconds(1))) }
        }
        for error in [StoreError.full, .busy, .replaced] {
            for task in [StoreTask.register, .lookUp, .forget] { troubles.append { $0.storeFailed(task, error) } }
            troubles.append { $0.storeFailed(.counts, error) }
        }
        for refusal in [Refusal.internalFault, .overloaded] { troubles.append { $0.refused(refusal) } }
        troubles.append { $0.couldNotAccept(24) }
        for platform in Platform.allCases {
            troubles.append { $0.clock(platform, .dangerous, skew: 600_000_000_000) }
            troubles.append { $0.clock(platform, .right, skew: 0) }
        }
        return troubles
    }

    @Test func `an hour of total failure leaves a line a minute of each kind, whatever their number`() {
        let clocks = SetClocks()
        let sink = CountingSink()
        let report = OperatorReport(
            log: Log(
                level: .info, to: sink, wall: { clocks.clocks.wall().milliseconds },
                monotonic: { clocks.clocks.monotonic().nanoseconds }))
        let troubles = Self.troubles()
        var next = 0
        for _ in 0..<3600 {
            for _ in 0..<200 {
                troubles[next % troubles.count](report)
                next += 1
            }
            report.tellHeldBack()
            clocks.advance(by: .seconds(1))
        }
        // One at once, one at the end of each minute, and where a minute's events stop, one that counts them.
        let total = sink.lines.values.reduce(0, +)
        #expect(total <= troubles.count * 61, "\(sink.lines)")
        #expect(total >= 12 * 60)
        for (line, count) in sink.lines { #expect(count <= 61 * troubles.count, "\(line): \(count)") }
    }
}
