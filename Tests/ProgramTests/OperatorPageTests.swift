import Cryptography
import PushSimulator
import Testing

/// The page for people on the operator's port of a running relay that has a year behind it, seen by a browser.
@Suite(.timeLimit(.minutes(1)))
struct OperatorPageTests {
    /// Counts of more than a year up to today, in the form of the relay that was in the field before this one; some days
    /// have none.
    private static let history = """
        CREATE TABLE devices(cap_hash TEXT PRIMARY KEY, platform TEXT, token TEXT, env TEXT, created_at INTEGER,
            last_used_at INTEGER);
        CREATE TABLE daily_counts(day TEXT, event TEXT, platform TEXT, kind TEXT, n INTEGER,
            PRIMARY KEY(day, event, platform, kind));
        WITH RECURSIVE age(days) AS (SELECT 0 UNION ALL SELECT days + 1 FROM age WHERE days < 400),
            line(event, kind) AS (VALUES ('sent', 'message'), ('sent', 'mention'), ('sent', 'dm'), ('registered', ''),
                ('gone', ''), ('failed', '')),
            phone(platform) AS (VALUES ('ios'), ('android'))
        INSERT INTO daily_counts
            SELECT date('now', '-' || days || ' days'), event, platform, kind,
                1 + (days * 7919 + unicode(event) * 31 + length(platform) * 173 + length(kind) * 1013) % 99991
            FROM age, line, phone WHERE days % 11 <> 3;
        """

    /// Starts a relay with that history and two pushes, and lends it.
    private func withRelay(_ body: (OperatedRelay) async throws -> Void) async throws {
        let files = ScratchDirectory()
        let simulator = try PushSimulator(configuration: SimulatorConfiguration(directory: files.path + "/simulator"))
        try await simulator.start()
        let directory = ScratchDirectory()
        shell("mkdir '\(directory.path)/data'")
        directory.sqlite(Self.history, in: "data/push.db")
        let operated = try await OperatedRelay(simulator.settings, in: directory)
        do {
            for platform in [PhonePlatform.ios, .android] {
                let capability = try await operated.relay.register(SimulatedPhone(platform))
                #expect(try await operated.relay.push(capability, kind: "dm").status == 202)
            }
            try await body(operated)
        } catch {
            await operated.relay.end(by: 9)
            await simulator.stop()
            throw error
        }
        let record = await operated.relay.end()
        #expect(record.status == 0 && record.errorText == "")
        await simulator.stop()
    }

