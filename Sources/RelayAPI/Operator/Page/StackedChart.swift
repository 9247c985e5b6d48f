import DeviceStore
import PushModel

/// A chart of days, as inline SVG: what several lines have of each day stands one upon the other.
///
/// Everything across is in percent of the drawing's width, everything upwards in pixels, so that letters keep their size
/// and the chart fits a phone without any script. Each bar is a day; where there are more than ``mostBars`` days it is
/// seven of them, for a day would be thinner than a pixel on a phone, and weekends would hide the rest.
struct StackedChart {
    /// One of the lines, with a value for each day.
    struct Series {
        var name: String
        var tone: Tone
        var values: [Int]
    }

    /// The colours. Those that meet in a stack differ in lightness too, so that they can be told apart without seeing
    /// colours. Raw values are classes of the stylesheet.
    enum Tone: String {
        case message, mention, dm, unknown, ios, android
    }

    /// A part of a bar, in hundredths of a pixel above the axis.
    struct Segment: Equatable {
        var bottom: Int64
        var top: Int64
    }

    /// As many days have a bar each.
    static let mostBars = 100
    /// Pixels from the axis to the upper end of the scale.
    static let plotHeight = 160
    /// Pixels above the plot, for the upper half of the uppermost number, and below it, for the dates.
    static let roomAbove = 8
    static let roomBelow = 24

    /// What the chart shows.
    let title: String
    /// Begins the ids of its parts; unique on its page.
    let id: String
    /// The first day.
    let first: UTCDay
    /// From the axis upwards.
    let series: [Series]
    /// The days of each bar, as indices. The last bar ends with today, so it is the first that may have fewer days.
    let spans: [Range<Int>]
    /// By line and bar, how many there are.
    let sums: [[Int]]
    /// The vertical axis, which several charts may share.
    var scale: ChartScale

    /// - Parameter series: at least one, with as many values each as there are days, at least one.
    init(title: String, id: String, first: UTCDay, series: [Series]) {
        self.title = title
        self.id = id
        self.first = first
        self.series = series
        let days = series[0].values.count
        let length = days > Self.mostBars ? 7 : 1
        let spans = stride(from: days, to: 0, by: -length).reversed().map { max(0, $0 - length)..<$0 }
        self.spans = spans
        sums = series.map { line in spans.map { span in line.values[span].reduce(into: 0) { $0.addSaturating($1) } } }
        scale = ChartScale(upTo: 0)
        scale = ChartScale(upTo: highest)
    }

    /// How many days there are.
    var days: Int { series[0].values.count }

    /// Whether a bar is a day.
    var isDaily: Bool { spans.count == days }

    /// All lines of a day together.
    func total(ofDay day: Int) -> Int { series.reduce(into: 0) { $0.addSaturating($1.values[day]) } }

    /// All lines of a bar together.
    func total(ofBar bar: Int) -> Int { sums.reduce(into: 0) { $0.addSaturating($1[bar]) } }

    /// The most that a bar has.
    var highest: Int { spans.indices.map { total(ofBar: $0) }.max() ?? 0 }

    /// Where each line stands in each bar.
    var segments: [[Segment]] {
        var below = Array(repeating: 0, count: spans.count)
        return sums.map { sums in
            sums.indices.map { bar in
                let bottom = scale.height(of: below[bar], in: Self.plotHeight)
                below[bar].addSaturating(sums[bar])
                return Segment(bottom: bottom, top: scale.height(of: below[bar], in: Self.plotHeight))
            }
        }
    }

    /// What is said instead of looking at it.
    var description: String {
        let totals = spans.indices.map { total(ofBar: $0) }
        let all = totals.reduce(into: 0) { $0.addSaturating($1) }
        guard all > 0, let most = totals.max(), let bar = totals.lastIndex(of: most) else {
            return "None on any of these days."
        }
        let lines = series.map(\.name).joined(separator: ", ")
        return "\(PageText.number(all)) in \(PageText.count(days, "day", "days")); most, \(PageText.number(most)), "
            + "\(isDaily ? "on" : "in the week") \(name(ofBar: bar)); today so far "
            + "\(PageText.number(total(ofDay: days - 1))). From the axis upwards: \(lines). "
            + "The table below has the numbers of each day."
    }

    /// The day at an index.
    func day(_ index: Int) -> UTCDay { UTCDay(number: first.number + Int32(index)) }

    /// The day of a bar, or its first and its last.
    private func name(ofBar bar: Int) -> String {
        let last = PageText.longDay(day(spans[bar].upperBound - 1))
        return spans[bar].count == 1 ? last : "\(PageText.shortDay(day(spans[bar].lowerBound))) to \(last)"
    }

    // MARK: Drawing

