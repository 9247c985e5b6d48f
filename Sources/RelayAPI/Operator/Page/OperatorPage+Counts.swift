import DeviceStore
import PushModel

/// What was counted, today and in the days that the reader chose.
extension OperatorPage {
    /// Writes the section.
    static func writeCounts(_ snapshot: OperatorSnapshot, _ view: PageView, to main: inout HTMLWriter) {
        main.element(.section, [.ariaLabelledBy: "counts"]) { section in
            section.element(.h2, [.id: "counts"], "Counts by day")
            guard let statistics = snapshot.statistics else {
                section.element(.p, [.class: "card"], "The store does not answer, so the counts cannot be shown now.")
                return
            }
            let history = PageHistory(statistics, today: snapshot.now.day)
            section.element(.nav, [.class: "windows", .ariaLabel: "Days shown"]) { writeWindows(view, to: &$0) }
            section.element(.div, [.class: "two"]) { sums in
                writeSums(history, "Today so far", PageText.longDay(history.last), todayOnly: true, to: &sums)
                guard history.days > 1 else { return }
                let range = "\(PageText.longDay(history.first)) to \(PageText.longDay(history.last))"
                writeSums(history, "Last \(history.days) days", range, todayOnly: false, to: &sums)
            }
            writeCharts(history, to: &section)
            if let later = history.later {
                section.element(
                    .p, [.class: "quiet"],
                    "There are counts of days to come, up to \(PageText.longDay(later)): this machine's clock was ahead "
                        + "once. They are left out here.")
            }
        }
    }

    private static func writeWindows(_ view: PageView, to nav: inout HTMLWriter) {
        for window in PageView.Window.allCases {
            var attributes: [HTMLWriter.Attribute: String] = [.href: view.with(window).link + "#counts"]
            if window == view.window { attributes[.ariaCurrent] = "page" }
            nav.element(.a, attributes, window.name)
        }
    }

    // MARK: Sums

    private static func writeSums(
        _ history: PageHistory, _ title: String, _ comment: String, todayOnly: Bool, to sums: inout HTMLWriter
    ) {
        sums.element(.div, [.class: "card"]) { card in
            card.element(.table) { table in
                table.element(.caption) { caption in
                    caption.text(title + " ")
                    caption.element(.small, comment)
                }
                writeHead([""] + Platform.allCases.map(\.words) + ["Both"], to: &table)
                table.element(.tbody) { body in
                    func row(_ name: String, _ rowClass: String, _ event: CountedEvent, _ kinds: [Kind?]) {
                        let platforms = Platform.allCases.map { [$0] } + [Platform.allCases]
                        let numbers = platforms.map { history.sum(event, $0, kinds: kinds, todayOnly: todayOnly) }
                        writeRow(name, numbers, rowClass, to: &body)
                    }
                    row(CountedEvent.sent.words, "sum", .sent, history.kinds)
                    for kind in history.kinds { row(words(kind), "part", .sent, [kind]) }
                    for event in [CountedEvent.failed, .gone, .registered] { row(event.words, "", event, [nil]) }
                }
            }
        }
    }

    // MARK: Charts

    private static func writeCharts(_ history: PageHistory, to section: inout HTMLWriter) {
        var pushes = Platform.allCases.map { platform in
            StackedChart(
                title: "Pushes accepted, \(platform.words)", id: "sent-\(platform.rawValue)",
                first: history.first,
                series: history.kinds.map { kind in
                    StackedChart.Series(
                        name: words(kind), tone: tone(kind),
                        values: history.counts(.init(event: .sent, platform: platform, kind: kind)))
                })
        }
        // One scale for both, so that they can be held against each other.
        let scale = ChartScale(upTo: pushes.map(\.highest).max() ?? 0)
        for index in pushes.indices { pushes[index].scale = scale }
        section.element(.div, [.class: "two"]) { charts in
            for chart in pushes { writeFigure(chart, to: &charts) }
        }
        section.element(.div, [.class: "three"]) { charts in
            for event in [CountedEvent.failed, .gone, .registered] {
                let series = Platform.allCases.map { platform in
                    StackedChart.Series(
                        name: platform.words, tone: platform == .ios ? .ios : .android,
                        values: history.counts(.init(event: event, platform: platform, kind: nil)))
                }
                writeFigure(
                    StackedChart(title: event.words, id: event.rawValue, first: history.first, series: series),
                    to: &charts)
            }
        }
    }

