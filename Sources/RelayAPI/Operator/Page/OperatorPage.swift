import DeviceStore
package import HTTPServer
import PushModel

/// The page for people on the operator's port: is anything wrong, what do the push services answer, how many pushes.
///
/// Rendered whole from one snapshot, without any script. It loads itself anew, unless the reader wants it to stay.
package enum OperatorPage {
    /// The answer to a request for the page: never stored, never framed, and with nothing in it that may be loaded.
    package static func response(_ snapshot: OperatorSnapshot, _ view: PageView = PageView()) -> HTTPResponse {
        HTTPResponse(
            status: 200,
            headers: [
                ("content-type", "text/html; charset=utf-8"),
                ("cache-control", "no-store"),
                ("x-content-type-options", "nosniff"),
                ("content-security-policy", PageStyle.contentSecurityPolicy),
                ("referrer-policy", "no-referrer"),
                ("cross-origin-opener-policy", "same-origin"),
            ],
            body: html(snapshot, view))
    }

    /// The page in UTF-8; the same bytes for the same snapshot. The snapshot's counts are those of `view.window`.
    package static func html(_ snapshot: OperatorSnapshot, _ view: PageView = PageView()) -> [UInt8] {
        let findings = PageFindings(snapshot)
        var html = HTMLWriter()
        html.element(.html, [.lang: "en"]) { html in
            html.element(.head) { writeHead(findings, view, to: &$0) }
            html.element(.body) { body in
                body.element(.header) { writeHeader(snapshot, to: &$0) }
                body.element(.main) { main in
                    writeStatus(findings, snapshot.now, to: &main)
                    writeTiles(snapshot, to: &main)
                    writeServices(snapshot, to: &main)
                    writeCounts(snapshot, view, to: &main)
                }
                body.element(.footer) { writeFooter(view, to: &$0) }
            }
        }
        html.text("\n")
        return html.bytes
    }

    private static func writeHead(_ findings: PageFindings, _ view: PageView, to head: inout HTMLWriter) {
        head.element(.meta, [.charset: "utf-8"])
        head.element(.title, "\(findings.headline) \u{2013} Gryt push relay")
        head.element(.meta, [.name: "viewport", .content: "width=device-width, initial-scale=1"])
        head.element(.meta, [.name: "color-scheme", .content: "light dark"])
        head.element(.meta, [.name: "robots", .content: "noindex"])
        if view.refreshes {
            head.element(.meta, [.httpEquiv: "refresh", .content: "\(PageView.refreshSeconds)"])
        }
        // A browser asks for a picture of its own accord where a page has none.
        head.element(.link, [.rel: "icon", .href: icon(findings.state)])
        head.stylesheet()
    }

    /// A disc in the colour of the state, with a tick or a mark of exclamation.
    private static func icon(_ state: PageFindings.State) -> String {
        let (colour, sign) =
            switch state {
            case .fine: ("17693a", "M4.5 8.5l2.5 2.5 4.5-5.5")
            case .watch: ("8a5300", "M8 3.5v5.5m0 2v1.5")
            case .broken: ("b3231b", "M8 3.5v5.5m0 2v1.5")
            }
        return "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
            + "%3Ccircle cx='8' cy='8' r='8' fill='%23\(colour)'/%3E"
            + "%3Cpath d='\(sign)' fill='none' stroke='white' stroke-width='2'/%3E%3C/svg%3E"
    }

    private static func writeHeader(_ snapshot: OperatorSnapshot, to header: inout HTMLWriter) {
        header.element(.h1, "Gryt push relay")
        header.element(.p, [.class: "quiet"]) { p in
            p.text("Version \(snapshot.version), running for \(PageText.span(snapshot.uptime)). As of ")
            p.element(
                .time, [.datetime: PageText.machineReadable(snapshot.now)], PageText.moment(snapshot.now))
            p.text(".")
        }
    }

    private static func writeStatus(_ findings: PageFindings, _ now: WallInstant, to main: inout HTMLWriter) {
        main.element(.section, [.class: "status \(findings.state.rawValue)", .ariaLabelledBy: "status"]) { section in
            section.element(.h2, [.id: "status"], findings.headline)
            section.element(.p, findings.comment)
            guard !findings.problems.isEmpty else { return }
            section.element(.ul) { list in
                for problem in findings.problems {
                    list.element(.li, [.class: problem.severity.state.rawValue]) { item in
                        item.element(.strong, problem.severity.word)
                        item.element(.span, problem.text + ".")
                        guard let since = problem.since else { return }
                        item.element(.span) { $0.element(.small, "Since \(moment(since, now)).") }
                    }
                }
            }
        }
    }

    private static func writeTiles(_ snapshot: OperatorSnapshot, to main: inout HTMLWriter) {
        let today = snapshot.now.day
        let history = snapshot.statistics.map { PageHistory($0, today: today) }
        func todays(_ event: CountedEvent) -> String {
            guard let history else { return "unknown" }
            return PageText.number(history.sum(event, Platform.allCases, kinds: history.kinds, todayOnly: true))
        }
        main.element(.dl, [.class: "tiles"]) { tiles in
            writeTile("Pushes accepted today", todays(.sent), to: &tiles)
            writeTile("Pushes failed today", todays(.failed), to: &tiles)
            writeTile(
                "Devices held",
                snapshot.statistics.map { PageText.number($0.devices.ios + $0.devices.android) } ?? "unknown",
                snapshot.statistics.map {
                    "\(PageText.number($0.devices.ios))\u{A0}iOS, \(PageText.number($0.devices.android))\u{A0}Android"
                }, to: &tiles)
            writeTile("Pushes under way now", PageText.number(snapshot.pushesInFlight), to: &tiles)
        }
    }

    private static func writeTile(
        _ name: String, _ figure: String, _ comment: String? = nil, to tiles: inout HTMLWriter
    ) {
        tiles.element(.div, [.class: "card"]) { tile in
            tile.element(.dt, name)
            tile.element(.dd, [.class: "figure"], figure)
            if let comment { tile.element(.dd, [.class: "quiet"], comment) }
        }
    }

    private static func writeFooter(_ view: PageView, to footer: inout HTMLWriter) {
        footer.element(.p, [.class: "quiet"]) { p in
            var other = view
            other.refreshes.toggle()
            if view.refreshes {
                p.text("This page loads itself anew every \(PageView.refreshSeconds) seconds. ")
                p.element(.a, [.href: other.link], "Let it stay as it is")
            } else {
                p.text("This page stays as it is. ")
                p.element(.a, [.href: other.link], "Load it anew every \(PageView.refreshSeconds) seconds")
            }
        }
        footer.element(.p, [.class: "quiet"]) { p in
            p.text("For programs: ")
            p.element(.a, [.href: "stats?days=\(view.window.rawValue)"], "/stats")
            p.text(", ")
            p.element(.a, [.href: "metrics"], "/metrics")
            p.text(", ")
            p.element(.a, [.href: "readyz"], "/readyz")
            p.text(". Days are UTC. Nothing here belongs to one device, server or address.")
        }
    }

    /// When something was, from now and by the clock.
    static func moment(_ moment: WallInstant, _ now: WallInstant) -> String {
        let exact = PageText.moment(moment)
        return PageText.ago(moment, now: now).map { "\($0), \(exact)" } ?? exact
    }
}