    /// Writes the drawing.
    func write(to html: inout HTMLWriter) {
        let height = Self.roomAbove + Self.plotHeight + Self.roomBelow
        html.element(
            .svg,
            [
                .class: "chart", .role: "img", .width: "100%", .height: "\(height)",
                .ariaLabelledBy: "\(id)-title \(id)-desc",
            ]
        ) { svg in
            svg.element(.title, [.id: "\(id)-title"], title)
            svg.element(.desc, [.id: "\(id)-desc"], description)
            writeScale(to: &svg)
            writeBars(to: &svg)
            writeDates(to: &svg)
            writeHints(to: &svg)
        }
    }

    private func writeScale(to svg: inout HTMLWriter) {
        for mark in scale.marks {
            let y = pixels(fromAxis: scale.height(of: mark, in: Self.plotHeight))
            svg.element(
                .line, [.class: mark == 0 ? "axis" : "grid", .x1: "0", .x2: "100%", .y1: y, .y2: y])
            // Left of the drawing, where the stylesheet leaves room for it.
            svg.element(
                .text, [.class: "mark", .x: "-8", .y: y, .textAnchor: "end"], PageText.shortNumber(mark))
        }
    }

    /// In a drawing of its own that is stretched to the width there is: ten units a day.
    private func writeBars(to svg: inout HTMLWriter) {
        guard highest > 0 else {
            let middle = "\(Self.roomAbove + Self.plotHeight / 2)"
            svg.element(.text, [.x: "50%", .y: middle, .textAnchor: "middle"], "none")
            return
        }
        let box: [HTMLWriter.Attribute: String] = [
            .viewBox: "0 0 \(days * 10) \(Self.plotHeight)", .preserveAspectRatio: "none", .x: "0",
            .y: "\(Self.roomAbove)", .width: "100%", .height: "\(Self.plotHeight)",
        ]
        svg.element(.svg, box) { plot in
            for (series, segments) in zip(series, segments) {
                let path = bars(segments)
                if !path.isEmpty { plot.element(.path, [.class: series.tone.rawValue, .d: path]) }
            }
        }
    }

    /// A box for each bar that has something of a line.
    private func bars(_ segments: [Segment]) -> String {
        // In tenths of a unit. A week or more fills the width; fewer days do not make giants of their bars.
        let share = days >= 7 ? 80 : 80 * Int64(days) / 7
        var path = ""
        for (span, segment) in zip(spans, segments) where segment.top > segment.bottom {
            let room = Int64(span.count) * 100
            let width = room * share / 100
            let left = Int64(span.lowerBound) * 100 + (room - width) / 2
            path += "M\(tenth(left)) \(plotY(segment.bottom))V\(plotY(segment.top))H\(tenth(left + width))"
            path += "V\(plotY(segment.bottom))Z"
        }
        return path
    }

    private func writeDates(to svg: inout HTMLWriter) {
        for mark in ChartDates(first: first, days: days).marks {
            let isLast = mark.index == days - 1 && days > 2
            let isFirst = mark.index == 0 && days > 9
            svg.element(
                .text,
                [
                    .class: "mark", .y: "\(Self.roomAbove + Self.plotHeight + 16)",
                    .x: isLast ? "100%" : isFirst ? "0" : middle(of: mark.index),
                    .textAnchor: isLast ? "end" : isFirst ? "start" : "middle",
                ], mark.text)
        }
    }

    /// What a pointing device shows of a bar: its numbers.
    private func writeHints(to svg: inout HTMLWriter) {
        for (bar, span) in spans.enumerated() where total(ofBar: bar) > 0 {
            svg.element(
                .rect,
                [
                    .class: "hint", .x: percent(Int64(span.lowerBound) * 100), .y: "\(Self.roomAbove)",
                    .width: percent(Int64(span.count) * 100), .height: "\(Self.plotHeight)",
                ]
            ) { rect in
                let parts = zip(series, sums).map { "\($0.name): \(PageText.number($1[bar]))" }
                rect.element(.title, ([name(ofBar: bar)] + parts).joined(separator: "\n"))
            }
        }
    }

    // MARK: Coordinates

    private func middle(of day: Int) -> String { percent(Int64(day) * 100 + 50) }

    /// A place across, in hundredths of a day from the left.
    private func percent(_ place: Int64) -> String {
        PageText.decimal(place * 1000 / Int64(days), places: 3) + "%"
    }

    private func tenth(_ tenths: Int64) -> String { PageText.decimal(tenths, places: 1) }

    /// From hundredths of a pixel above the axis to pixels from the top of the plot.
    private func plotY(_ height: Int64) -> String {
        PageText.decimal(Int64(Self.plotHeight * 100) - height, places: 2)
    }

    /// Likewise, from the top of the whole drawing.
    private func pixels(fromAxis height: Int64) -> String {
        PageText.decimal(Int64((Self.roomAbove + Self.plotHeight) * 100) - height, places: 2)
    }
}
