/// A number of a metric, with the values of its labels in the order of ``Metric/labels``.
package struct MetricSample: Sendable, Equatable {
    /// One for each of the metric's labels.
    package var labelValues: [String]
    /// What is counted.
    package var value: Int

    package init(_ labelValues: [String], _ value: Int) {
        self.labelValues = labelValues
        self.value = value
    }

    /// The number of a metric without labels.
    package init(_ value: Int) { self.init([], value) }
}

/// Writes metrics in Prometheus' text format 0.0.4.
package struct MetricsText: Sendable {
    /// What `content-type` says of it.
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// The text so far; it ends in a newline, as the format asks.
    package private(set) var text = ""

    package init() {}

    /// Adds a counter or a gauge with all its samples. Each metric once, for the format wants its lines together.
    package mutating func append(_ metric: Metric, _ samples: [MetricSample]) {
        precondition(metric.form != .histogram, "a histogram has buckets")
        appendHead(metric)
        for sample in samples {
            appendLine(metric.rawValue, pairs(metric, sample.labelValues), String(sample.value))
        }
    }

    /// Adds a histogram, for each set of values of its labels.
    package mutating func append(_ metric: Metric, _ histograms: [(labelValues: [String], histogram: Histogram)]) {
        precondition(metric.form == .histogram, "only a histogram has buckets")
        appendHead(metric)
        for (labelValues, histogram) in histograms {
            let labels = pairs(metric, labelValues)
            let (cumulative, sum) = histogram.snapshot
            for (bound, count) in zip(histogram.bounds.map(seconds) + ["+Inf"], cumulative) {
                appendLine(metric.rawValue + "_bucket", labels + [("le", bound)], String(count))
            }
            appendLine(metric.rawValue + "_sum", labels, seconds(sum))
            appendLine(metric.rawValue + "_count", labels, String(cumulative.last ?? 0))
        }
    }

    private mutating func appendHead(_ metric: Metric) {
        text += "# HELP \(metric.rawValue) \(escaped(metric.help, quotes: false))\n"
        text += "# TYPE \(metric.rawValue) \(metric.form.rawValue)\n"
    }

    private mutating func appendLine(_ name: String, _ labels: [(String, String)], _ value: String) {
        text += name
        if !labels.isEmpty {
            text += "{" + labels.map { "\($0)=\"\(escaped($1, quotes: true))\"" }.joined(separator: ",") + "}"
        }
        text += " \(value)\n"
    }

    private func pairs(_ metric: Metric, _ values: [String]) -> [(String, String)] {
        precondition(metric.labels.count == values.count, "as many values as labels")
        return zip(metric.labels.map(\.rawValue), values).map { ($0, $1) }
    }

    /// The format escapes backslash and line feed everywhere, and the quote inside values of labels.
    private func escaped(_ text: String, quotes: Bool) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result.append(contentsOf: "\\\\".unicodeScalars)
            case "\n": result.append(contentsOf: "\\n".unicodeScalars)
            case "\"" where quotes: result.append(contentsOf: "\\\"".unicodeScalars)
            default: result.append(scalar)
            }
        }
        return String(result)
    }

    /// Seconds as a decimal number, exact to the nanosecond.
    private func seconds(_ duration: Duration) -> String {
        let parts = duration.components
        let nanoseconds = parts.attoseconds / 1_000_000_000
        guard nanoseconds != 0 else { return String(parts.seconds) }
        var digits = String(nanoseconds)
        digits = String(repeating: "0", count: 9 - digits.count) + digits
        while digits.hasSuffix("0") { digits.removeLast() }
        return "\(parts.seconds).\(digits)"
    }
}
