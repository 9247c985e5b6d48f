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
    func `a name says what it is, as Prometheus has it`(metric: Metric) {
        let name = metric.rawValue
        #expect(name.hasPrefix("gryt_push_") || name.hasPrefix("process_"))
        #expect(name.allSatisfy { $0 == "_" || ("a"..."z").contains($0) })
        #expect(name.hasSuffix("_total") == (metric.form == .counter))
        for suffix in ["_count", "_sum", "_bucket"] { #expect(!name.hasSuffix(suffix)) }
        #expect(!metric.help.isEmpty)
        #expect(Set(metric.labels).count == metric.labels.count)
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
        text.append(.inFlight, [MetricSample([], 3)])
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
        text.append(.upstreamDuration, [(["ios"], histogram.reading)])
        #expect(
            text.text.split(separator: "\n").filter { !$0.hasPrefix("#") } == [
                #"gryt_push_upstream_duration_seconds_bucket{platform="ios",le="0.001"} 4"#,
                #"gryt_push_upstream_duration_seconds_bucket{platform="ios",le="2.5"} 6"#,
                #"gryt_push_upstream_duration_seconds_bucket{platform="ios",le="+Inf"} 7"#,
                #"gryt_push_upstream_duration_seconds_sum{platform="ios"} 5.004000001"#,
                #"gryt_push_upstream_duration_seconds_count{platform="ios"} 7"#,
            ])
    }

    @Test func `seconds are exact to the nanosecond, before and after zero`() {
        let written: [(Int64, String)] = [
            (0, "0"), (1, "0.000000001"), (-1, "-0.000000001"), (1_500_000_000, "1.5"), (-90_000_000_000, "-90"),
            (1_790_000_000_123_000_000, "1790000000.123"), (.max, "9223372036.854775807"),
            (.min, "-9223372036.854775808"),
        ]
        for (nanoseconds, expected) in written {
            var text = MetricsText()
            text.append(.processStartTime, [MetricSample(nanoseconds: nanoseconds)])
            #expect(text.text.split(separator: "\n").last == "process_start_time_seconds \(expected)")
        }
    }

    @Test func `a histogram of numbers is written in numbers`() {
        var text = MetricsText()
        text.append(
            .storeBatchSize, [([], HistogramReading(bounds: [1, 8], counts: [2, 1, 0], sum: 9, unit: .number))])
        #expect(
            text.text.split(separator: "\n").filter { !$0.hasPrefix("#") } == [
                #"gryt_push_store_batch_size_bucket{le="1"} 2"#, #"gryt_push_store_batch_size_bucket{le="8"} 3"#,
                #"gryt_push_store_batch_size_bucket{le="+Inf"} 3"#, "gryt_push_store_batch_size_sum 9",
                "gryt_push_store_batch_size_count 3",
            ])
    }

    @Test func `a sum beyond the largest number begins at nothing again, and a difference is right all the same`() {
        let histogram = Histogram(bounds: [.milliseconds(1)])
        histogram.add(nanoseconds: .max)
        let earlier = histogram.reading
        histogram.add(nanoseconds: 5)
        #expect(histogram.reading.sum == 4)
        #expect((histogram.reading - earlier).sum == 5)
        #expect((earlier + earlier).sum == .max - 1)
        // The memory's number turns twice as late as what is shown.
        histogram.add(nanoseconds: .max)
        #expect(histogram.reading.sum == 3)
        #expect(histogram.reading.count == 3)
    }

    @Test func `readings add up, and their difference is what came between them`() {
        let histogram = Histogram(bounds: [.milliseconds(1), .milliseconds(2)])
        histogram.add(.microseconds(500))
        let earlier = histogram.reading
        histogram.add(.microseconds(1500))
        histogram.add(.seconds(1))
        let between = histogram.reading - earlier
        #expect(between.counts == [0, 1, 1])
        #expect(between.sum == 1_001_500_000)
        #expect((earlier + between) == histogram.reading)
    }

    @Test(arguments: [
        (0.0, Int64(0)), (0.25, 500_000), (0.5, 1_000_000), (0.75, 1_500_000), (0.99, 1_980_000), (1, 2_000_000),
    ])
    func `a quantile lies evenly within its bucket`(share: Double, expected: Int64) {
        let reading = HistogramReading(
            bounds: [1_000_000, 2_000_000], counts: [50, 50, 0], sum: 0, unit: .nanoseconds)
        #expect(reading.quantile(share) == expected)
    }

    @Test func `a quantile of nothing is none, and one above all bounds is the last of them`() {
        let empty = HistogramReading(bounds: [5], counts: [0, 0], sum: 0, unit: .nanoseconds)
        #expect(empty.quantile(0.5) == nil)
        #expect(HistogramReading(bounds: [5], counts: [0, 3], sum: 0, unit: .nanoseconds).quantile(0.5) == 5)
        // Buckets that nothing fell into are passed over, also at rank zero.
        let high = HistogramReading(bounds: [5, 9], counts: [0, 4, 0], sum: 0, unit: .nanoseconds)
        #expect(high.quantile(0) == 5)
        #expect(high.quantile(1) == 9)
    }

    @Test func `an upstream's place is its place among all cases`() {
        #expect(Upstream.allCases.map(\.ordinal) == Array(Upstream.allCases.indices))
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
