/// The vertical axis of a chart: from zero to a round number that no bar exceeds.
struct ChartScale: Equatable {
    /// The distance of two marks: 1, 2 or 5 times a power of ten, for counts are whole.
    let step: Int
    /// The upper end, a multiple of ``step``, at least one.
    let top: Int

    /// An axis with at most five steps for values up to `maximum`.
    init(upTo maximum: Int) {
        // Beyond this, sums of the bars mean nothing, and the axis must not trap.
        let maximum = min(max(maximum, 1), Int.max / 16)
        var power = 1
        while maximum > 5 * 5 * power { power *= 10 }
        step = [1, 2, 5].map { $0 * power }.first { maximum <= 5 * $0 } ?? 10 * power
        top = (maximum + step - 1) / step * step
    }

    /// The marks, from zero to the upper end.
    var marks: [Int] { Array(stride(from: 0, through: top, by: step)) }

    /// How high a value is, in hundredths of the unit that `height` is in.
    func height(of value: Int, in height: Int) -> Int64 {
        Int64((Double(min(value, top)) / Double(top) * Double(height * 100)).rounded())
    }
}
