import EventLoops
import HTTP2Client
import PushModel
import PushServices
import Synchronization

/// One push service's host, asked once over a connection of its own. Lives on a loop; close it at the end.
struct UpstreamTrial: Sendable {
    private let pool: HTTP2Pool
    private let trace: Trace
    private let clocks: Clocks

    /// For one request, its connection included: two in a row stay within the bound of the whole check.
    static let patience = Duration.seconds(6)

    /// What came of a request.
    enum Outcome: Sendable {
        /// An answer, and what it says of the clock where it says anything.
        case answered(HTTP2Response, ClockJudgement.Reading?)
        /// None, and why.
        case failed(HTTP2Failure)
    }

    /// Opens nothing yet.
    init(
        on loop: EventLoop, origin: Origin, proxy: HTTPProxy?, trust: TLSTrust,
        configuration: HTTP2PoolConfiguration, clocks: Clocks
    ) {
        let trace = Trace()
        var configuration = configuration
        configuration.maximumConnections = 1
        configuration.requestTimeout = Self.patience
        // Each step before its sum is over, so that the step that hangs is the one that is told.
        configuration.resolveTimeout = .seconds(3)
        configuration.connectTimeout = .seconds(3)
        configuration.tunnelTimeout = .seconds(3)
        configuration.tlsTimeout = .seconds(3)
        configuration.settingsTimeout = .seconds(3)
        self.trace = trace
        self.clocks = clocks
        pool = HTTP2Pool(
            on: loop, origin: origin, proxy: proxy, trust: trust, configuration: configuration
        ) { trace.note($0) }
    }

    /// Asks.
    func ask(_ request: HTTP2Request) async -> Outcome {
        let asked = clocks.wall()
        do throws(HTTP2Failure) {
            let response = try await pool.send(request, timeout: Self.patience)
            let date = response.value(of: "date").flatMap { HTTPDate.instant(of: $0) }
            return .answered(
                response, date.map { ClockJudgement.Reading(theirs: $0, asked: asked, answered: clocks.wall()) })
        } catch {
            return .failed(error)
        }
    }

    /// Why there is no connection; nil where there was one that took requests.
    func unreachable(_ failure: HTTP2Failure) -> Unreachable? {
        let (isOpened, fault) = (trace.isOpened, trace.fault)
        if isOpened { return nil }
        if case .unreachable(let reason) = failure { return reason }
        return fault ?? .connectTimeout
    }

    /// What the other side said as it ended the connection; nil where it did not.
    var goodbye: String? { trace.goodbye }

    /// Closes its connections.
    func close() async { await pool.close() }
}

/// What happened to a trial's connections.
private final class Trace: Sendable {
    private let seen = Mutex((isOpened: false, fault: Unreachable?.none, goodbye: String?.none))

    func note(_ event: HTTP2ConnectionEvent) {
        seen.withLock { seen in
            switch event {
            case .opened: seen.isOpened = true
            case .failed(let reason): seen.fault = reason
            case .goAway(_, _, let debug): seen.goodbye = debug ?? seen.goodbye
            case .retired, .closed: break
            }
        }
    }

    var isOpened: Bool { seen.withLock { $0.isOpened } }
    var fault: Unreachable? { seen.withLock { $0.fault } }
    var goodbye: String? { seen.withLock { $0.goodbye } }
}
