import DeviceStore
import PushModel
import RelayAPI

/// Lays the daily counts out for a terminal: a line a day, one block of columns for each platform, sums below.
enum StatsTable {
    private static let columns = ["mention", "dm", "message", "registered", "gone", "failed"]

    /// The table, without a line end behind it. Days on which nothing happened are left out; `today` is always there.
    static func text(_ statistics: DailyStatistics, today: UTCDay) -> String {
        var days: [UTCDay: Row] = [today: Row()]
        var sum = Row()
        for total in statistics.daily {
            days[total.count.day, default: Row()].add(total)
            sum.add(total)
        }
        let heads =
            [["", "day"], ["all", "pushes"]]
            + Platform.allCases.flatMap { platform in
                columns.enumerated().map { [$0 == 0 ? platform.rawValue : "", $1] }
            }
        var lines = [heads.map { $0[0] }, heads.map { $0[1] }]
        lines += days.sorted { $0.key < $1.key }.map { [$0.key.description] + $0.value.cells }
        lines.append(["sum"] + sum.cells)
        let widths = heads.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        let table = lines.map { cells in
            let padded = zip(cells, widths).enumerated().map { column, cell in
                let blanks = String(repeating: " ", count: cell.1 - cell.0.count)
                // The day and the names of the platforms stand at the left of their columns, numbers at the right.
                return column == 0 ? cell.0 + blanks : blanks + cell.0
            }
            let line = padded.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
        let devices = statistics.devices
        let held = "\(devices.ios) iOS and \(devices.android) Android devices are registered. Days are UTC."
        return (table + ["", held]).joined(separator: "\n")
    }

    /// One day, or the sum of all.
    private struct Row {
        private var numbers = PerPlatform { _ in [Int](repeating: 0, count: columns.count) }

        mutating func add(_ total: DailyTotal) {
            let column =
                switch total.count.event {
                case .sent: total.count.kind.flatMap { columns.firstIndex(of: $0.rawValue) }
                case .registered, .gone, .failed: columns.firstIndex(of: total.count.event.rawValue)
                }
            if let column { numbers[total.count.platform][column].addSaturating(total.n) }
        }

        var cells: [String] {
            let pushes = Platform.allCases.reduce(into: 0) { sum, platform in
                for number in numbers[platform].prefix(Kind.allCases.count) { sum.addSaturating(number) }
            }
            return [String(pushes)] + Platform.allCases.flatMap { numbers[$0].map { String($0) } }
        }
    }
}