    /// A row of a table, as the page writes it.
    private func row(_ name: String, _ numbers: [Int64], rowClass: String = "") -> String {
        let cells = numbers.map { number in
            let digits = Array(String(number))
            let grouped = digits.indices.map { index in
                (index > 0 && (digits.count - index) % 3 == 0 ? "\u{202F}" : "") + String(digits[index])
            }
            return "<td>\(grouped.joined())</td>"
        }
        return
            "<tr\(rowClass.isEmpty ? "" : " class=\"\(rowClass)\"")><th scope=\"row\">\(name)</th>\(cells.joined())</tr>"
    }

    /// Holds every number of the page against what `/stats` says of the same days.
    private func expectNumbers(of page: String, equal stats: JSON, days: Int) throws {
        guard case .array(let daily) = stats["daily"] else { throw StatisticsFault() }
        var counts: [[String]: Int64] = [:]
        for entry in daily {
            let (day, event) = (try #require(entry["day"]?.string), try #require(entry["event"]?.string))
            let (platform, kind) = (try #require(entry["platform"]?.string), try #require(entry["kind"]?.string))
            let n = try #require(entry["n"]?.integer)
            // For the day and for all days, of the kind and of all kinds.
            for day in [day, ""] {
                counts[[day, event, platform, kind], default: 0] += n
                counts[[day, event, platform], default: 0] += n
            }
        }
        func sums(_ event: String, _ kind: String? = nil, on day: String = "") -> [Int64] {
            let (ios, android) = (
                counts[[day, event, "ios"] + (kind.map { [$0] } ?? [])] ?? 0,
                counts[[day, event, "android"] + (kind.map { [$0] } ?? [])] ?? 0
            )
            return [ios, android, ios + android]
        }
        let dates = Set(counts.keys.map { $0[0] }).subtracting([""]).sorted()
        let today = try #require(dates.last)
        for day in days == 1 ? [today] : [today, ""] {
            let rows = [
                row("Pushes accepted", sums("sent", on: day), rowClass: "sum"),
                row("Messages", sums("sent", "message", on: day), rowClass: "part"),
                row("Mentions", sums("sent", "mention", on: day), rowClass: "part"),
                row("Direct messages", sums("sent", "dm", on: day), rowClass: "part"),
                row("Pushes failed", sums("failed", on: day)), row("Dead tokens", sums("gone", on: day)),
                row("Registrations", sums("registered", on: day)),
            ]
            #expect(page.contains("<tbody>\(rows.joined())</tbody>"), "the sums of \(day)")
        }
        let rows = page.split(separator: "</tr>").compactMap { part in
            part.firstRange(of: "<tr>").map { String(part[$0.lowerBound...]) + "</tr>" }
        }
        let known = Set(rows)
        for day in dates {
            for platform in [0, 1] {
                let kinds = ["message", "mention", "dm"].map { sums("sent", $0, on: day)[platform] }
                #expect(known.contains(row(day, kinds + [kinds.reduce(0, +)])), "pushes of \(day)")
            }
            for event in ["failed", "gone", "registered"] {
                #expect(known.contains(row(day, sums(event, on: day))), "\(event) of \(day)")
            }
        }
        // Five tables, with a row for each day whether it has counts or not.
        #expect(rows.count { $0.hasPrefix("<tr><th scope=\"row\">20") } == 5 * days)
    }

    @Test
    func `a browser shows it without a complaint, asks nobody else, and reads the numbers of /stats`() async throws {
        try OperatorPageBrowser.requireChromium()
        try await withRelay { operated in
            for days in [30, 365] {
                let address = "http://127.0.0.1:\(operated.operatorPort)/"
                var stats: JSON?
                var visit: OperatorPageBrowser.Visit
                // Midnight may come between the two.
                repeat {
                    stats = try await operated.ask("/stats?days=\(days)").json
                    visit = try await OperatorPageBrowser.visit(address + "?days=\(days)")
                } while try await operated.ask("/stats?days=\(days)").json?.text != stats?.text
                #expect(visit.console == [])
                #expect(visit.requests.contains(address + "?days=\(days)"))
                #expect(visit.requests.allSatisfy { $0.hasPrefix(address) }, "\(visit.requests)")
                #expect(visit.page.contains(" \u{2013} Gryt push relay</title>"))
                let held = #"<dd class="figure">2</dd><dd class="quiet">1&nbsp;iOS, 1&nbsp;Android</dd>"#
                #expect(visit.page.contains(held))
                #expect(visit.page.components(of: #"<span class="fine">accepted</span>"#) == 2)
                try expectNumbers(of: visit.page, equal: try #require(stats), days: days)
            }
        }
    }

    @Test func `on a phone of 360 pixels nothing is to be moved sideways, and the style is in force`() async throws {
        try OperatorPageBrowser.requireChromium()
        try await withRelay { operated in
            let page = try await operated.ask("/?days=365").body
            // The page itself has no script, and forbids frames where it is served; from files it can be measured.
            let files = ScratchDirectory()
            files.write(page, to: "page.html")
            files.write(
                """
                <iframe src="page.html" style="width:360px;height:800px;border:0"></iframe><p id="width"></p><script>
                onload = () => {
                    const page = document.querySelector("iframe").contentDocument
                    const colour = getComputedStyle(page.querySelector(".card")).borderTopStyle
                    document.querySelector("#width").textContent =
                        `wide ${page.documentElement.scrollWidth} of ${page.documentElement.clientWidth}, ${colour}`
                }
                </script>
                """, to: "frame.html")
            let visit = try await OperatorPageBrowser.visit(
                "file://\(files.path)/frame.html", ["--allow-file-access-from-files", "--hide-scrollbars"])
            #expect(visit.page.contains(">wide 360 of 360, solid</p>"), "\(visit.page.suffix(200))")
        }
    }

    @Test func `it is served with the policy that fits its style, and to GET and HEAD alone`() async throws {
        try await withRelay { operated in
            let answer = try await operated.ask("/")
            #expect(answer.status == 200)
            #expect(answer["content-type"] == "text/html; charset=utf-8")
            #expect(answer["cache-control"] == "no-store")
            #expect(answer["x-content-type-options"] == "nosniff")
            let style = try #require(answer.body.between("<style>", "</style>"))
            let digest = base64(SHA256.hash(Array(style.utf8)))
            #expect(
                answer["content-security-policy"]
                    == "default-src 'none'; style-src 'sha256-\(digest)'; img-src data:; base-uri 'none'; "
                    + "form-action 'none'; frame-ancestors 'none'",
                "PageStyle.digest is to be \(digest)")
            for word in ["<script", "javascript:", " src=", " style=", " onload", "@import", "url(", "<iframe"] {
                #expect(!answer.body.contains(word), "\(word)")
            }
            #expect(try await operated.ask("/", method: "HEAD")["content-length"] != nil)
            #expect(try await operated.ask("/", method: "POST").summary == "405 method_not_allowed")
            #expect(try await operated.ask("/?days=7").body.contains(#"aria-current="page" href="?days=7#counts""#))
            #expect(try await operated.relay.ask("GET", "/").status == 404, "the public port has no such page")
        }
    }
}

/// The statistics are of another form.
private struct StatisticsFault: Error {}

/// Base64 with padding (RFC 4648 section 4), as policies want it.
private func base64(_ digest: SHA256Digest) -> String {
    let text = Base64URL.encode((0..<32).map { digest.bytes[$0] }).map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
    return String(text) + String(repeating: "=", count: (4 - text.count % 4) % 4)
}

extension String {
    /// How often a part occurs.
    fileprivate func components(of part: String) -> Int {
        split(separator: part, omittingEmptySubsequences: false).count - 1
    }

    /// What stands between the first `start` and the `end` after it.
    fileprivate func between(_ start: String, _ end: String) -> String? {
        let parts = split(separator: start, maxSplits: 1, omittingEmptySubsequences: false)
        return parts.count == 2
            ? parts[1].split(separator: end, omittingEmptySubsequences: false).first.map { String($0) } : nil
    }
}
