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
    func saw(openStreams: Int) { ledger.sawStreams(openStreams, on: .control) }
    func saw(frame: String) { ledger.saw(frame: frame, on: .control) }
    func leftUnanswered() { ledger.leftUnanswered(.control) }
    func ended() { ledger.closed(.control) }

    func react(to request: HTTPRequest, stream: Int32) -> Reaction {
        _ = ledger.began(.control)
        return Reaction(action: .answer(answer(to: request)))
    }

    private func answer(to request: HTTPRequest) -> SimulatedAnswer {
        let query = request.target.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        do throws(Order.Complaint) {
            let order = try Order(query: query)
            switch request.method {
            case "GET": return try answer(question: request.path, order) ?? unknown
            case "POST": return try obey(request.path, order) ?? unknown
            default: return unknown
            }
        } catch {
            return SimulatedAnswer(
                status: 400, headers: Self.headers, body: JSON.object([.init("error", .string(error.text))]).text)
        }
    }

    // MARK: Questions

    private func answer(question path: Substring, _ order: Order) throws(Order.Complaint) -> SimulatedAnswer? {
        switch path {
        case "/simulator/books": return answer(ledger.books.json)
        case "/simulator/notifications":
            var chosen = ledger.books.notifications
            if let token = order["token"] {
                chosen = chosen.filter { $0.token == PhoneAddress(token, $0.platform).token }
            }
            return answer(.array(chosen.map(\.json)))
        case "/simulator/shown":
            return answer(.array(ledger.shown(on: try order.phone()).map(\.json)))
        default: return nil
        }
    }

    // MARK: Orders

    private func obey(_ path: Substring, _ order: Order) throws(Order.Complaint) -> SimulatedAnswer? {
        switch path {
        case "/simulator/dead": try declareDead(order)
        case "/simulator/alive":
            let (phone, topic) = (try order.phone(), order["topic"])
            let environment = try order.choice("environment", PhoneEnvironment.self)
            ledger.updatePhones { $0.declareLive(phone, environment: environment, topic: topic) }
        case "/simulator/forget":
            let phone = try order.phone()
            ledger.updatePhones { $0.forget(phone) }
        case "/simulator/force": try force(order)
        case "/simulator/clear": try clear(order)
        case "/simulator/latency":
            guard let latency = try order.milliseconds() else { throw Order.Complaint("ms is missing") }
            ledger.setLatency(latency, of: try order.service())
        case "/simulator/clock":
            guard let seconds = try order.number("seconds", -1_000_000_000...1_000_000_000 as ClosedRange<Int64>) else {
                throw Order.Complaint("seconds is missing")
            }
            ledger.advanceClock(by: seconds * 1000)
        case "/simulator/goaway":
            let (frame, service) = (try order.goAway(), try order.service())
            return counted(server.assumeIsolated { $0.goAway(frame, on: service) })
        case "/simulator/disconnect":
            let service = try order.service()
            return counted(server.assumeIsolated { $0.disconnect(service) })
        case "/simulator/act":
            let (act, service) = (try order.act(), try order.service())
            return counted(server.assumeIsolated { $0.perform([act], on: service) })
        case "/simulator/behaviour": try behave(order)
        case "/simulator/reception": try receive(order)
        case "/simulator/listening":
            let service = try order.service()
            guard let state = try order.choice("how", Listening.self) else { throw Order.Complaint("how is missing") }
            let family = try order.choice("family", AddressFamily.self) ?? .both
            server.assumeIsolated { $0.setListening(state, of: service, over: family) }
        case "/simulator/proxy": try setProxy(order)
        default:
            guard try AccountOrders(ledger: ledger).obey(path, order) else { return nil }
        }
        return answer(["ok": true])
    }

    private func declareDead(_ order: Order) throws(Order.Complaint) {
        let phone = try order.phone()
        let reason = try order.choice("reason", DeathReason.self) ?? .unregistered
        let now = ledger.now
        let death = PhoneTable.Death(
            since: try order.number("since", Int64.min...Int64.max) ?? now, reason: reason,
            noticed: now + 1000 * (try order.number("noticed_after", 0...1_000_000_000 as ClosedRange<Int64>) ?? 0),
            timestamp: try order.choice("timestamp", DeathTimestamp.self) ?? .milliseconds)
        ledger.updatePhones { $0.declareDead(phone, death) }
    }

    private func force(_ order: Order) throws(Order.Complaint) {
        let fault = try order.fault()
        if order["service"] != nil {
            ledger.updateFaults(of: try order.service()) { $0.add(fault) }
        } else {
            let phone = try order.phone()
            ledger.updatePhones { $0.add(fault, to: phone) }
        }
    }

    private func clear(_ order: Order) throws(Order.Complaint) {
        if order["service"] != nil {
            ledger.updateFaults(of: try order.service()) { $0.clear() }
        } else {
            let phone = try order.phone()
            ledger.updatePhones { $0.clearFaults(of: phone) }
        }
    }

    private func behave(_ order: Order) throws(Order.Complaint) {
        let service = try order.service()
        var behaviour = try order.flag("usual") ?? false ? .usual(of: service) : ledger.behaviour(of: service)
        try order.change(&behaviour)
        if try order.flag("next") ?? false {
            ledger.setNextBehaviours([behaviour], of: service)
        } else {
            ledger.setBehaviour(behaviour, of: service)
        }
    }

    private func receive(_ order: Order) throws(Order.Complaint) {
        let (service, reception, times) = (try order.service(), try order.reception(), try order.times())
        let limit = try order.number("beyond", 0...1_000_000)
        let window = try order.number("seconds", 1...86_400) ?? 60
        server.assumeIsolated { server in
            server.updateReception(of: service) { plan in
                if let limit {
                    plan.limit((limit, .seconds(window), reception))
                } else if reception == .usual {
                    plan.clear()
                } else {
                    plan.add(reception, times: times)
                }
            }
        }
    }

    private func setProxy(_ order: Order) throws(Order.Complaint) {
        if let user = order["user"] {
            let credentials = user.isEmpty ? nil : ProxyCredentials(user: user, password: order["password"] ?? "")
            ledger.updateProxy { $0.credentials = credentials }
            guard order["answer"] != nil else { return }
        }
        let (answer, host, times) = (try order.proxyAnswer(), order["host"], try order.times())
        ledger.updateProxy { rules in
            if let answer { rules.add(answer, host: host, times: times) } else { rules.clear() }
        }
    }

    // MARK: Answers

    private static let headers = [HeaderField("content-type", "application/json")]

    private var unknown: SimulatedAnswer {
        SimulatedAnswer(status: 404, headers: Self.headers, body: #"{"error":"no such order"}"#)
    }

    private func counted(_ connections: Int) -> SimulatedAnswer {
        answer(["ok": true, "connections": JSON(connections)])
    }

    private func answer(_ json: JSON) -> SimulatedAnswer {
        SimulatedAnswer(status: 200, headers: Self.headers, body: json.text + "\n")
    }
}
