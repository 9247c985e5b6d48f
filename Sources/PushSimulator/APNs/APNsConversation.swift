/// One connection to a simulated APNs. Loop thread.
final class APNsConversation: Conversation {
    let settings: ConnectionSettings
    let overLimitText = "Maximum active streams violated for this endpoint."

    private let service: SimulatedService
    private let environment: PhoneEnvironment
    private let ledger: Ledger
    private let verifier: ProviderTokenVerifier
    private let connection: Int
    let behaviour: ConnectionBehaviour
    private var history = ProviderTokenHistory()
    private var binding = ConnectionBinding()
    private var faults: FaultQueue
    private var hasAcceptedToken = false
    /// Faults of the request at hand that only add to its answer.
    private var proceeding: [Fault] = []

    /// Notes the connection in the ledger, which also says how it is to behave.
    init(environment: PhoneEnvironment, ledger: Ledger, verifier: ProviderTokenVerifier) {
        self.environment = environment
        self.ledger = ledger
        self.verifier = verifier
        service = environment == .production ? .apnsProduction : .apnsSandbox
        (connection, behaviour) = ledger.opened(service)
        settings = behaviour.settings(maxHeaderListSize: 8000)
        faults = FaultQueue(behaviour.faults)
    }

    func wentOverLimit() { ledger.wentOverLimit(service) }
    func saw(openStreams: Int) { ledger.sawStreams(openStreams, on: service) }
    func saw(frame: String) { ledger.saw(frame: frame, on: service) }
    func leftUnanswered() { ledger.leftUnanswered(service) }
    func ended() { ledger.closed(service) }

    func react(to request: HTTPRequest, stream: Int32) -> Reaction {
        let (serviceFault, latency) = ledger.began(service)
        proceeding = []
        let verdict: Verdict
        if let fault = faults.next() ?? serviceFault, !sets(aside: fault) {
            verdict = .fault(fault, nil)
        } else {
            verdict = judge(request)
        }
        var reaction = perform(verdict, for: request, stream: stream)
        for fault in proceeding { fault.dress(&reaction) }
        reaction.delay += latency
        return reaction
    }

    /// Keeps a fault for the end that leaves the answer as it is.
    private func sets(aside fault: Fault) -> Bool {
        guard fault.action == .proceed else { return false }
        proceeding.append(fault)
        return true
    }

    /// What is to become of one push.
    private enum Verdict {
        case accepted(APNsRequestRules.Passed)
        case refused(APNsReason)
        case dead(PhoneTable.Death)
        /// Accepted, though the phone is gone: Apple's 410 begins late.
        case acceptedInVain
        /// With the push, when it was right and only then met the fault.
        case fault(Fault, APNsRequestRules.Passed?)
    }

    private func judge(_ request: HTTPRequest) -> Verdict {
        let push: APNsRequestRules.Passed
        switch APNsRequestRules.check(request) {
        case .failure(let reason): return .refused(reason)
        case .success(let passed): push = passed
        }
        if let reason = providerTokenFault(request, topic: push.topic) { return .refused(reason) }
        if let reason = APNsRequestRules.payloadFault(request.body, pushType: push.pushType) {
            return .refused(reason)
        }
        let (fault, standing) = ledger.attempt(
            PhoneAddress(push.token, .ios), environment: environment, topic: push.topic)
        if let fault, !sets(aside: fault) { return .fault(fault, push) }
        switch standing {
        case .live:
            return ledger.exceedsRate(.apnsProduction, key: push.token) ? .refused(.tooManyRequests) : .accepted(push)
        case .deadUnnoticed: return .acceptedInVain
        case .unknown: return .refused(.badDeviceToken)
        case .ofAnotherTopic: return .refused(.deviceTokenNotForTopic)
        case .dead(let death): return .dead(death)
        }
    }

    private func providerTokenFault(_ request: HTTPRequest, topic: String) -> APNsReason? {
        guard let token = bearerToken(request) else { return .missingProviderToken }
        let account = ledger.appleAccount
        guard let verdict = verifier.verdict(on: token, account: account) else { return .invalidProviderToken }
        ledger.saw(providerToken: token)
        let now = ledger.now
        let fault = history.fault(
            of: token, issued: verdict.issued, now: now, behaviour: behaviour,
            isTooSoonElsewhere: { ledger.isTooSoon(providerToken: token, now: now) })
        if let fault { return fault }
        if let fault = binding.fault(of: verdict.key, environment: environment, account: account) { return fault }
        hasAcceptedToken = true
        return binding.allows(topic, key: verdict.key) ? nil : .topicDisallowed
    }

