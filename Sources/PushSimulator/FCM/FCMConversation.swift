/// One connection to a simulated FCM. Loop thread.
final class FCMConversation: Conversation {
    let settings: ConnectionSettings
    let behaviour: ConnectionBehaviour
    let overLimitText = "exceeded_max_concurrent_streams"

    private let ledger: Ledger
    private let connection: Int
    private var faults: FaultQueue
    /// Faults of the request at hand that only add to its answer.
    private var proceeding: [Fault] = []

    /// Notes the connection in the ledger, which also says how it is to behave.
    init(ledger: Ledger) {
        self.ledger = ledger
        let (number, asked) = ledger.opened(.fcm)
        connection = number
        behaviour = asked
        settings = asked.settings(maxHeaderListSize: 65_536)
        faults = FaultQueue(asked.faults)
    }

    func wentOverLimit() { ledger.wentOverLimit(.fcm) }
    func saw(openStreams: Int) { ledger.sawStreams(openStreams, on: .fcm) }
    func saw(frame: String) { ledger.saw(frame: frame, on: .fcm) }
    func leftUnanswered() { ledger.leftUnanswered(.fcm) }
    func ended() { ledger.closed(.fcm) }

    func react(to request: HTTPRequest, stream: Int32) -> Reaction {
        let (serviceFault, latency) = ledger.began(.fcm)
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

    private enum Verdict {
        case accepted(FCMMessageRules.Passed)
        /// Accepted, though the phone is gone and FCM does not know it yet.
        case acceptedInVain
        case refused(GoogleError)
        /// A quota is used up.
        case quota(FCMRefusal)
        /// A page for people: nothing of FCM's answers at this address.
        case notFound
        /// With the message, when it was right and only then met the fault.
        case fault(Fault, FCMMessageRules.Passed?)
    }

    private func judge(_ request: HTTPRequest) -> Verdict {
        let parts = request.path.split(separator: "/", omittingEmptySubsequences: false)
        guard request.method == "POST", parts.count == 5, parts[0].isEmpty, parts[1] == "v1", parts[2] == "projects",
            parts[4] == "messages:send"
        else { return .notFound }
        if let refusal = checkAccessToken(request) { return .refused(refusal) }
        let configuration = ledger.configuration
        guard parts[3] == configuration.projectID || parts[3] == configuration.projectNumber else {
            return .refused(.permissionDenied(project: parts[3]))
        }
        if ledger.exceedsProjectRate() { return .quota(.projectQuota) }
        let mediaType = request.header("content-type")?.prefix { $0 != ";" }.lowercased()
        guard mediaType == "application/json" else {
            let text = "Invalid JSON payload received. Unexpected content type."
            return .refused(.badRequest([FieldViolation(field: "", description: text)]))
        }
        switch FCMMessageRules.check(request.body) {
        case .failure(let refusal): return .refused(refusal)
        case .success(let push): return meet(push)
        }
    }

    private func checkAccessToken(_ request: HTTPRequest) -> GoogleError? {
        guard let token = bearerToken(request) else { return .unauthenticated("CREDENTIALS_MISSING") }
        guard let expiry = ledger.expiry(ofAccessToken: token) else {
            return .unauthenticated("ACCESS_TOKEN_TYPE_UNSUPPORTED")
        }
        return ledger.now < expiry ? nil : .unauthenticated("ACCESS_TOKEN_EXPIRED")
    }

    private func meet(_ push: FCMMessageRules.Passed) -> Verdict {
        let (fault, standing) = ledger.attempt(
            PhoneAddress(push.token, .android), topic: ledger.configuration.projectID)
        if let fault, !sets(aside: fault) { return .fault(fault, push) }
        switch standing {
        case .live: return ledger.exceedsRate(.fcm, key: push.token) ? .quota(.deviceQuota) : .accepted(push)
        case .deadUnnoticed: return .acceptedInVain
        case .dead: return .refused(.unregistered)
        case .unknown:
            return .refused(
                .invalidArgument(
                    "The registration token is not a valid FCM registration token", field: "message.token"))
        case .ofAnotherTopic:
            return .refused(
                GoogleError(
                    code: 403, message: "SenderId mismatch", status: "PERMISSION_DENIED",
                    errorCode: "SENDER_ID_MISMATCH"))
        }
    }

    private func perform(_ verdict: Verdict, for request: HTTPRequest, stream: Int32) -> Reaction {
        switch verdict {
        case .accepted(let push):
            let name = deliver(push, request, stream: stream, isSaid: true)
            note(request, stream, status: 200, reason: nil)
            return success(name)
        case .acceptedInVain:
            note(request, stream, status: 200, reason: nil)
            return success(freshName())
        case .quota(let refusal):
            note(request, stream, status: refusal.status, reason: "QUOTA_EXCEEDED")
            return Reaction(
                action: .answer(refusal.answer(retryAfter: ledger.quotaRetryAfter)), reason: "QUOTA_EXCEEDED")
        case .refused(let error):
            note(request, stream, status: error.code, reason: error.reason)
            return Reaction(
                action: .answer(answer(status: error.code, body: error.json.text, retryAfter: nil)),
                reason: error.reason)
        case .notFound:
            note(request, stream, status: 404, reason: nil)
            return Reaction(action: .answer(GooglePage.answer(status: 404)))
        case .fault(let fault, let push):
            if fault.delivers, let push {
                _ = deliver(push, request, stream: stream, isSaid: fault.saysSuccess)
            }
            let outcome = fault.outcome { status, reason, retryAfter in
                let error = GoogleError(
                    code: status, message: "Simulated.", status: GoogleError.status(of: status), errorCode: reason)
                return answer(status: status, body: error.json.text, retryAfter: retryAfter)
            }
            guard let outcome else { preconditionFailure("a fault that lets the answer be was set aside") }
            note(request, stream, status: outcome.status, reason: outcome.reason)
            return outcome.reaction
        }
    }

    private func success(_ name: String) -> Reaction {
        let body: JSON = ["name": .string(name)]
        return Reaction(action: .answer(answer(status: 200, body: body.text, retryAfter: nil)))
    }

    private func freshName() -> String {
        "projects/\(ledger.configuration.projectID)/messages/0:\(ledger.now)000%"
            + String(UInt64.random(in: 0 ... .max), radix: 16)
    }

    private func answer(status: Int, body: String, retryAfter: String?) -> SimulatedAnswer {
        var headers = [
            HeaderField("content-type", "application/json; charset=UTF-8"), DateHeader.field(milliseconds: ledger.now),
        ]
        if let retryAfter { headers.append(HeaderField("retry-after", retryAfter)) }
        return SimulatedAnswer(status: status, headers: headers, body: body)
    }

    /// Puts the message on the phone, unless it was to be judged only; gives the name it gets.
    private func deliver(
        _ push: FCMMessageRules.Passed, _ request: HTTPRequest, stream: Int32, isSaid: Bool
    ) -> String {
        guard !push.validateOnly else { return "projects/\(ledger.configuration.projectID)/messages/fake_message_id" }
        let now = ledger.now
        let name = freshName()
        ledger.deliver(
            DeliveredNotification(
                number: 0, service: .fcm, platform: .android, token: push.token, connection: connection,
                stream: stream, headers: request.headers.filter { $0.name != "authorization" },
                payload: push.message.text, id: name, replacementKey: push.tag, replacesEarlier: false,
                isDouble: false, instant: now),
            // A data-only message has no tag; its preview is sealed with a nonce that no other push has.
            identity: push.tag ?? push.message["data"]?["p"]?.string, isSaid: isSaid)
        return name
    }

    private func note(_ request: HTTPRequest, _ stream: Int32, status: Int?, reason: String?) {
        ledger.ended(
            RequestRecord(
                number: 0, service: .fcm, connection: connection, stream: stream, method: request.method,
                target: request.target, headers: request.headers, neverIndexed: request.neverIndexed, status: status,
                reason: reason))
    }
}
