import Synchronization

/// A number that any thread may add to without waiting for another.
package final class Counter: Sendable {
    private let total = Atomic<Int>(0)

    package init() {}

    /// Adds; less than nothing only where a gauge stands behind it.
    package func add(_ amount: Int = 1) { total.add(amount, ordering: .relaxed) }

    /// The sum so far.
    package var value: Int { total.load(ordering: .relaxed) }
}

/// One counter for each value of one label.
package struct LabelledCounters<Label: MetricLabelValue>: Sendable {
    private let counters: [Counter]

    package init() { counters = Label.allCases.map { _ in Counter() } }

    /// The counter of a value.
    package subscript(label: Label) -> Counter { counters[label.ordinal] }

    /// What is counted so far, for ``MetricsText``.
    package var samples: [MetricSample] {
        Label.allCases.map { MetricSample([$0.rawValue], self[$0].value) }
    }
}

/// One counter for each pair of values of two labels.
package struct DoublyLabelledCounters<First: MetricLabelValue, Second: MetricLabelValue>: Sendable {
    private let rows: [LabelledCounters<Second>]

    package init() { rows = First.allCases.map { _ in LabelledCounters() } }

    /// The counter of a pair.
    package subscript(first: First, second: Second) -> Counter { rows[first.ordinal][second] }

    /// What is counted so far, for ``MetricsText``.
    package var samples: [MetricSample] {
        First.allCases.flatMap { first in
            Second.allCases.map { MetricSample([first.rawValue, $0.rawValue], self[first, $0].value) }
        }
    }
}

/// How long things took, counted in fixed buckets. Any thread may add without waiting for another.
package final class Histogram: Sendable {
    /// The upper bounds that suit a push: from a quarter of a millisecond to the longest budget.
    package static let pushBounds: [Duration] = [
        .microseconds(250), .microseconds(500), .milliseconds(1), .microseconds(2500), .milliseconds(5),
        .milliseconds(10), .milliseconds(25), .milliseconds(50), .milliseconds(100), .milliseconds(250),
        .milliseconds(500), .seconds(1), .milliseconds(2500), .seconds(5), .seconds(10), .seconds(60),
    ]

    /// Upper bounds, each inside its bucket, rising.
    package let bounds: [Duration]
    private let counts: [Counter]
    private let nanoseconds = Counter()

    /// Makes a histogram of `bounds` and a last bucket for what exceeds them all.
    package init(bounds: [Duration] = Histogram.pushBounds) {
        precondition(zip(bounds, bounds.dropFirst()).allSatisfy(<), "bounds that do not rise")
        self.bounds = bounds
        counts = (0...bounds.count).map { _ in Counter() }
    }

    /// Counts one duration; less than nothing counts as nothing.
    package func add(_ duration: Duration) {
        let duration = max(duration, .zero)
        counts[bounds.firstIndex { duration <= $0 } ?? bounds.count].add()
        let parts = duration.components
        nanoseconds.add(Int(clamping: parts.seconds * 1_000_000_000 + parts.attoseconds / 1_000_000_000))
    }

    /// What is counted so far. Buckets are read one after the other, and the count is their sum, so that it agrees with
    /// them whatever is added meanwhile.
    package var snapshot: (cumulative: [Int], sum: Duration) {
        var sum = 0
        let cumulative = counts.map { counter in
            sum += counter.value
            return sum
        }
        return (cumulative, .nanoseconds(nanoseconds.value))
    }
}
