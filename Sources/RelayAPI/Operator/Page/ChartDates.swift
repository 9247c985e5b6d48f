import PushModel

/// The marks under a chart of days: few enough to be read on a phone, and the last is today.
struct ChartDates {
    /// A mark in the middle of a day.
    struct Mark: Equatable {
        /// The day's place in the window.
        var index: Int
        /// What stands there.
        var text: String
    }

    /// From left to right.
    let marks: [Mark]

    /// The marks for so many days from the first on.
    init(first: UTCDay, days: Int) {
        let today = Mark(index: days - 1, text: "today")
        let earlier: [Mark] =
            switch days {
            case ..<9: Self.marks(first, days, every: 2)
            case ..<32: Self.marks(first, days, every: 7)
            case ..<100: Self.months(first, days, every: 1) { PageText.shortDay($0) }
            default:
                Self.months(first, days, every: max(2, days / 180)) {
                    $0.month == 1 ? String($0.year) : PageText.month($0)
                }
            }
        marks = earlier + [today]
    }

    /// Counted back from today, which itself is left out.
    private static func marks(_ first: UTCDay, _ days: Int, every step: Int) -> [Mark] {
        stride(from: days - 1 - step, through: 0, by: -step).reversed().map { index in
            Mark(index: index, text: PageText.shortDay(UTCDay(number: first.number + Int32(index))))
        }
    }

    /// The firsts of months, unless they are so late that they would run into today's mark.
    private static func months(
        _ first: UTCDay, _ days: Int, every step: Int, text: (UTCDay) -> String
    ) -> [Mark] {
        (0..<days * 85 / 100).compactMap { index in
            let day = UTCDay(number: first.number + Int32(index))
            guard day.dayOfMonth == 1, (day.month - 1).isMultiple(of: step) else { return nil }
            return Mark(index: index, text: text(day))
        }
    }
}
