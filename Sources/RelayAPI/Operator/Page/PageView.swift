/// What the reader has chosen; it all stands in the page's address, so that it outlives the page's loading itself anew.
package struct PageView: Sendable, Equatable {
    /// How many days, the last of which is today.
    package enum Window: Int, CaseIterable, Sendable {
        case day = 1
        case week = 7
        case month = 30
        case quarter = 90
        case year = 365

        /// For the link that chooses it.
        var name: String { self == .day ? "Today" : "\(rawValue) days" }
    }

    /// The days that are shown.
    package var window: Window
    /// Whether the page loads itself anew. Somebody who reads a long table wants it to stay.
    package var refreshes: Bool

    /// What is shown to whoever asks for nothing.
    package init(window: Window = .month, refreshes: Bool = true) {
        self.window = window
        self.refreshes = refreshes
    }

    /// Reads the query of a request: `days`, of which the smallest window is shown that holds as many, and
    /// `refresh=off`. Whatever else there is, or is no number, is as if it were not there.
    package init(query: String?) {
        self.init()
        for field in query?.split(separator: "&") ?? [] {
            let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { continue }
            switch parts[0] {
            case "days":
                guard let days = Int(parts[1]) else { continue }
                window = Window.allCases.first { $0.rawValue >= days } ?? .year
            case "refresh":
                refreshes = parts[1] != "off"
            default:
                continue
            }
        }
    }

    /// The address of this view, relative to the page.
    var link: String { "?days=\(window.rawValue)\(refreshes ? "" : "&refresh=off")" }

    /// The same view of other days.
    func with(_ window: Window) -> PageView { PageView(window: window, refreshes: refreshes) }

    /// Seconds until the page loads itself anew.
    static let refreshSeconds = 30
}
