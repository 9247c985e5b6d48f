import PushModel
import Testing

@testable import RelayAPI

/// The charts: their geometry, whatever the data are.
@Suite(.timeLimit(.minutes(1)))
struct StackedChartTests {
    private let today = UTCDay(number: 20_787)  // 2026-11-30

    private func chart(_ lines: [[Int]]) -> StackedChart {
        let tones: [StackedChart.Tone] = [.message, .mention, .dm]
        return StackedChart(
            title: "Things", id: "things", first: UTCDay(number: today.number - Int32(lines[0].count - 1)),
            series: zip(lines, tones).map { .init(name: $1.rawValue, tone: $1, values: $0) })
    }

    private func drawn(_ chart: StackedChart) -> String {
        var html = HTMLWriter()
        chart.write(to: &html)
        return String(decoding: html.bytes, as: UTF8.self)
    }

    @Test(arguments: [
        (0, 1, 1), (1, 1, 1), (4, 1, 4), (5, 1, 5), (6, 2, 6), (10, 2, 10), (11, 5, 15), (25, 5, 25), (26, 10, 30),
        (99, 20, 100), (101, 50, 150), (7777, 2000, 8000), (420_000, 100_000, 500_000),
    ])
    func `the axis ends with the next round number`(maximum: Int, step: Int, top: Int) {
        let scale = ChartScale(upTo: maximum)
        #expect(scale.step == step)
        #expect(scale.top == top)
        #expect(scale.marks.first == 0 && scale.marks.last == top)
        #expect((2...6).contains(scale.marks.count))
    }

    @Test func `any axis is there for any number`() {
        var maximum = 1
        while maximum < Int.max / 3 {
            let scale = ChartScale(upTo: maximum)
            #expect(scale.top >= min(maximum, Int.max / 16) && scale.marks.count <= 6, "\(maximum)")
            maximum = maximum * 3 + 1
        }
        #expect(ChartScale(upTo: .max).marks.count <= 6)
        #expect(ChartScale(upTo: -5).top == 1)
    }

    @Test func `the height of a bar is its share of the axis`() {
        let values = [0, 1, 250, 500, 1000, 333]
        let chart = chart([values])
        #expect(chart.scale.top == 1000)
        let full = Int64(StackedChart.plotHeight * 100)
        for (value, segment) in zip(values, chart.segments[0]) {
            #expect(segment.bottom == 0)
            #expect(abs(segment.top * 1000 - Int64(value) * full) <= 500, "\(value)")
        }
    }

    @Test func `lines stand one upon the other, up to their sum`() {
        let chart = chart([[10, 0, 5], [20, 7, 0], [30, 0, 0]])
        #expect(chart.highest == 60)
        let heights = chart.segments
        for day in 0..<3 {
            #expect(heights[1][day].bottom == heights[0][day].top)
            #expect(heights[2][day].bottom == heights[1][day].top)
            #expect(heights[2][day].top == chart.scale.height(of: chart.total(ofDay: day), in: 160))
        }
    }

    @Test func `a box is drawn where the numbers say`() throws {
        // Ten units a day, of which eight are the bar; 160 pixels from the top to zero. The axis ends at 4.
        let text = drawn(chart([[4, 0, 1, 0, 0, 0, 2]]))
        let boxes = "M1.0 160.00V0.00H9.0V160.00ZM21.0 160.00V120.00H29.0V160.00ZM61.0 160.00V80.00H69.0V160.00Z"
        #expect(text.contains(#"<path class="message" d="\#(boxes)"></path>"#))
        #expect(text.contains(#"viewBox="0 0 70 160""#))
        #expect(text.split(separator: #"class="hint""#).count - 1 == 3, "days without anything have no hint")
    }

    @Test func `without any counts there are an axis and no bars`() {
        let text = drawn(chart([Array(repeating: 0, count: 30), Array(repeating: 0, count: 30)]))
        #expect(!text.contains("<path") && !text.contains("hint"))
        #expect(text.contains(">None on any of these days.</desc>"))
        #expect(text.contains(#"class="axis""#))
    }

    @Test func `one day is one slender bar in the middle`() {
        let text = drawn(chart([[5]]))
        #expect(text.contains("M4.4 160.00V0.00H5.5V160.00Z"))
        #expect(text.contains(#"text-anchor="middle" x="50.000%" y="184">today</text>"#))
    }

    @Test func `a year is drawn by weeks that end with today, and loses nothing`() {
        let values = (0..<365).map { $0 * 7 % 101 }
        let chart = chart([values, values])
        #expect(!chart.isDaily)
        #expect(chart.spans.count == 53 && chart.spans[0] == 0..<1 && chart.spans[52] == 358..<365)
        #expect(zip(chart.spans, chart.spans.dropFirst()).allSatisfy { $0.upperBound == $1.lowerBound })
        #expect(chart.sums.map { $0.reduce(0, +) } == [values.reduce(0, +), values.reduce(0, +)])
        #expect(chart.sums[0][52] == values[358...].reduce(0, +))
    }

    @Test func `a number that cannot be breaks no chart`() {
        let chart = chart([[.max, 1], [.max, 3]])
        #expect(chart.total(ofDay: 0) == .max)
        #expect(chart.segments[1][0].top == Int64(StackedChart.plotHeight * 100))
        #expect(drawn(chart).contains("<path"))
    }

    @Test(arguments: [1, 2, 7, 30, 90, 365])
    func `dates stand in order, the last is today, and none runs into another`(days: Int) throws {
        let marks = ChartDates(first: UTCDay(number: today.number - Int32(days - 1)), days: days).marks
        #expect(marks.last == .init(index: days - 1, text: "today"))
        #expect((1...7).contains(marks.count))
        // The narrowest plot is some 240 pixels wide and a date some 40.
        for (mark, next) in zip(marks, marks.dropFirst()) {
            #expect(Double(next.index - mark.index) / Double(days) * 240 >= 35, "\(mark.text) \(next.text)")
        }
    }

    @Test func `a quarter names firsts of months, and a year months and the year`() {
        func texts(_ days: Int) -> [String] {
            ChartDates(first: UTCDay(number: today.number - Int32(days - 1)), days: days).marks.map(\.text)
        }
        #expect(texts(1) == ["today"])
        #expect(texts(7) == ["24 Nov", "26 Nov", "28 Nov", "today"])
        #expect(texts(30) == ["2 Nov", "9 Nov", "16 Nov", "23 Nov", "today"])
        #expect(texts(90) == ["1 Oct", "1 Nov", "today"])
        #expect(texts(365) == ["2026", "Mar", "May", "Jul", "Sep", "today"])
    }
}
