/// A number of a metric, with the values of its labels in the order of ``Metric/labels``.
package struct MetricSample: Sendable, Equatable {
    /// What stands behind the labels.
    package enum Value: Sendable, Equatable {
        /// A whole number.
        case number(Int)
        /// Nanoseconds, written as seconds, exactly.
        case nanoseconds(Int64)
    }

    /// One for each of the metric's labels.
    package var labelValues: [String]
    /// What is counted or measured.
    package var value: Value

    package init(_ labelValues: [String] = [], _ value: Int) {
        self.labelValues = labelValues
        self.value = .number(value)
    }

    package init(_ labelValues: [String] = [], nanoseconds: Int64) {
        self.labelValues = labelValues
        value = .nanoseconds(nanoseconds)
    }

    /// 1 for what is so.
    package init(_ labelValues: [String] = [], _ isSo: Bool) { self.init(labelValues, isSo ? 1 : 0) }
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
            let value =
                switch sample.value {
                case .number(let number): String(number)
                case .nanoseconds(let nanoseconds): seconds(nanoseconds)
                }
            appendLine(metric.rawValue, labelText(metric, sample.labelValues), value)
        }
    }

    /// Adds a histogram, for each set of values of its labels.
    package mutating func append(_ metric: Metric, _ histograms: [(labelValues: [String], reading: HistogramReading)]) {
        precondition(metric.form == .histogram, "only a histogram has buckets")
        appendHead(metric)
        for (labelValues, reading) in histograms {
            let labels = labelText(metric, labelValues)
            let separator = labels.isEmpty ? "" : ","
            var cumulative = 0
            for (index, count) in reading.counts.enumerated() {
                cumulative += count
                let bound = index < reading.bounds.count ? number(reading.bounds[index], reading.unit) : "+Inf"
                text += "\(metric.rawValue)_bucket{\(labels)\(separator)le=\"\(bound)\"} \(cumulative)\n"
            }
            appendLine(metric.rawValue + "_sum", labels, number(reading.sum, reading.unit))
            appendLine(metric.rawValue + "_count", labels, String(cumulative))
        }
    }

    private mutating func appendHead(_ metric: Metric) {
        text += "# HELP \(metric.rawValue) \(escaped(metric.help, quotes: false))\n"
        text += "# TYPE \(metric.rawValue) \(metric.form.rawValue)\n"
    }

    private mutating func appendLine(_ name: String, _ labels: String, _ value: String) {
        text += labels.isEmpty ? "\(name) \(value)\n" : "\(name){\(labels)} \(value)\n"
    }

    private func labelText(_ metric: Metric, _ values: [String]) -> String {
        precondition(metric.labels.count == values.count, "as many values as labels")
        return zip(metric.labels, values).map { "\($0.rawValue)=\"\(escaped($1, quotes: true))\"" }
            .joined(separator: ",")
    }

    /// The format escapes backslash and line feed everywhere, and the quote inside values of labels.
    private func escaped(_ text: String, quotes: Bool) -> String {
        let needsNone = text.utf8.allSatisfy { byte in
            byte != UInt8(ascii: "\\") && byte != UInt8(ascii: "\n") && !(quotes && byte == UInt8(ascii: "\""))
        }
        guard !needsNone else { return text }
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

    private func number(_ number: Int64, _ unit: HistogramReading.Unit) -> String {
        switch unit {
        case .nanoseconds: seconds(number)
        case .number: String(number)
        }
    }

    /// Seconds as a decimal number, exact to the nanosecond.
    private func seconds(_ nanoseconds: Int64) -> String {
        let (whole, part) = nanoseconds.magnitude.quotientAndRemainder(dividingBy: 1_000_000_000)
        let sign = nanoseconds < 0 ? "-" : ""
        guard part != 0 else { return "\(sign)\(whole)" }
        var digits = String(part)
        digits = String(repeating: "0", count: 9 - digits.count) + digits
        while digits.hasSuffix("0") { digits.removeLast() }
        return "\(sign)\(whole).\(digits)"
    }
}
