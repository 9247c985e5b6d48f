import DeviceStore
import PushModel
import PushServices
import Relay
import RelayAPI
import SQLiteDeviceStore
import Telemetry
import Testing

@testable import HTTP2Client
@testable import gryt_push

@Suite(.timeLimit(.minutes(1)))
struct MetricsPageTests {
    /// Every line that is a number, by what stands before it.
    private func lines(_ facts: OperatorFacts) -> [String: String] {
        let text = String(decoding: MetricsPage.text(facts), as: UTF8.self)
        let pairs = text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
            let end = line.lastIndex(of: " ") ?? line.endIndex
            return (String(line[..<end]), String(line[line.index(after: end)...]))
        }
        return Dictionary(pairs) { _, _ in "twice" }
    }

    private func metrics(on page: String) -> [String] {
        page.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }.map { String($0.split(separator: " ")[2]) }
    }

    @Test func `every metric is there, in order, each line once`() {
        var facts = quietFacts()
        for platform in Platform.allCases { facts.platforms[platform].skew = (0, 0) }
        let page = String(decoding: MetricsPage.text(facts), as: UTF8.self)
        #expect(metrics(on: page) == Metric.allCases.map(\.rawValue))
        #expect(!lines(facts).values.contains("twice"))
    }

    @Test func `all-time counts are missing, not zero, when the store does not answer`() {
        var facts = quietFacts()
        facts.devices = nil
        let page = String(decoding: MetricsPage.text(facts), as: UTF8.self)
        for metric in [Metric.sent, .registrations, .gone, .failed, .devices] {
            #expect(!page.contains(metric.rawValue))
        }
        #expect(lines(facts)["gryt_push_store_up"] == "0")
        #expect(lines(quietFacts())["gryt_push_store_up"] == "1")
    }

    @Test func `how fast pushes may go is told, and whom that held back`() {
        var facts = quietFacts()
        #expect(lines(facts)[#"gryt_push_send_rate_limit{upstream="fcm"}"#] == "0")
        facts.pace = PaceFacts(limit: 12.5, heldBack: 7)
        #expect(lines(facts)[#"gryt_push_send_rate_limit{upstream="fcm"}"#] == "12.5")
        #expect(lines(facts)[#"gryt_push_held_back_total{upstream="fcm"}"#] == "7")
        facts.pace = nil
        #expect(lines(facts)[#"gryt_push_held_back_total{upstream="fcm"}"#] == nil)
    }

    @Test func `sums are those of the counts, by platform and kind`() {
        var facts = quietFacts()
        facts.allTime = [
            AllTimeTotal(event: .sent, platform: .ios, kind: .dm, n: 7),
            AllTimeTotal(event: .registered, platform: .android, kind: nil, n: 2),
            AllTimeTotal(event: .gone, platform: .ios, kind: nil, n: 1),
            AllTimeTotal(event: .failed, platform: .android, kind: nil, n: 5),
        ]
        let lines = lines(facts)
        #expect(lines[#"gryt_push_sent_total{platform="ios",kind="dm"}"#] == "7")
        #expect(lines[#"gryt_push_sent_total{platform="android",kind="dm"}"#] == "0")
        #expect(lines[#"gryt_push_registrations_total{platform="android"}"#] == "2")
        #expect(lines[#"gryt_push_gone_total{platform="ios"}"#] == "1")
        #expect(lines[#"gryt_push_failed_total{platform="android"}"#] == "5")
        #expect(lines[#"gryt_push_devices{platform="android"}"#] == "4")
    }

    @Test func `of a platform without credentials there is its state and little else`() {
        var facts = quietFacts()
        facts.credentials[.ios].state = .unset
        facts.credentials[.ios].tokenAge = nil
        let ios = lines(facts).keys.filter { $0.contains(#"platform="ios""#) }
        let names = Set(ios.map { String($0.prefix { $0 != "{" }) })
        #expect(
            names == [
                "gryt_push_sent_total", "gryt_push_registrations_total", "gryt_push_gone_total",
                "gryt_push_failed_total", "gryt_push_devices", "gryt_push_credential_state",
                "gryt_push_duration_seconds_bucket", "gryt_push_duration_seconds_sum",
                "gryt_push_duration_seconds_count", "gryt_push_upstream_duration_seconds_bucket",
                "gryt_push_upstream_duration_seconds_sum", "gryt_push_upstream_duration_seconds_count",
            ])
        #expect(lines(facts)[#"gryt_push_credential_state{platform="ios",state="unset"}"#] == "1")
        #expect(lines(facts)[#"gryt_push_credential_state{platform="android",state="accepted"}"#] == "1")
    }

    @Test func `reloads and a replaced database show`() {
        var facts = quietFacts()
        #expect(lines(facts)["gryt_push_database_replaced"] == "0")
        facts.isDatabaseReplaced = true
        facts.reloads = [3, 1]
        #expect(lines(facts)["gryt_push_database_replaced"] == "1")
        #expect(lines(facts)["gryt_push_store_up"] == "0")
        #expect(lines(facts)[#"gryt_push_reloads_total{result="applied"}"#] == "3")
        #expect(lines(facts)[#"gryt_push_reloads_total{result="refused"}"#] == "1")
    }

    @Test func `what old credentials were told does not count for new ones`() {
        let clocks = SetClocks()
        let metrics = RelayMetrics(loops: 1, clocks: clocks.clocks)
        let loop = metrics.loops[0]
        func refused(_ generation: Int) {
            let now = clocks.clocks.monotonic()
            let answer = APNsAnswer(
                status: 403, body: Array(#"{"reason":"InvalidProviderToken"}"#.utf8), retryAfter: nil,
                at: clocks.clocks.wall())
            let response = HTTP2Response(
                status: 403, body: [], bodyWasCut: false, connection: HTTP2ConnectionID(number: 1), headers: [])
            loop.attempted(
                Attempt(
                    end: .answered(answer, response), number: 1, startedAt: now, endedAt: now),
                platform: .ios, generation: generation)
        }
        refused(0)
        #expect(metrics.platform(.ios).credentials.isRefused)
        loop.platforms[.ios].replaceCredentials()
        #expect(metrics.platform(.ios).credentials == CredentialTrace())
        refused(0)
        #expect(!metrics.platform(.ios).credentials.isRefused)
        refused(1)
        #expect(metrics.platform(.ios).credentials.isRefused)
    }

    @Test func `loops add up`() {
        let clocks = SetClocks()
        let metrics = RelayMetrics(loops: 2, clocks: clocks.clocks)
        let start = clocks.clocks.monotonic()
        clocks.advance(by: .milliseconds(30))
        for loop in metrics.loops {
            loop.pushed(.accepted, .ios, startedAt: start, endedAt: clocks.clocks.monotonic())
            loop.refused(.badJSON)
            loop.attempted(
                Attempt(
                    end: .failed(.unknownOutcome(.timeout)), number: 2, startedAt: start,
                    endedAt: clocks.clocks.monotonic()), platform: .android)
            loop.beat(late: 2_000_000, at: .now)
        }
        let record = CredentialRecord()
        metrics.requested(.success(.seconds(3600)), date: nil, for: record)
        // Google gives no token for the clock's sake, and so is the one who tells of it.
        metrics.requested(
            .failure(.clock), date: clocks.clocks.wall().advanced(by: .seconds(-600)), for: record)
        let lines = lines(quietFacts(clocks, metrics: metrics))
        #expect(lines[#"gryt_push_duration_seconds_count{platform="ios",outcome="accepted"}"#] == "2")
        #expect(lines[#"gryt_push_duration_seconds_sum{platform="ios",outcome="accepted"}"#] == "0.06")
        #expect(lines[#"gryt_push_duration_seconds_bucket{platform="ios",outcome="accepted",le="0.025"}"#] == "0")
        #expect(lines[#"gryt_push_duration_seconds_bucket{platform="ios",outcome="accepted",le="0.05"}"#] == "2")
        #expect(lines[#"gryt_push_refusals_total{code="bad_json"}"#] == "2")
        #expect(lines[#"gryt_push_upstream_failures_total{platform="android",reason="timeout"}"#] == "2")
        #expect(lines[#"gryt_push_retries_total{platform="android"}"#] == "2")
        #expect(lines["gryt_push_loop_lag_seconds_count"] == "2")
        #expect(lines[#"gryt_push_access_token_requests_total{result="renewed"}"#] == "1")
        #expect(lines[#"gryt_push_access_token_requests_total{result="clock"}"#] == "1")
        #expect(lines[#"gryt_push_clock_skew_seconds{platform="android"}"#] == "599.5")
    }

    @Test(
        arguments: [
            (PushVerdict.accepted, "accepted"), (.gone, "gone"), (.phoneThrottled(retryAfter: .zero), "throttled"),
            (.upstreamFailed(.timeout, retryAfter: nil), "failed"), (.overloaded, "overloaded"),
            (.unknownCapability, nil), (.storeFailed, nil), (.addressLimited(retryAfter: .zero), nil),
            (.capabilityLimited(retryAfter: .zero), nil), (.platformUnavailable(.ios), nil),
        ] as [(PushVerdict, String?)])
    func `a push has an outcome where a push service was to be asked`(verdict: PushVerdict, expected: String?) {
        #expect(PushOutcome(verdict)?.rawValue == expected)
    }

    @Test func `moments are seconds since 1970, and what has not happened is 0`() {
        var facts = quietFacts()
        facts.credentials[.ios].lastAccepted = WallInstant(milliseconds: 1_790_000_000_250)
        facts.credentials[.android].lastAccepted = nil
        let name = "gryt_push_credential_last_accepted_timestamp_seconds"
        #expect(lines(facts)[#"\#(name){platform="ios"}"#] == "1790000000.25")
        #expect(lines(facts)[#"\#(name){platform="android"}"#] == "0")
        #expect(lines(facts)["process_start_time_seconds"] == "1789999000.5")
    }

    @Test func `the last minutes are what was counted since the oldest reading that is kept`() {
        let clocks = SetClocks()
        let metrics = RelayMetrics(loops: 1, clocks: clocks.clocks)
        var window = RecentWindow()
        func push(_ number: Int) {
            let now = clocks.clocks.monotonic()
            for _ in 0..<number { metrics.loops[0].pushed(.accepted, .ios, startedAt: now, endedAt: now) }
        }
        func recent() -> Int { window.recent(.ios, metrics.platform(.ios))[.accepted] }
        push(5)
        #expect(recent() == 5)
        for _ in 0..<RecentWindow.intervals {
            window.note(.init(platforms: PerPlatform { metrics.platform($0) }, lag: metrics.lag))
            push(1)
        }
        #expect(recent() == RecentWindow.intervals)
        window.note(.init(platforms: PerPlatform { metrics.platform($0) }, lag: metrics.lag))
        #expect(recent() == RecentWindow.intervals - 1)
    }
}