    private func perform(_ verdict: Verdict, for request: HTTPRequest, stream: Int32) -> Reaction {
        let id = request.header("apns-id").flatMap { APNsRequestRules.isCanonicalUUID($0) ? $0 : nil } ?? freshID()
        switch verdict {
        case .accepted(let push):
            deliver(push, request, stream: stream, id: id, isSaid: true)
            return react(status: 200, reason: nil, body: nil, id: id, request, stream)
        case .refused(let reason):
            let body: JSON = ["reason": .string(reason.rawValue)]
            return react(status: reason.status, reason: reason.rawValue, body: body, id: id, request, stream)
        case .acceptedInVain: return react(status: 200, reason: nil, body: nil, id: id, request, stream)
        case .dead(let death):
            let body = death.json
            return react(status: 410, reason: death.reason.rawValue, body: body, id: id, request, stream)
        case .fault(let fault, let push):
            if fault.delivers, let push {
                deliver(push, request, stream: stream, id: id, isSaid: fault.saysSuccess)
            }
            return react(fault, id: id, request, stream)
        }
    }

    private func react(
        status: Int, reason: String?, body: JSON?, id: String, _ request: HTTPRequest, _ stream: Int32
    ) -> Reaction {
        note(request, stream, status: status, reason: reason)
        return Reaction(
            action: .answer(answer(status: status, body: body, id: id)), concurrentStreams: limit(after: status),
            reason: reason)
    }

    /// Success ends with its HEADERS; a refusal has a body of JSON.
    private func answer(status: Int, body: JSON?, id: String, retryAfter: String? = nil) -> SimulatedAnswer {
        var answer = SimulatedAnswer(status: status, headers: [HeaderField("apns-id", id)])
        // Only the development environment gives the id by which Apple's console finds a notification.
        if status == 200, environment == .sandbox { answer.headers.append(HeaderField("apns-unique-id", freshID())) }
        if let retryAfter { answer.headers.append(HeaderField("retry-after", retryAfter)) }
        if let body {
            answer.headers.append(HeaderField("content-type", "application/json"))
            answer.body = body.text
        }
        return answer
    }

    private func react(_ fault: Fault, id: String, _ request: HTTPRequest, _ stream: Int32) -> Reaction {
        let outcome = fault.outcome { status, reason, retryAfter in
            var body: JSON = ["reason": .string(reason)]
            if status == 410 { body = ["reason": .string(reason), "timestamp": JSON(ledger.now)] }
            return answer(status: status, body: body, id: id, retryAfter: retryAfter)
        }
        guard let outcome else { preconditionFailure("a fault that lets the answer be was set aside") }
        note(request, stream, status: outcome.status, reason: outcome.reason)
        var reaction = outcome.reaction
        if let status = outcome.status { reaction.concurrentStreams = limit(after: status) }
        return reaction
    }

    /// One stream until a provider token was accepted; with the switch, one again after any refusal but a 410.
    private func limit(after status: Int) -> UInt32? {
        guard hasAcceptedToken else { return nil }
        if behaviour.dropsToOneAfterRefusal, (400..<500).contains(status), status != 410 { return 1 }
        return behaviour.concurrentStreams
    }

    private func deliver(
        _ push: APNsRequestRules.Passed, _ request: HTTPRequest, stream: Int32, id: String, isSaid: Bool
    ) {
        ledger.deliver(
            DeliveredNotification(
                number: 0, service: service, platform: .ios, token: push.token, connection: connection,
                stream: stream, headers: request.headers.filter { $0.name != "authorization" },
                payload: String(decoding: request.body, as: UTF8.self), id: id,
                replacementKey: push.collapseID, replacesEarlier: false, isDouble: false, instant: ledger.now),
            identity: push.id, isSaid: isSaid)
    }

    private func note(_ request: HTTPRequest, _ stream: Int32, status: Int?, reason: String?) {
        ledger.ended(
            RequestRecord(
                number: 0, service: service, connection: connection, stream: stream, method: request.method,
                target: request.target, headers: request.headers, neverIndexed: request.neverIndexed, status: status,
                reason: reason))
    }

    /// A server-made id, in the upper case in which Apple's were seen.
    private func freshID() -> String {
        let digits = (0..<4).map { _ in
            let part = String(UInt32.random(in: 0 ... .max), radix: 16, uppercase: true)
            return String(repeating: "0", count: 8 - part.count) + part
        }.joined()
        let text = Array(digits)
        return [text[0..<8], text[8..<12], text[12..<16], text[16..<20], text[20..<32]].map { String($0) }
            .joined(separator: "-")
    }
}

/// What follows `bearer `, in either case, in `authorization`; nil without it.
func bearerToken(_ request: HTTPRequest) -> String? {
    guard let value = request.header("authorization"), value.utf8.count > 7,
        value.prefix(7).lowercased() == "bearer "
    else { return nil }
    return String(value.dropFirst(7))
}
