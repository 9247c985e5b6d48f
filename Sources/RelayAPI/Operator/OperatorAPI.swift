package import HTTPServer
import PushModel
import Telemetry

/// The operator's port: what Prometheus, an orchestrator and a person ask. It has no access control of its own and is
/// never to be public; nothing on it names a device, a server or an address all the same.
package struct OperatorAPI: HTTPRequestHandler {
    private let source: any OperatorSource

    package init(source: any OperatorSource) { self.source = source }

    package func handle(_ request: HTTPRequest) -> HTTPHandling {
        switch OperatorRoute(request) {
        case .page(let view):
            .awaited { _ in OperatorPage.response(await source.snapshot(days: view.window.rawValue), view) }
        case .metrics: .awaited { _ in await metrics() }
        case .statistics(let days): .awaited { _ in await statistics(days: days) }
        case .readiness: .awaited { _ in await readiness() }
        case .liveness: .awaited { _ in await liveness() }
        case .refused(let refusal): .answered(Answers.refused(refusal))
        }
    }

    package func refusal(_ refusal: HTTPRefusal, of request: HTTPRequest?) -> HTTPResponse {
        Answers.refused(Refusal(refusal))
    }

    private func metrics() async -> HTTPResponse {
        HTTPResponse(
            status: 200,
            headers: [
                ("content-type", MetricsText.contentType), ("cache-control", "no-store"),
                ("x-content-type-options", "nosniff"),
            ], body: await source.metrics())
    }

    private func statistics(days: Int) async -> HTTPResponse {
        guard let statistics = await source.statistics(days: days) else { return Answers.refused(.internalFault) }
        return json(200, OperatorDocuments.statistics(statistics))
    }

    private func readiness() async -> HTTPResponse {
        let checks = await source.checks()
        return json(checks.allSatisfy(\.hasPassed) ? 200 : 503, OperatorDocuments.readiness(checks))
    }

    private func liveness() async -> HTTPResponse {
        let isAlive = await source.isAlive()
        return json(isAlive ? 200 : 503, OperatorDocuments.liveness(isAlive))
    }

    private func json(_ status: Int, _ body: String) -> HTTPResponse {
        HTTPResponse(status: status, headers: Answers.bodyHeaders, body: Array(body.utf8))
    }
}

/// What a request to the operator's port asks for.
enum OperatorRoute {
    /// The page for people.
    case page(PageView)
    case metrics
    case statistics(days: Int)
    case readiness
    case liveness
    /// Nothing that there is.
    case refused(Refusal)

    init(_ request: HTTPRequest) {
        let isRead = request.method == .get || request.method == .head
        switch request.path {
        case "/": self = .page(PageView(query: request.query))
        case "/metrics": self = .metrics
        case "/stats": self = .statistics(days: Self.days(in: request.query))
        case "/readyz": self = .readiness
        case "/livez": self = .liveness
        default:
            self = .refused(.notFound)
            return
        }
        if !isRead { self = .refused(.methodNotAllowed(allow: "GET, HEAD")) }
    }

    /// The days that `/stats` is asked about. What is no number counts as absent; what is out of range is clamped.
    static func days(in query: String?) -> Int {
        let value = (query ?? "").split(separator: "&").first { $0.hasPrefix("days=") }?.dropFirst(5)
        guard let value, !value.isEmpty else { return DailyStatistics.standardDays }
        let isNegative = value.hasPrefix("-")
        let digits = isNegative ? value.dropFirst() : value
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return DailyStatistics.standardDays
        }
        if isNegative { return DailyStatistics.days.lowerBound }
        let days = Int(digits) ?? DailyStatistics.days.upperBound
        return min(max(days, DailyStatistics.days.lowerBound), DailyStatistics.days.upperBound)
    }
}
