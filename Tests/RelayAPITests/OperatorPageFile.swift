import DeviceStore
import FoundationEssentials
import PushModel
import Testing

@testable import RelayAPI

/// Not about the page but for looking at it: writes the invented year where `OPERATOR_PAGE_DIR` says.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["OPERATOR_PAGE_DIR"] != nil), .timeLimit(.minutes(1)))
struct OperatorPageFile {
    @Test func `the page of the invented year is written to files`() throws {
        let directory = URL(filePath: try #require(ProcessInfo.processInfo.environment["OPERATOR_PAGE_DIR"]))
        for window in PageView.Window.allCases {
            let page = OperatorPage.html(InventedYear.snapshot(days: window.rawValue), PageView(window: window))
            try Data(page).write(to: directory.appending(path: "page-\(window.rawValue).html"))
        }
        let troubled = InventedYear.snapshot(days: 30, problems: InventedYear.problems)
        try Data(OperatorPage.html(troubled)).write(to: directory.appending(path: "page-troubled.html"))
        var empty = InventedYear.snapshot(days: 30)
        empty.statistics = DailyStatistics(
            from: DailyStatistics.first(of: 30, until: InventedYear.now.day), devices: .init(ios: 0, android: 0),
            daily: [])
        try Data(OperatorPage.html(empty)).write(to: directory.appending(path: "page-empty.html"))
    }
}
