import PushModel
import Testing

@testable import RelayAPI

/// What the page is written with: the writer that escapes, numbers and moments in words, and the reader's choices.
@Suite(.timeLimit(.minutes(1)))
struct OperatorPageTextTests {
    private func written(_ write: (inout HTMLWriter) -> Void) -> String {
        var html = HTMLWriter()
        write(&html)
        return String(decoding: html.bytes, as: UTF8.self).replacing("<!doctype html>\n", with: "")
    }

    @Test(arguments: [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        (#"" onload="x"#, "&quot; onload=&quot;x"),
        ("' onload='x", "&#39; onload=&#39;x"),
        ("a & b &amp; c", "a &amp; b &amp;amp; c"),
        ("]]> --> <!--", "]]&gt; --&gt; &lt;!--"),
        ("nul \u{0} esc \u{1B} del \u{7F} cr \r", "nul \u{FFFD} esc \u{FFFD} del \u{FFFD} cr \u{FFFD}"),
        ("line\nfeed\tand tab", "line\nfeed\tand tab"),
        ("Grüße 🐈", "Grüße 🐈"),
    ])
    func `text and values of attributes are escaped`(text: String, escaped: String) {
        #expect(written { $0.element(.p, text) } == "<p>\(escaped)</p>")
        #expect(written { $0.element(.p, [.id: text], "") } == "<p id=\"\(escaped)\"></p>")
    }

    @Test func `elements nest, void ones have no end, and attributes have an order`() {
        let text = written { html in
            html.element(.div, [.id: "b", .class: "a"]) { div in
                div.element(.meta, [.name: "x"])
                div.element(.p, "y")
            }
        }
        #expect(text == #"<div class="a" id="b"><meta name="x"><p>y</p></div>"#)
    }

    @Test(arguments: [
        (0, "0"), (7, "7"), (999, "999"), (1000, "1_000"), (12_345, "12_345"), (123_456, "123_456"),
        (1_234_567, "1_234_567"), (-1234, "\u{2212}1_234"), (Int.max, "9_223_372_036_854_775_807"),
        (Int.min, "\u{2212}9_223_372_036_854_775_808"),
    ])
    func `numbers come in groups of three`(number: Int, text: String) {
        #expect(PageText.number(number) == text.replacing("_", with: "\u{202F}"))
    }

    @Test(arguments: [
        (0, "0"), (800_000, "800_000"), (1_000_000, "1_M"), (2_500_000, "2.5_M"), (20_000_000, "20_M"),
        (1_000_000_000, "1_G"), (4_000_000_000_000, "4_000_G"),
    ])
    func `an axis has short numbers`(number: Int, text: String) {
        #expect(PageText.shortNumber(number) == text.replacing("_", with: "\u{202F}"))
    }

    @Test(arguments: [
        (Duration.nanoseconds(-1), "0.0_ms"), (.microseconds(840), "0.8_ms"), (.microseconds(9999), "9.9_ms"),
        (.milliseconds(43), "43_ms"), (.microseconds(999_999), "999_ms"), (.milliseconds(1240), "1.24_s"),
        (.milliseconds(1005), "1.00_s"), (.seconds(75), "75_s"),
    ])
    func `times of answers have a fitting unit`(duration: Duration, text: String) {
        #expect(PageText.latency(duration) == text.replacing("_", with: "\u{202F}"))
    }

    @Test(arguments: [
        (0, "0 seconds"), (1, "1 second"), (119, "119 seconds"), (120, "2 minutes"), (7199, "119 minutes"),
        (7200, "2 hours"), (172_799, "47 hours"), (172_800, "2 days"), (86_400 * 400, "400 days"),
    ])
    func `spans have a fitting unit`(seconds: Int, text: String) {
        #expect(PageText.span(.seconds(seconds)) == text)
    }

    @Test func `moments are in UTC, and nothing was ago that is to come`() {
        let moment = WallInstant(milliseconds: 1_709_251_199_999)
        #expect(PageText.moment(moment) == "2024-02-29 23:59:59 UTC")
        #expect(PageText.machineReadable(moment) == "2024-02-29T23:59:59Z")
        #expect(PageText.longDay(moment.day) == "29 Feb 2024")
        #expect(PageText.ago(moment, now: moment.advanced(by: .seconds(3))) == "3 seconds ago")
        #expect(PageText.ago(moment, now: moment.advanced(by: .seconds(-1))) == nil)
    }

    @Test(arguments: [
        (nil, 30, true), ("", 30, true), ("days=1", 1, true), ("days=7", 7, true), ("days=30", 30, true),
        ("days=90", 90, true), ("days=365", 365, true), ("days=2", 7, true), ("days=31", 90, true),
        ("days=-5", 1, true), ("days=0", 1, true), ("days=99999", 365, true), ("days=x", 30, true),
        ("days=", 30, true), ("days", 30, true), ("days=99999999999999999999", 30, true),
        ("x=1&days=90&y", 90, true), ("days=7&refresh=off", 7, false), ("refresh=on", 30, true),
        ("refresh=off", 30, false), ("%64ays=7&<script>", 30, true),
    ])
    func `the query chooses the days and whether the page stays`(query: String?, days: Int, refreshes: Bool) {
        let view = PageView(query: query)
        #expect(view.window.rawValue == days)
        #expect(view.refreshes == refreshes)
        #expect(PageView(query: String(view.link.dropFirst())) == view, "its own link leads back to it")
    }
}
