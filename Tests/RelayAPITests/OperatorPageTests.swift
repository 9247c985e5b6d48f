import DeviceStore
import HTTPServer
import PushModel
import Telemetry
import Testing

@testable import RelayAPI

/// The page as a whole: its numbers are the snapshot's, and its words say what is wrong.
@Suite(.timeLimit(.minutes(1)))
struct OperatorPageTests {
    private func page(_ snapshot: OperatorSnapshot, _ view: PageView = PageView()) -> String {
        String(decoding: OperatorPage.html(snapshot, view), as: UTF8.self)
    }

    private func count(_ part: String, in text: String) -> Int { text.ranges(of: part).count }

    /// A row of a table, as the page writes it.
    private func row(_ name: String, _ numbers: [Int], rowClass: String = "") -> String {
        let cells = numbers.map { "<td>\(PageText.number($0))</td>" }.joined()
        let attribute = rowClass.isEmpty ? "" : #" class="\#(rowClass)""#
        return #"<tr\#(attribute)><th scope="row">\#(name)</th>\#(cells)</tr>"#
    }

    // MARK: Numbers

    @Test(arguments: PageView.Window.allCases)
    func `the sums are those of the snapshot`(window: PageView.Window) throws {
        let snapshot = InventedYear.snapshot(days: window.rawValue)
        let daily = try #require(snapshot.statistics).daily
        let text = page(snapshot, PageView(window: window))
        func sums(_ event: CountedEvent, _ kind: Kind?? = .none, todayOnly: Bool) -> [Int] {
            func sum(_ platform: Platform) -> Int {
                daily.filter { row in
                    row.count.event == event && row.count.platform == platform
                        && (kind == nil || kind == row.count.kind) && (!todayOnly || row.count.day == snapshot.now.day)
                }.reduce(0) { $0 + $1.n }
            }
            return [sum(.ios), sum(.android), sum(.ios) + sum(.android)]
        }
        for todayOnly in [true, false] where todayOnly || window != .day {
            let expected = [
                row("Pushes accepted", sums(.sent, todayOnly: todayOnly), rowClass: "sum"),
                row("Messages", sums(.sent, .message, todayOnly: todayOnly), rowClass: "part"),
                row("Mentions", sums(.sent, .mention, todayOnly: todayOnly), rowClass: "part"),
                row("Direct messages", sums(.sent, .dm, todayOnly: todayOnly), rowClass: "part"),
                row("Pushes failed", sums(.failed, todayOnly: todayOnly)),
                row("Dead tokens", sums(.gone, todayOnly: todayOnly)),
                row("Registrations", sums(.registered, todayOnly: todayOnly)),
            ]
            #expect(text.contains("<tbody>\(expected.joined())</tbody>"))
        }
        #expect(count("<caption>Today so far", in: text) == 1)
        #expect(count("<caption>Last \(window.rawValue) days", in: text) == (window == .day ? 0 : 1))
    }

    @Test(arguments: PageView.Window.allCases)
    func `every chart has a table with each of its days, those without counts too`(window: PageView.Window) throws {
        var snapshot = InventedYear.snapshot(days: window.rawValue)
        let idle = UTCDay(number: snapshot.now.day.number - 3)
        snapshot.statistics?.daily.removeAll { $0.count.day == idle }
        let daily = try #require(snapshot.statistics).daily
        let text = page(snapshot, PageView(window: window))
        #expect(count("<figure ", in: text) == 5)
        #expect(count("class=\"chart\"", in: text) == 5)
        #expect(count("<details>", in: text) == 5)
        func n(_ day: UTCDay, _ event: CountedEvent, _ platform: Platform, _ kind: Kind? = nil) -> Int {
            let count = DailyCount(day: day, event: event, platform: platform, kind: kind)
            return daily.first { $0.count == count }?.n ?? 0
        }
        let days = (0..<window.rawValue).map { UTCDay(number: snapshot.now.day.number - Int32($0)) }
        func expectTable(_ title: String, _ numbers: [[Int]]) {
            let sums = numbers[0].indices.map { index in numbers.reduce(0) { $0 + $1[index] } }
            let rows = zip(days, numbers).map { row($0.description, $1) }
            let body = ([row("All days", sums, rowClass: "sum")] + rows).joined()
            #expect(count("\(title), by day (UTC)</caption>", in: text) == 1)
            #expect(text.contains("<tbody>\(body)</tbody>"), "\(title)")
        }
        for (platform, title) in [
            (Platform.ios, "Pushes accepted, iOS"), (.android, "Pushes accepted, Android"),
        ] {
            expectTable(
                title,
                days.map { day in
                    let kinds = [Kind.message, .mention, .dm].map { n(day, .sent, platform, $0) }
                    return kinds + [kinds.reduce(0, +)]
                })
        }
        for (event, title) in [
            (CountedEvent.failed, "Pushes failed"), (.gone, "Dead tokens"), (.registered, "Registrations"),
        ] {
            expectTable(
                title,
                days.map { day in
                    let platforms = Platform.allCases.map { n(day, event, $0) }
                    return platforms + [platforms.reduce(0, +)]
                })
        }
    }

