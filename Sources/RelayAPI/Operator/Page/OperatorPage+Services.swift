import PushModel
import Telemetry

/// What the push services answer now.
extension OperatorPage {
    /// Writes the section.
    static func writeServices(_ snapshot: OperatorSnapshot, to main: inout HTMLWriter) {
        main.element(.section, [.ariaLabelledBy: "services"]) { section in
            section.element(.h2, [.id: "services"], "Push services now")
            section.element(.div, [.class: "two"]) { cards in
                for credential in snapshot.credentials { writeService(credential, snapshot, to: &cards) }
            }
            if snapshot.silentLoops > 0 {
                let loops = PageText.count(snapshot.silentLoops, "loop was", "loops were")
                section.element(
                    .p, [.class: "quiet"],
                    "\(loops) too busy to answer in time; their connections and pushes are missing here.")
            }
        }
    }

    private static func writeService(
        _ credential: CredentialSnapshot, _ snapshot: OperatorSnapshot, to cards: inout HTMLWriter
    ) {
        let platform = credential.platform
        let id = "service-\(platform.rawValue)"
        cards.element(.article, [.class: "card", .ariaLabelledBy: id]) { card in
            card.element(.h3, [.id: id], platform.pushServiceName)
            card.element(.dl, [.class: "facts"]) { facts in
                let state = credential.words(snapshot.now)
                writeFact("Credentials", state.text, state.comment, state.state, to: &facts)
                guard credential.state != .unset else { return }
                writeLatency(snapshot.latencies.first { $0.platform == platform }, snapshot.now, to: &facts)
            }
            let connections = snapshot.connections.filter { $0.upstream.platform == platform }
            if !connections.isEmpty { writeConnections(connections, platform, to: &card) }
        }
    }

    private static func writeLatency(_ latency: LatencySnapshot?, _ now: WallInstant, to facts: inout HTMLWriter) {
        if let success = latency?.lastSuccess {
            let ago = PageText.ago(success, now: now)
            writeFact(
                "Last success", ago ?? PageText.moment(success), ago.map { _ in PageText.moment(success) },
                to: &facts)
        } else {
            writeFact("Last success", "none since the relay started", to: &facts)
        }
        guard let latency, let median = latency.median, let p99 = latency.p99 else {
            writeFact("Answer time", "no answers in the last minutes", to: &facts)
            return
        }
        writeFact(
            "Answer time", "median\u{A0}\(PageText.latency(median)), p99\u{A0}\(PageText.latency(p99))",
            "of \(PageText.count(latency.answers, "answer", "answers")) in the last minutes", to: &facts)
    }

    private static func writeFact(
        _ name: String, _ text: String, _ comment: String? = nil, _ state: PageFindings.State? = nil,
        to facts: inout HTMLWriter
    ) {
        facts.element(.dt, name)
        facts.element(.dd) { fact in
            fact.element(.span, state.map { [.class: $0.rawValue] } ?? [:], text)
            if let comment { fact.element(.small, comment) }
        }
    }

    private static func writeConnections(
        _ connections: [ConnectionSnapshot], _ platform: Platform, to card: inout HTMLWriter
    ) {
        card.element(.table) { table in
            table.element(.caption, "Connections to \(platform.company)")
            table.element(.thead) { head in
                head.element(.tr) { row in
                    for name in ["To", "State", "Under way", "Waiting", "At most"] {
                        row.element(.th, [.scope: "col"], name)
                    }
                }
            }
            table.element(.tbody) { body in
                for connection in connections {
                    body.element(.tr) { row in
                        row.element(.th, [.scope: "row"], connection.upstream.words)
                        row.element(.td, [.class: "words"], connection.words)
                        for number in [connection.inFlight, connection.waiting, connection.streamLimit] {
                            row.element(.td, PageText.number(number))
                        }
                    }
                    guard let fault = connection.lastFault else { continue }
                    body.element(.tr, [.class: "of-above"]) { row in
                        row.element(
                            .td, [.class: "fault", .colspan: "5"], "The last attempt to connect failed: \(fault).")
                    }
                }
            }
        }
    }
}

extension Platform {
    /// Who runs the push service.
    var company: String {
        switch self {
        case .ios: "Apple"
        case .android: "Google"
        }
    }

    /// The push service, for a heading.
    var pushServiceName: String {
        switch self {
        case .ios: "Apple (APNs, for iOS)"
        case .android: "Google (FCM, for Android)"
        }
    }

    /// What the phones run, as people write it.
    var words: String {
        switch self {
        case .ios: "iOS"
        case .android: "Android"
        }
    }
}

extension Upstream {
    /// The platform whose pushes need it.
    fileprivate var platform: Platform {
        switch self {
        case .apns, .apnsSandbox: .ios
        case .fcm, .oauth: .android
        }
    }

    fileprivate var words: String {
        switch self {
        case .apns: "Production"
        case .apnsSandbox: "Sandbox"
        case .fcm: "Messaging"
        case .oauth: "Access tokens"
        }
    }
}

extension ConnectionSnapshot {
    /// How many connections are in which state; those states that none is in are left out.
    fileprivate var words: String {
        let parts = [(open, "open"), (connecting, "connecting"), (draining, "closing")].filter { $0.0 > 0 }
        return parts.isEmpty
            ? "none" : parts.map { "\(PageText.number($0.0))\u{A0}\($0.1)" }.joined(separator: ", ")
    }
}

extension CredentialSnapshot {
    /// What is known, how bad that is, and what else there is to say.
    fileprivate func words(_ now: WallInstant) -> (text: String, comment: String?, state: PageFindings.State?) {
        let age = tokenAge.map { "the token sent now is \(PageText.span($0)) old" }
        switch state {
        case .unset:
            return ("not set", "Registrations and pushes for \(platform.words) are refused.", nil)
        case .untried:
            return ("set, not tried yet", age, nil)
        case .accepted:
            let last = lastAccepted.flatMap { PageText.ago($0, now: now) }.map { "last \($0)" }
            return ("accepted", [last, age].compactMap { $0 }.joined(separator: "; "), .fine)
        case .refused(let since):
            let last = lastAccepted.map { "Last accepted \(OperatorPage.moment($0, now))." }
            return (
                "refused since \(PageText.moment(since))", last ?? "Not accepted since the relay started.", .broken
            )
        }
    }
}
