import Cryptography

/// One connection to Google's simulated token endpoint. Loop thread.
final class OAuthConversation: Conversation {
    let settings: ConnectionSettings
    let behaviour: ConnectionBehaviour
    let overLimitText = "exceeded_max_concurrent_streams"

    private let ledger: Ledger
    private let rules: AssertionRules
    private let connection: Int
    private var faults: FaultQueue

    /// Notes the connection in the ledger, which also says how it is to behave.
    init(ledger: Ledger, rules: AssertionRules) {
        self.ledger = ledger
        self.rules = rules
        let (number, asked) = ledger.opened(.oauth)
        connection = number
        behaviour = asked
        settings = asked.settings(maxHeaderListSize: 65_536)
        faults = FaultQueue(asked.faults)
    }

    func wentOverLimit() { ledger.wentOverLimit(.oauth) }
    func saw(openStreams: Int) { ledger.sawStreams(openStreams, on: .oauth) }
    func saw(frame: String) { ledger.saw(frame: frame, on: .oauth) }
    func leftUnanswered() { ledger.leftUnanswered(.oauth) }
    func ended() { ledger.closed(.oauth) }

    func react(to request: HTTPRequest, stream: Int32) -> Reaction {
        let (serviceFault, latency) = ledger.began(.oauth)
        let fault = faults.next() ?? serviceFault
        var reaction: Reaction
        let status: Int?
        let reason: String?
        let outcome = fault?.outcome { status, reason, retryAfter in
            refusal(.init(status: status, error: reason, description: "Simulated."), retryAfter: retryAfter)
        }
        if let outcome {
            (reaction, status, reason) = outcome
        } else if let refused = rules.check(request, now: ledger.now) ?? accountRefusal {
            (status, reason) = (refused.status, refused.error)
            reaction = Reaction(action: .answer(refusal(refused, retryAfter: nil)))
        } else {
            (status, reason) = (200, nil)
            reaction = Reaction(action: .answer(issue()))
        }
        // With an outcome of its own the fault has seen to that.
        if outcome == nil { fault?.dress(&reaction) }
        reaction.delay += latency
        ledger.ended(
            RequestRecord(
                number: 0, service: .oauth, connection: connection, stream: stream, method: request.method,
                target: request.target, headers: request.headers, neverIndexed: request.neverIndexed, status: status,
                reason: reason))
        return reaction
    }

    /// What becomes of an assertion that is right in itself.
    private var accountRefusal: AssertionRules.Refusal? {
        switch ledger.serviceAccountState {
        case .usual: nil
        case .keyRevoked: AssertionRules.Refusal(error: "invalid_grant", description: "Invalid JWT Signature.")
        case .deleted: AssertionRules.Refusal(error: "invalid_grant", description: "Invalid grant: account not found")
        }
    }

    /// A token that nobody had before; earlier ones stay good until their own end.
    private func issue() -> SimulatedAnswer {
        // Google's are some 220 characters long.
        let token = "ya29.c." + Base64URL.encode(SecureRandom.bytes(160))
        let life = ledger.accessTokenLife
        ledger.issued(accessToken: token, lifetime: life.lifetime)
        var members: [JSON.Member] = [.init("access_token", .string(token))]
        if let expiresIn = life.expiresIn { members.append(.init("expires_in", expiresIn)) }
        members.append(.init("token_type", "Bearer"))
        let body = JSON.object(members)
        return answer(status: 200, body: body, retryAfter: nil)
    }

    private func refusal(_ refusal: AssertionRules.Refusal, retryAfter: String?) -> SimulatedAnswer {
        let body: JSON = ["error": .string(refusal.error), "error_description": .string(refusal.description)]
        return answer(status: refusal.status, body: body, retryAfter: retryAfter)
    }

    private func answer(status: Int, body: JSON, retryAfter: String?) -> SimulatedAnswer {
        var headers = [
            HeaderField("content-type", "application/json; charset=utf-8"), HeaderField("cache-control", "private"),
            DateHeader.field(milliseconds: ledger.now),
        ]
        if let retryAfter { headers.append(HeaderField("retry-after", retryAfter)) }
        return SimulatedAnswer(status: status, headers: headers, body: body.text)
    }
}