    @Test func `pushes of no known kind are shown as such, and only then`() {
        var snapshot = InventedYear.snapshot(days: 7)
        #expect(!page(snapshot, PageView(window: .week)).contains("Kind unknown"))
        let count = DailyCount(day: snapshot.now.day, event: .sent, platform: .android)
        snapshot.statistics?.daily = [DailyTotal(count: count, n: 5)]
        let text = page(snapshot, PageView(window: .week))
        #expect(text.contains(row("Pushes accepted", [0, 5, 5], rowClass: "sum")))
        #expect(text.contains(row("Kind unknown", [0, 5, 5], rowClass: "part")))
        #expect(text.contains(#"<path class="unknown""#))
    }

    @Test func `counts of days to come are left out, and said to be`() {
        var snapshot = InventedYear.snapshot(days: 7)
        let day = UTCDay(number: snapshot.now.day.number + 2)
        snapshot.statistics?.daily = [
            DailyTotal(count: DailyCount(day: day, event: .gone, platform: .ios), n: 5)
        ]
        let text = page(snapshot, PageView(window: .week))
        #expect(text.contains(row("Dead tokens", [0, 0, 0])))
        #expect(text.contains("up to 2 Dec 2026"))
    }

    // MARK: Words

    @Test func `with nothing wrong it says so first`() {
        let text = page(InventedYear.snapshot(days: 30))
        #expect(text.contains("<title>Nothing is wrong \u{2013} Gryt push relay</title>"))
        #expect(text.contains(#"<section aria-labelledby="status" class="status fine">"#))
        #expect(text.contains("66\u{202F}119"))
        #expect(text.contains("median\u{A0}43\u{202F}ms, p99\u{A0}212\u{202F}ms"))
        #expect(text.contains("2\u{A0}open, 1\u{A0}closing"))
    }

