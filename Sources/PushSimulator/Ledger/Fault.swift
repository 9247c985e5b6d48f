/// What a service is told to do in place of its ordinary answer.
package struct Fault: Sendable, Equatable {
    /// What becomes of the request.
    package enum Action: Sendable, Equatable {
        /// A refusal in the service's own shape: APNs's `{"reason":…}`, FCM's error object with this `errorCode`, or
        /// OAuth's `{"error":…}`. `retryAfter` is the text of a `retry-after` field.
        case refuse(status: Int, reason: String, retryAfter: String? = nil)
        /// Exactly this answer.
        case answer(SimulatedAnswer)
        /// No answer, ever; the stream stays open.
        case silence
        /// RST_STREAM with this HTTP/2 error code.
        case reset(UInt32)
        /// GOAWAY; by its `lastStreamID` it may leave out the request that met the fault.
        case goAway(GoAway)
        /// The connection is closed without a word.
        case disconnect
        /// These frames, on the request's stream or any other; the request counts as answered once one of them ends it.
        case frames([WireFrame])
        /// HEADERS, so many bytes of the body, and then RST_STREAM with this code.
        case cut(SimulatedAnswer, bodyBytes: Int, code: UInt32)
        /// What the service does anyhow: for ``before`` and ``after``.
        case proceed
    }

    /// What is done in place of the answer.
    package var action: Action
    /// Whether the phone gets the notification all the same: the answer that was lost, the 503 that was none. Only for
    /// the faults of a token; those of a service come before the notification is looked at.
    package var delivers: Bool
    /// How many requests meet the fault; nil is every one until it is taken back.
    package var times: Int?
    /// How long the action waits, on top of the service's latency.
    package var delay: Duration
    /// How many requests pass by before the first one meets the fault.
    package var skips: Int
    /// What the books and plans know an ``Action/answer(_:)`` by; nil is nothing.
    package var filedUnder: String?
    /// Done on the connection at once, before the action and its delay.
    package var before: [ConnectionAct]
    /// Done on the connection right after the action.
    package var after: [ConnectionAct]

    package init(
        _ action: Action, delivers: Bool = false, times: Int? = nil, delay: Duration = .zero, skips: Int = 0,
        before: [ConnectionAct] = [], after: [ConnectionAct] = []
    ) {
        self.action = action
        self.delivers = delivers
        self.times = times
        self.delay = delay
        self.skips = skips
        self.before = before
        self.after = after
    }

    /// The frames of an answer that breaks off.
    private static func frames(of answer: SimulatedAnswer, bodyBytes: Int, code: UInt32) -> [WireFrame] {
        let fields = [HeaderField(":status", String(answer.status))] + answer.headers
        let body = String(decoding: Array(answer.body.utf8).prefix(max(bodyBytes, 0)), as: UTF8.self)
        return [.headers(fields)] + (body.isEmpty ? [] : [.data(body)]) + [.reset(code)]
    }
}

extension Fault {
    /// What the service does, and what the books say of it. `refuse` gives a refusal (status, reason, `retry-after`)
    /// the service's own shape. Nil is the ordinary answer, which ``dress(_:)`` is still owed.
    func outcome(
        refuse: (Int, String, String?) -> SimulatedAnswer
    ) -> (reaction: Reaction, status: Int?, reason: String?)? {
        var status: Int?
        var reason: String?
        let made: Reaction.Action
        switch action {
        case .refuse(let code, let word, let retryAfter):
            (status, reason) = (code, word)
            made = .answer(refuse(code, word, retryAfter))
        case .answer(let answer):
            (status, reason) = (answer.status, filedUnder)
            made = .answer(answer)
        case .silence: made = .silence
        case .reset(let code): made = .reset(code)
        case .goAway(let goAway): made = .goAway(goAway)
        case .disconnect: made = .disconnect
        case .frames(let frames): made = .frames(frames)
        case .cut(let answer, let count, let code):
            made = .frames(Self.frames(of: answer, bodyBytes: count, code: code))
        case .proceed: return nil
        }
        var reaction = Reaction(action: made, reason: reason)
        dress(&reaction)
        return (reaction, status, reason)
    }

    /// Whether the client is told that the push was accepted.
    var saysSuccess: Bool {
        switch action {
        case .refuse(let status, _, _): (200..<300).contains(status)
        case .answer(let answer): (200..<300).contains(answer.status)
        case .proceed: true
        case .silence, .reset, .goAway, .disconnect, .frames, .cut: false
        }
    }

    /// Adds the fault's delay and acts to what is done about the request.
    func dress(_ reaction: inout Reaction) {
        reaction.delay += delay
        reaction.before = before + reaction.before
        reaction.after += after
    }
}

/// Faults that wait for their requests. Pure.
struct FaultQueue: Sendable {
    private var faults: [Fault] = []

    /// Makes a queue of these.
    init(_ faults: [Fault] = []) { self.faults = faults }

    /// Adds one after those that wait.
    mutating func add(_ fault: Fault) { faults.append(fault) }

    /// Drops all.
    mutating func clear() { faults.removeAll() }

    /// The fault that the next request meets, counted down; nil when none waits.
    mutating func next() -> Fault? {
        guard let first = faults.first else { return nil }
        if first.skips > 0 {
            faults[0].skips -= 1
            return nil
        }
        if let times = first.times {
            if times <= 1 { faults.removeFirst() } else { faults[0].times = times - 1 }
        }
        return first
    }
}
