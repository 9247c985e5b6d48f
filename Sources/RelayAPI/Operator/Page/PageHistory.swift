import DeviceStore
import PushModel

/// The daily counts by line and day, every day of the window in its place: a day without counts is zero.
struct PageHistory {
    /// One thing that is counted for itself.
    struct Line: Hashable {
        var event: CountedEvent
        var platform: Platform
        /// Of pushes that were accepted; nil where the store knows none, and for every other event.
        var kind: Kind?
    }

    /// The first day of the window, and the last, which is today.
    let first: UTCDay
    let last: UTCDay
    /// The latest day after today that has counts; they are left out. Only a clock that was set back leaves such.
    let later: UTCDay?
    private let lines: [Line: [Int]]

    /// Sorts out the counts of the days up to `today`. Rows before the first day are left out.
    init(_ statistics: DailyStatistics, today: UTCDay) {
        // Statistics of the next day may meet a moment before midnight: then the window is one day.
        first = min(statistics.from, today)
        last = today
        var lines: [Line: [Int]] = [:]
        var later: UTCDay?
        let days = Int(last.number - first.number) + 1
        for row in statistics.daily where row.count.day >= first {
            guard row.count.day <= last else {
                later = max(later ?? row.count.day, row.count.day)
                continue
            }
            let line = Line(
                event: row.count.event, platform: row.count.platform,
                kind: row.count.event == .sent ? row.count.kind : nil)
            lines[line, default: Array(repeating: 0, count: days)][Int(row.count.day.number - first.number)]
                .addSaturating(row.n)
        }
        self.lines = lines
        self.later = later
    }

    /// How many days there are, at least one.
    var days: Int { Int(last.number - first.number) + 1 }

    /// The day at an index.
    func day(_ index: Int) -> UTCDay { UTCDay(number: first.number + Int32(index)) }

    /// The counts of a line, day by day.
    func counts(_ line: Line) -> [Int] { lines[line] ?? Array(repeating: 0, count: days) }

    /// The kinds that accepted pushes are told apart by, the commonest first; nil only where there are pushes without.
    var kinds: [Kind?] {
        let hasUnknown = lines.keys.contains { $0.event == .sent && $0.kind == nil }
        return [.message, .mention, .dm] + (hasUnknown ? [nil] : [])
    }

    /// The sum over the whole window, or over today alone.
    func sum(_ event: CountedEvent, _ platforms: [Platform], kinds: [Kind?], todayOnly: Bool = false) -> Int {
        var sum = 0
        for platform in platforms {
            for kind in event == .sent ? kinds : [nil] {
                let counts = counts(Line(event: event, platform: platform, kind: kind))
                for count in todayOnly ? counts.suffix(1) : counts[...] { sum.addSaturating(count) }
            }
        }
        return sum
    }
}
