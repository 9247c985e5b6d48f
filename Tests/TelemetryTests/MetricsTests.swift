import Telemetry
import Testing

private enum System: String, MetricLabelValue { case ios, android }
private enum Kind: String, MetricLabelValue { case mention, dm }
private enum Code: String, MetricLabelValue { case odd = "a\"b\\c\nd", plain }

@Suite(.timeLimit(.minutes(1)))
struct MetricsTests {
    @Test func `names on the wire are the promised ones`() {
        #expect(Metric.sent.rawValue == "gryt_push_sent_total")
        #expect(Metric.registrations.rawValue == "gryt_push_registrations_total")
        #expect(Metric.gone.rawValue == "gryt_push_gone_total")
        #expect(Metric.failed.rawValue == "gryt_push_failed_total")
        #expect(Metric.devices.rawValue == "gryt_push_devices")
        #expect(Metric.sent.labels.map(\.rawValue) == ["platform", "kind"])
        for metric in [Metric.registrations, .gone, .failed, .devices] { #expect(metric.labels == [.platform]) }
    }

    @Test(arguments: Metric.allCases)
    func `a name says what it is`(metric: Metric) {
        #expect(metric.rawValue.hasPrefix("gryt_push_"))
        #expect(metric.rawValue.allSatisfy { $0 == "_" || ("a"..."z").contains($0) })
        #expect(metric.rawValue.hasSuffix("_total") == (metric.form == .counter))
        #expect(metric.rawValue.hasSuffix("_seconds") == (metric.form == .histogram))
        #expect(!metric.help.isEmpty)
    }

    @Test func `each pair of labels is counted on its own, and a pair never seen is a zero`() {
        let sent = DoublyLabelledCounters<System, Kind>()
        sent[.ios, .dm].add()
        sent[.ios, .dm].add(4)
        sent[.android, .mention].add(7)
        var text = MetricsText()
        text.append(.sent, sent.samples)
        #expect(
            text.text == """
                # HELP gryt_push_sent_total Pushes that a push service accepted, all-time.
                # TYPE gryt_push_sent_total counter
                gryt_push_sent_total{platform="ios",kind="mention"} 0
                gryt_push_sent_total{platform="ios",kind="dm"} 5
                gryt_push_sent_total{platform="android",kind="mention"} 7
                gryt_push_sent_total{platform="android",kind="dm"} 0

                """)
    }

    @Test func `a label's value is escaped`() {
        let refusals = LabelledCounters<Code>()
        refusals[.odd].add(2)
        var text = MetricsText()
        text.append(.refusals, refusals.samples)
        text.append(.inFlight, [MetricSample(3)])
        #expect(
            text.text.split(separator: "\n").filter { !$0.hasPrefix("#") } == [
                #"gryt_push_refusals_total{code="a\"b\\c\nd"} 2"#, #"gryt_push_refusals_total{code="plain"} 0"#,
                "gryt_push_in_flight 3",
            ])
    }

    @Test func `a histogram counts each duration in every bucket that holds it`() {
        let histogram = Histogram(bounds: [.milliseconds(1), .milliseconds(2500)])
        for milliseconds in [0, 1, 2, 2500, 2501] { histogram.add(.milliseconds(milliseconds)) }
        histogram.add(.seconds(-1))
        histogram.add(.nanoseconds(1))
        var text = MetricsText()
        text.append(.upstreamDuration, [(["ios"], histogram)])
        #expect(
            text.text.split(separator: "\n").filter { !$0.hasPrefix("#") } == [
                #"gryt_push_upstream_duration_seconds_bucket{platform="ios",le="0.001"} 4"#,
                #"gryt_push_upstream_duration_seconds_bucket{platform="ios",le="2.5"} 6"#,
                #"gryt_push_upstream_duration_seconds_bucket{platform="ios",le="+Inf"} 7"#,
                #"gryt_push_upstream_duration_seconds_sum{platform="ios"} 5.004000001"#,
                #"gryt_push_upstream_duration_seconds_count{platform="ios"} 7"#,
            ])
    }

    @Test func `nothing is lost when many threads count`() async {
        let counters = LabelledCounters<System>()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { for _ in 0..<10_000 { counters[.ios].add() } } }
        }
        #expect(counters[.ios].value == 80_000)
        #expect(counters[.android].value == 0)
    }
}
