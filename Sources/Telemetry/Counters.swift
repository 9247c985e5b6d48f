import Synchronization

/// A number that any thread may add to without waiting for another.
package final class Counter: Sendable {
    private let total = Atomic<Int>(0)

    package init() {}

    /// Adds; less than nothing only where a gauge stands behind it. A sum that grows beyond the largest number goes on at
    /// the smallest, for no count is worth the process.
    package func add(_ amount: Int = 1) { total.wrappingAdd(amount, ordering: .relaxed) }

    /// The sum so far.
    package var value: Int { total.load(ordering: .relaxed) }
}

/// One counter for each value of one label.
package struct LabelledCounters<Label: MetricLabelValue>: Sendable {
    private let counters: [Counter]

    package init() { counters = Label.allCases.map { _ in Counter() } }

    /// The counter of a value.
    package subscript(label: Label) -> Counter { counters[label.ordinal] }

    /// What is counted so far, in the order of the label's cases.
    package var values: [Int] { counters.map(\.value) }

    /// What is counted so far, for ``MetricsText``.
    package var samples: [MetricSample] {
        zip(Label.allCases, values).map { MetricSample([$0.rawValue], $1) }
    }
}

/// One counter for each pair of values of two labels.
package struct DoublyLabelledCounters<First: MetricLabelValue, Second: MetricLabelValue>: Sendable {
    /// One row after the other, for a push counts here: a row of its own type would be looked up each time.
    private let counters: [Counter]
    private let rowLength: Int

    package init() {
        rowLength = Second.allCases.count
        counters = (0..<First.allCases.count * rowLength).map { _ in Counter() }
    }

    /// The counter of a pair.
    package subscript(first: First, second: Second) -> Counter {
        counters[first.ordinal * rowLength + second.ordinal]
    }

    /// What is counted so far, in the order of the labels' cases.
    package var values: [[Int]] {
        First.allCases.map { first in Second.allCases.map { self[first, $0].value } }
    }

    /// What is counted so far, for ``MetricsText``.
    package var samples: [MetricSample] {
        First.allCases.flatMap { first in
            Second.allCases.map { MetricSample([first.rawValue, $0.rawValue], self[first, $0].value) }
        }
    }
}