    private static func writeFigure(_ chart: StackedChart, to charts: inout HTMLWriter) {
        charts.element(.figure, [.class: "card"]) { figure in
            figure.element(.figcaption) { caption in
                caption.element(.h3, chart.title)
                caption.element(.small, chart.isDaily ? "by day" : "by week")
            }
            figure.element(.ul, [.class: "legend"]) { legend in
                for series in chart.series {
                    legend.element(.li) { item in
                        item.element(.svg, [.class: "swatch", .ariaHidden: "true"]) { svg in
                            svg.element(
                                .rect, [.class: series.tone.rawValue, .width: "11", .height: "11", .rx: "2"])
                        }
                        item.text(series.name)
                    }
                }
            }
            chart.write(to: &figure)
            figure.element(.details) { details in
                details.element(.summary, "The numbers of each day")
                // Reached with the keyboard, because it may scroll.
                let attributes: [HTMLWriter.Attribute: String] = [
                    .class: "scroll", .role: "region", .tabindex: "0", .ariaLabel: "\(chart.title), by day",
                ]
                details.element(.div, attributes) { writeTable(of: chart, to: &$0) }
            }
        }
    }

    /// The numbers that a chart draws: the sums first, then each day, the latest first.
    private static func writeTable(of chart: StackedChart, to html: inout HTMLWriter) {
        html.element(.table) { table in
            table.element(.caption, "\(chart.title), by day (UTC)")
            writeHead(["Day"] + chart.series.map(\.name) + ["All"], to: &table)
            table.element(.tbody) { body in
                let sums = chart.series.map { series in series.values.reduce(into: 0) { $0.addSaturating($1) } }
                writeRow("All days", sums + [sums.reduce(into: 0) { $0.addSaturating($1) }], "sum", to: &body)
                for day in (0..<chart.days).reversed() {
                    writeRow(
                        chart.day(day).description, chart.series.map { $0.values[day] } + [chart.total(ofDay: day)], "",
                        to: &body)
                }
            }
        }
    }

    // MARK: Rows

    private static func writeHead(_ names: [String], to table: inout HTMLWriter) {
        table.element(.thead) { head in
            head.element(.tr) { row in
                for name in names {
                    row.element(name.isEmpty ? .td : .th, name.isEmpty ? [:] : [.scope: "col"], name)
                }
            }
        }
    }

    private static func writeRow(_ name: String, _ numbers: [Int], _ rowClass: String, to body: inout HTMLWriter) {
        body.element(.tr, rowClass.isEmpty ? [:] : [.class: rowClass]) { row in
            row.element(.th, [.scope: "row"], name)
            for number in numbers { row.element(.td, PageText.number(number)) }
        }
    }

    // MARK: Words

    private static func words(_ kind: Kind?) -> String {
        switch kind {
        case .message: "Messages"
        case .mention: "Mentions"
        case .dm: "Direct messages"
        case nil: "Kind unknown"
        }
    }

    private static func tone(_ kind: Kind?) -> StackedChart.Tone {
        switch kind {
        case .message: .message
        case .mention: .mention
        case .dm: .dm
        case nil: .unknown
        }
    }
}

extension CountedEvent {
    /// As a heading and as the name of a row.
    fileprivate var words: String {
        switch self {
        case .sent: "Pushes accepted"
        case .failed: "Pushes failed"
        case .gone: "Dead tokens"
        case .registered: "Registrations"
        }
    }
}
