import PushModel

/// A chart of days, as inline SVG: what several lines have of each day stands one upon the other.
///
/// Everything across is in percent of the drawing's width, everything upwards in pixels, so that letters keep their size
/// and the chart fits a phone without any script. Few days are bars; more than ``mostBars`` are one stepped outline, for
/// on a small screen a bar would be thinner than a pixel.
struct StackedChart {
    /// One of the lines, with a value for each day.
    struct Series {
        var name: String
        var tone: Tone
        var values: [Int]
    }

    /// The colours. They differ in lightness first, so that they can be told apart without seeing colours. Raw values are
    /// classes of the stylesheet.
    enum Tone: String {
        case message, mention, dm, unknown, ios, android
    }

    /// More days than these are drawn as an outline.
    static let mostBars = 100
    /// Pixels from the axis to the upper end of the scale.
    static let plotHeight = 160
    /// Pixels above the plot, for the upper half of the uppermost number, and below it, for the dates.
    static let roomAbove = 8
    static let roomBelow = 24

    /// What the chart shows; unique on its page together with `id`.
    var title: String
    /// Begins the ids of its parts.
    var id: String
    /// The first day.
    var first: UTCDay
    /// From the axis upwards; at least one, with as many values each as there are days, at least one.
    var series: [Series]
    /// The vertical axis, which several charts may share.
    var scale: ChartScale

    /// How many days there are.
    var days: Int { series[0].values.count }

    /// All lines of a day together.
    func total(_ day: Int) -> Int {
        var total = 0
        for series in series { total.add(series.values[day]) }
        return total
    }

    /// A part of a day's bar, in hundredths of a pixel above the axis.
    struct Segment: Equatable {
        var bottom: Int64
        var top: Int64
    }

    /// Where each line stands on each day.
    var segments: [[Segment]] {
        var below = Array(repeating: 0, count: days)
        return series.map { series in
            series.values.indices.map { day in
                let bottom = scale.height(of: below[day], in: Self.plotHeight)
                below[day].add(series.values[day])
                return Segment(bottom: bottom, top: scale.height(of: below[day], in: Self.plotHeight))
            }
        }
    }

    /// What is said instead of looking at it.
    var description: String {
        let totals = (0..<days).map(total)
        var sum = 0
        for total in totals { sum.add(total) }
        guard sum > 0, let most = totals.max(), let when = totals.lastIndex(of: most) else {
            return "None on any of these days."
        }
        let lines = series.count == 1 ? "" : " Stacked from below: \(series.map(\.name).joined(separator: ", "))."
        return "\(PageText.number(sum)) in \(PageText.count(days, "day", "days")) to "
            + "\(PageText.longDay(day(days - 1))); most on \(PageText.longDay(day(when))), \(PageText.number(most)); "
            + "today so far \(PageText.number(totals[days - 1])).\(lines) The numbers are in the table below."
    }

    /// The day at an index.
    func day(_ index: Int) -> UTCDay { UTCDay(number: first.number + Int32(index)) }

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
        let box: [HTMLWriter.Attribute: String] = [
            .viewBox: "0 0 \(days * 10) \(Self.plotHeight)", .preserveAspectRatio: "none", .x: "0",
            .y: "\(Self.roomAbove)", .width: "100%", .height: "\(Self.plotHeight)",
        ]
        svg.element(.svg, box) { plot in
            for (series, segments) in zip(series, segments) {
                let path = days > Self.mostBars ? outline(segments) : bars(segments)
                if !path.isEmpty { plot.element(.path, [.class: series.tone.rawValue, .d: path]) }
            }
        }
    }

    /// A box for each day that has something.
    private func bars(_ segments: [Segment]) -> String {
        // A week or more fills the width; fewer days do not make giants of their bars.
        let width = days >= 7 ? 80 : 80 * Int64(days) / 7
        var path = ""
        for (day, segment) in segments.enumerated() where segment.top > segment.bottom {
            let left = Int64(day) * 100 + (100 - width) / 2
            path += "M\(tenth(left)) \(plotY(segment.bottom))V\(plotY(segment.top))H\(tenth(left + width))"
            path += "V\(plotY(segment.bottom))Z"
        }
        return path
    }

    /// One shape: the upper edge from left to right and the lower one back.
    private func outline(_ segments: [Segment]) -> String {
        guard segments.contains(where: { $0.top > $0.bottom }) else { return "" }
        var path = "M0 \(plotY(segments[0].bottom))"
        for (day, segment) in segments.enumerated() { path += "V\(plotY(segment.top))H\((day + 1) * 10)" }
        for (day, segment) in segments.enumerated().reversed() { path += "V\(plotY(segment.bottom))H\(day * 10)" }
        return path + "Z"
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

    /// What a pointing device shows of a day: its numbers.
    private func writeHints(to svg: inout HTMLWriter) {
        for index in 0..<days where total(index) > 0 {
            svg.element(
                .rect,
                [
                    .class: "hint", .x: percent(Int64(index) * 100, of: Int64(days) * 100), .y: "\(Self.roomAbove)",
                    .width: percent(100, of: Int64(days) * 100), .height: "\(Self.plotHeight)",
                ]
            ) { rect in
                let parts = series.map { "\($0.name): \(PageText.number($0.values[index]))" }
                rect.element(.title, ([PageText.longDay(day(index))] + parts).joined(separator: "\n"))
            }
        }
    }

    // MARK: Coordinates

    private func middle(of day: Int) -> String { percent(Int64(day) * 100 + 50, of: Int64(days) * 100) }

    private func percent(_ part: Int64, of whole: Int64) -> String {
        PageText.decimal(part * 100_000 / whole, places: 3) + "%"
    }

    private func tenth(_ hundredths: Int64) -> String { PageText.decimal(hundredths / 10 , places: 1) }

    /// From hundredths of a pixel above the axis to pixels from the top of the plot.
    private func plotY(_ height: Int64) -> String {
        PageText.decimal(Int64(Self.plotHeight * 100) - height, places: 2)
    }

    /// Likewise, from the top of the whole drawing.
    private func pixels(fromAxis height: Int64) -> String {
        PageText.decimal(Int64((Self.roomAbove + Self.plotHeight) * 100) - height, places: 2)
    }
}