    @Test func `problems come with their words and their beginning`() {
        let text = page(InventedYear.snapshot(days: 30, problems: InventedYear.problems))
        #expect(text.contains("<h2 id=\"status\">1 thing is wrong, 1 thing to watch</h2>"))
        #expect(text.contains("<strong>Broken</strong>") && text.contains("<strong>Watch</strong>"))
        #expect(text.contains("Since 3 hours ago, 2026-11-29 23:24:05 UTC."))
        #expect(
            page(InventedYear.snapshot(days: 30, problems: [InventedYear.problems[1]])).contains("Nothing is broken"))
    }

    @Test func `a check that failed is a problem even where nobody named one`() {
        var snapshot = InventedYear.snapshot(days: 30)
        snapshot.checks[1].fault = "the database does not answer"
        snapshot.statistics = nil
        let text = page(snapshot)
        #expect(text.contains("Not ready: the database does not answer."))
        #expect(text.contains("<title>1 thing is wrong"))
        #expect(text.contains("The store does not answer, so the counts cannot be shown now."))
        #expect(text.contains(#"<dd class="figure">unknown</dd>"#))
        #expect(count("<figure", in: text) == 0)
    }

    @Test func `a relay that drains says that, and not that something is broken`() {
        var snapshot = InventedYear.snapshot(days: 30)
        snapshot.isDraining = true
        snapshot.checks[0].fault = "the relay is draining"
        #expect(page(snapshot).contains("<h2 id=\"status\">The relay is shutting down</h2>"))
        #expect(page(snapshot).contains(#"class="status watch""#))
    }

    @Test func `what is not set, refused, untried or unreachable is said in words`() {
        var snapshot = InventedYear.snapshot(days: 30)
        snapshot.credentials[0].state = .refused(since: InventedYear.now.advanced(by: .seconds(-60)))
        snapshot.credentials[1].state = .unset
        snapshot.connections = Array(snapshot.connections.prefix(2))
        snapshot.connections[0].lastFault = "certificate has expired"
        snapshot.latencies = [snapshot.latencies[0]]
        snapshot.latencies[0].lastSuccess = nil
        (snapshot.latencies[0].median, snapshot.latencies[0].p99) = (nil, nil)
        snapshot.silentLoops = 1
        let text = page(snapshot)
        #expect(text.contains(#"<span class="broken">refused since 2026-11-30 02:37:05 UTC</span>"#))
        #expect(text.contains("Registrations and pushes for Android are refused."))
        #expect(text.contains("The last attempt to connect failed: certificate has expired."))
        #expect(text.contains("none since the relay started") && text.contains("no answers in the last minutes"))
        #expect(text.contains("1 loop was too busy to answer in time"))
        snapshot.credentials[0].state = .untried
        #expect(page(snapshot).contains("set, not tried yet"))
    }

    // MARK: Form

    @Test func `nothing that is told becomes markup`() {
        let hostile = #"</style></title><script src="//x.test">&"'"#
        var snapshot = InventedYear.snapshot(days: 7, problems: [Problem(.error, hostile)])
        snapshot.version = hostile
        snapshot.connections[0].lastFault = hostile
        let text = page(snapshot, PageView(window: .week))
        #expect(!text.contains("<script") && !text.contains("\"//x.test"))
        #expect(count("</style>", in: text) == 1 && count("</title>", in: text) == count("<title", in: text))
        #expect(
            count("&lt;/style&gt;&lt;/title&gt;&lt;script src=&quot;//x.test&quot;&gt;&amp;&quot;&#39;", in: text) == 3)
    }

    @Test func `the links choose the days, keep the rest, and mark what is shown`() {
        let text = page(InventedYear.snapshot(days: 90), PageView(window: .quarter, refreshes: false))
        for days in [1, 7, 30, 365] {
            #expect(text.contains(##"<a href="?days=\##(days)&amp;refresh=off#counts">"##))
        }
        #expect(text.contains(##"<a aria-current="page" href="?days=90&amp;refresh=off#counts">90 days</a>"##))
        #expect(!text.contains("http-equiv"))
        #expect(text.contains(#"<a href="?days=90">Load it anew every 30 seconds</a>"#))
        #expect(page(InventedYear.snapshot(days: 30)).contains(#"<meta content="30" http-equiv="refresh">"#))
    }

    @Test func `the same snapshot is the same bytes, and each id stands once`() {
        let snapshot = InventedYear.snapshot(days: 30)
        #expect(OperatorPage.html(snapshot) == OperatorPage.html(snapshot))
        let ids = page(snapshot).split(separator: " id=\"").dropFirst().map { $0.prefix { $0 != "\"" } }
        #expect(ids.count == Set(ids).count && ids.count > 10)
        let named = page(snapshot).split(separator: "labelledby=\"").dropFirst()
            .flatMap { $0.prefix { $0 != "\"" }.split(separator: " ") }
        #expect(Set(named).isSubset(of: Set(ids)))
    }

    @Test func `the answer forbids to load, to frame and to keep anything`() throws {
        let response = OperatorPage.response(InventedYear.snapshot(days: 30))
        let headers = Dictionary(response.headers.map { ($0.name, $0.value) }) { first, _ in first }
        #expect(response.status == 200)
        #expect(headers["content-type"] == "text/html; charset=utf-8")
        #expect(headers["cache-control"] == "no-store")
        let policy = try #require(headers["content-security-policy"])
        #expect(policy.hasPrefix("default-src 'none'; style-src 'sha256-"))
        #expect(!policy.contains("unsafe") && !policy.contains("script") && policy.contains("frame-ancestors 'none'"))
        #expect(response.body == OperatorPage.html(InventedYear.snapshot(days: 30)))
    }
}
