/// One connection to the simulator's own port, by which scripts look and give orders. Loop thread.
///
/// `curl --http2 --cacert … -X POST 'https://localhost:…/simulator/dead?token=…'` is all that is needed: every order is
/// a POST with its arguments in the query, every question a GET.
final class ControlConversation: Conversation {
    let settings = ConnectionSettings(concurrentStreams: 100, maxHeaderListSize: 65_536)
    let behaviour = ConnectionBehaviour.usual(of: .control)
    let overLimitText = ""

    private let ledger: Ledger
    /// It owns the connection that owns this.
    private unowned let server: SimulatorServer

    /// Notes the connection in the ledger. Orders that concern open connections go to `server`.
    init(ledger: Ledger, server: SimulatorServer) {
        self.ledger = ledger
        self.server = server
        _ = ledger.opened(.control)
    }

    func wentOverLimit() { ledger.wentOverLimit(.control) }
    func saw(frame: String) { ledger.saw(frame: frame, on: .control) }
    func leftUnanswered() { ledger.leftUnanswered(.control) }
    func ended() { ledger.closed(.control) }

    func react(to request: HTTPRequest, stream: Int32) -> Reaction {
        _ = ledger.began(.control)
        return Reaction(action: .answer(answer(to: request)))
    }

    private func answer(to request: HTTPRequest) -> SimulatedAnswer {
        let query = request.target.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        guard let arguments = FormFields(Array(query.utf8)) else { return complaint("the query cannot be read") }
        switch (request.method, request.path) {
        case ("GET", "/simulator/books"): return answer(ledger.books.json)
        case ("GET", "/simulator/notifications"): return notifications(arguments)
        case ("POST", "/simulator/dead"): return declareDead(arguments)
        case ("POST", "/simulator/alive"): return declareLive(arguments)
        case ("POST", "/simulator/forget"): return forget(arguments)
        case ("POST", "/simulator/force"): return force(arguments)
        case ("POST", "/simulator/latency"): return setLatency(arguments)
        case ("POST", "/simulator/goaway"): return goAway(arguments)
        case ("POST", "/simulator/clock"): return advanceClock(arguments)
        default: return SimulatedAnswer(status: 404, headers: Self.headers, body: #"{"error":"no such order"}"#)
        }
    }

    // MARK: Questions

    private func notifications(_ arguments: FormFields) -> SimulatedAnswer {
        var chosen = ledger.books.notifications
        if let token = arguments["token"] {
            chosen = chosen.filter { $0.token == PhoneAddress(token, $0.platform).token }
        }
        return answer(.array(chosen.map(\.json)))
    }

    // MARK: Orders

    private func declareDead(_ arguments: FormFields) -> SimulatedAnswer {
        guard let address = phone(arguments) else { return complaint("token is missing") }
        let reason = arguments["reason"].map { DeathReason(rawValue: $0) } ?? .unregistered
        guard let reason else { return complaint("reason is neither Unregistered nor ExpiredToken") }
        let since = arguments["since"].map { Int64($0) } ?? ledger.now
        guard let since else { return complaint("since is no number of milliseconds") }
        ledger.updatePhones { $0.declareDead(address, .init(since: since, reason: reason)) }
        return done
    }

    private func declareLive(_ arguments: FormFields) -> SimulatedAnswer {
        guard let address = phone(arguments) else { return complaint("token is missing") }
        let environment = arguments["environment"].flatMap { PhoneEnvironment(rawValue: $0) }
        guard (environment == nil) == (arguments["environment"] == nil) else {
            return complaint("environment is neither production nor sandbox")
        }
        let topic = arguments["topic"]
        ledger.updatePhones { $0.declareLive(address, environment: environment, topic: topic) }
        return done
    }

    private func forget(_ arguments: FormFields) -> SimulatedAnswer {
        guard let address = phone(arguments) else { return complaint("token is missing") }
        ledger.updatePhones { $0.forget(address) }
        return done
    }

    private func force(_ arguments: FormFields) -> SimulatedAnswer {
        let action: Fault.Action
        switch arguments["action"] ?? "refuse" {
        case "refuse":
            guard let status = arguments["status"].flatMap({ Int($0) }), (200...599).contains(status) else {
                return complaint("status is missing")
            }
            action = .refuse(
                status: status, reason: arguments["reason"] ?? "", retryAfter: arguments["retry_after"])
        case "silence": action = .silence
        case "disconnect": action = .disconnect
        case "reset": action = .reset(arguments["code"].flatMap { UInt32($0) } ?? 2)
        case "goaway": action = .goAway(goAwayFrame(arguments))
        default: return complaint("action is none of refuse, silence, disconnect, reset, goaway")
        }
        let fault = Fault(
            action, delivers: arguments["delivers"] == "true", times: arguments["times"].flatMap { Int($0) })
        if let service = arguments["service"].flatMap({ SimulatedService(rawValue: $0) }) {
            ledger.updateFaults(of: service) { $0.add(fault) }
        } else if let address = phone(arguments) {
            ledger.updatePhones { $0.add(fault, to: address) }
        } else {
            return complaint("neither token nor service is given")
        }
        return done
    }

    private func setLatency(_ arguments: FormFields) -> SimulatedAnswer {
        guard let service = arguments["service"].flatMap({ SimulatedService(rawValue: $0) }),
            let milliseconds = arguments["ms"].flatMap({ Int64($0) }), (0...600_000).contains(milliseconds)
        else { return complaint("service or ms is missing") }
        ledger.setLatency(.milliseconds(milliseconds), of: service)
        return done
    }

    private func goAway(_ arguments: FormFields) -> SimulatedAnswer {
        guard let service = arguments["service"].flatMap({ SimulatedService(rawValue: $0) }), service != .control
        else { return complaint("service is missing") }
        let frame = goAwayFrame(arguments)
        let count = server.assumeIsolated { $0.goAway(frame, on: service) }
        return answer(["ok": true, "connections": JSON(count)])
    }

    private func advanceClock(_ arguments: FormFields) -> SimulatedAnswer {
        guard let seconds = arguments["seconds"].flatMap({ Int64($0) }), seconds.magnitude < 1_000_000_000 else {
            return complaint("seconds is missing")
        }
        ledger.advanceClock(by: seconds * 1000)
        return done
    }

    private func goAwayFrame(_ arguments: FormFields) -> GoAway {
        GoAway(
            code: arguments["code"].flatMap { UInt32($0) } ?? 0, text: arguments["text"] ?? "",
            lastStreamID: arguments["last"].flatMap { Int32($0) }, closes: arguments["closes"] == "true")
    }

    /// Which phone is meant. Without `platform`, hex is taken for Apple's.
    private func phone(_ arguments: FormFields) -> PhoneAddress? {
        guard let token = arguments["token"], !token.isEmpty else { return nil }
        let guess: PhonePlatform = token.utf8.allSatisfy { $0.hexValue != nil } ? .ios : .android
        return PhoneAddress(token, arguments["platform"].flatMap { PhonePlatform(rawValue: $0) } ?? guess)
    }

    // MARK: Answers

    private static let headers = [HeaderField("content-type", "application/json")]

    private var done: SimulatedAnswer { answer(["ok": true]) }

    private func answer(_ json: JSON) -> SimulatedAnswer {
        SimulatedAnswer(status: 200, headers: Self.headers, body: json.text + "\n")
    }

    private func complaint(_ text: String) -> SimulatedAnswer {
        SimulatedAnswer(status: 400, headers: Self.headers, body: JSON.object([.init("error", .string(text))]).text)
    }
}
