/// How long things took, counted in fixed buckets. Any thread may add without waiting for another.
package final class Histogram: Sendable {
    /// The upper bounds that suit a push: from a quarter of a millisecond to the longest budget.
    package static let pushBounds: [Duration] = [
        .microseconds(250), .microseconds(500), .milliseconds(1), .microseconds(2500), .milliseconds(5),
        .milliseconds(10), .milliseconds(25), .milliseconds(50), .milliseconds(100), .milliseconds(250),
        .milliseconds(500), .seconds(1), .milliseconds(2500), .seconds(5), .seconds(10), .seconds(60),
    ]

    /// Upper bounds in nanoseconds, each inside its bucket, rising.
    private let bounds: [Int64]
    private let counts: [Counter]
    private let sum = Counter()

    /// Makes a histogram of `bounds` and a last bucket for what exceeds them all.
    package init(bounds: [Duration] = Histogram.pushBounds) {
        precondition(zip(bounds, bounds.dropFirst()).allSatisfy(<), "bounds that do not rise")
        self.bounds = bounds.map(\.inNanoseconds)
        counts = (0...bounds.count).map { _ in Counter() }
    }

    /// Counts one duration; less than nothing counts as nothing.
    package func add(_ duration: Duration) { add(nanoseconds: duration.inNanoseconds) }

    /// The same, for a caller that has the difference of two instants.
    package func add(nanoseconds: Int64) {
        let nanoseconds = max(nanoseconds, 0)
        var bucket = 0
        while bucket < bounds.count, nanoseconds > bounds[bucket] { bucket += 1 }
        counts[bucket].add()
        sum.add(Int(clamping: nanoseconds))
    }

    /// What is counted so far. The buckets are read one after the other, and nobody waits for it.
    package var reading: HistogramReading {
        HistogramReading(
            bounds: bounds, counts: counts.map(\.value), sum: HistogramReading.turned(Int64(sum.value)),
            unit: .nanoseconds)
    }
}

/// What a histogram has counted at one moment. A plain value: readings of several loops add up, and the difference of two
/// is what came between them.
package struct HistogramReading: Sendable, Equatable {
    /// What is measured.
    package enum Unit: Sendable {
        /// Nanoseconds, written as seconds.
        case nanoseconds
        /// A number of something, written as it is.
        case number
    }

    /// Upper bounds, each inside its bucket, rising.
    package private(set) var bounds: [Int64]
    /// How many fell into each bucket, and a last one for what exceeds all bounds.
    package private(set) var counts: [Int]
    /// The sum of all that was counted; after the largest number it begins at nothing again, as a counter does that was
    /// reset. Nanoseconds get there: five thousand pushes at a time under way on a loop take three weeks.
    package private(set) var sum: Int64
    /// What is measured.
    package private(set) var unit: Unit

    package init(bounds: [Int64], counts: [Int], sum: Int64, unit: Unit) {
        precondition(counts.count == bounds.count + 1, "a bucket for each bound, and one above")
        self.bounds = bounds
        self.counts = counts
        self.sum = sum
        self.unit = unit
    }

    /// How many there are. It agrees with the buckets whatever was added while they were read.
    package var count: Int { counts.reduce(0, +) }

    /// Adds what another one with the same bounds has counted.
    package static func + (left: HistogramReading, right: HistogramReading) -> HistogramReading {
        combine(left, right, by: +, sum: left.sum &+ right.sum)
    }

    /// What was counted since an earlier reading.
    package static func - (left: HistogramReading, right: HistogramReading) -> HistogramReading {
        combine(left, right, by: { max($0 - $1, 0) }, sum: left.sum &- right.sum)
    }

    private static func combine(
        _ left: HistogramReading, _ right: HistogramReading, by combine: (Int, Int) -> Int, sum: Int64
    ) -> HistogramReading {
        precondition(left.bounds == right.bounds && left.unit == right.unit, "histograms of different shapes")
        return HistogramReading(
            bounds: left.bounds, counts: zip(left.counts, right.counts).map(combine), sum: turned(sum), unit: left.unit)
    }

    /// A sum that has grown beyond the largest number, counted from nothing again. It goes with adding and subtracting:
    /// all of them leave a multiple of 2^63 aside.
    static func turned(_ sum: Int64) -> Int64 { sum & .max }

    /// The value that a share of all (0 to 1) does not exceed, guessed evenly within its bucket; of what exceeds all
    /// bounds it is only known that it does, so the last bound stands for it. Nil when nothing was counted.
    package func quantile(_ share: Double) -> Int64? {
        let count = count
        guard count > 0 else { return nil }
        let rank = share * Double(count)
        var below = 0
        for (index, here) in counts.enumerated() where here > 0 {
            if Double(below + here) >= rank {
                guard index < bounds.count else { break }
                let lower = index == 0 ? 0 : bounds[index - 1]
                let part = max(rank - Double(below), 0) / Double(here)
                return lower + Int64(Double(bounds[index] - lower) * part)
            }
            below += here
        }
        return bounds.last
    }
}

extension Duration {
    fileprivate var inNanoseconds: Int64 {
        let parts = components
        return parts.seconds * 1_000_000_000 + parts.attoseconds / 1_000_000_000
    }
}
