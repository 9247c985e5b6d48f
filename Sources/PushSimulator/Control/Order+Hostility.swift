/// What orders say about connections, in the words of the library's own types.
extension Order {
    // MARK: Faults

    /// The fault of `force`.
    func fault() throws(Complaint) -> Fault {
        let action: Fault.Action
        var filedUnder: String?
        switch self["action"] ?? "refuse" {
        case "refuse":
            action = .refuse(
                status: try status(), reason: self["reason"] ?? "", retryAfter: self["retry_after"])
        case "answer": action = .answer(try answer())
        case "cut":
            action = .cut(
                try answer(), bodyBytes: try number("bytes", 0...65_536) ?? 0,
                code: try number("code", 0...UInt32.max) ?? 2)
        case "silence": action = .silence
        case "disconnect": action = .disconnect
        case "reset": action = .reset(try number("code", 0...UInt32.max) ?? 2)
        case "goaway": action = .goAway(try goAway())
        case "frame": action = .frames([try frame()])
        case "proceed": action = .proceed
        case "fcm":
            guard let kind = try choice("kind", FCMRefusal.self) else { throw Complaint("kind is missing") }
            let details = try choice("details", FCMDetails.self) ?? .usual
            action = .answer(kind.answer(details: details, retryAfter: self["retry_after"]))
            filedUnder = kind.error?.reason
        case "apns":
            let form = try choice("form", APNsRefusalForm.self) ?? .usual
            let reason = self["reason"] ?? ""
            action = form.action(
                status: try status(), reason: reason, timestamp: try number("since", 0...Int64.max) ?? 0)
            filedUnder = reason
        case "oauth":
            guard let kind = try choice("kind", OAuthRefusal.self) else { throw Complaint("kind is missing") }
            action = .answer(kind.answer(retryAfter: self["retry_after"]))
            filedUnder = kind.rawValue
        default:
            throw Complaint(
                "action is none of refuse, answer, cut, silence, disconnect, reset, goaway, frame, proceed, apns, fcm, "
                    + "oauth")
        }
        var fault = Fault(
            action, delivers: try flag("delivers") ?? false, times: try times(),
            delay: try milliseconds("delay_ms") ?? .zero, skips: try number("skips", 0...1_000_000) ?? 0)
        fault.filedUnder = filedUnder
        if self["act"] != nil {
            let act = try self.act()
            if try flag("after") ?? false { fault.after = [act] } else { fault.before = [act] }
        }
        return fault
    }

    private func status() throws(Complaint) -> Int {
        guard let status = try number("status", 200...599) else { throw Complaint("status is missing") }
        return status
    }

    private func answer() throws(Complaint) -> SimulatedAnswer {
        var headers: [HeaderField] = []
        if let type = self["content_type"] { headers.append(HeaderField("content-type", type)) }
        if let length = self["content_length"] { headers.append(HeaderField("content-length", length)) }
        if let wait = self["retry_after"] { headers.append(HeaderField("retry-after", wait)) }
        return SimulatedAnswer(status: try status(), headers: headers, body: self["body"] ?? "")
    }

    /// The GOAWAY that `text`, `code`, `last`, `offset` and `closes` describe.
    func goAway() throws(Complaint) -> GoAway {
        GoAway(
            code: try number("code", 0...UInt32.max) ?? 0, text: self["text"] ?? "",
            lastStreamID: try number("last", 0...Int32.max),
            lastStreamOffset: try number("offset", -100_000...100_000) ?? 0, closes: try flag("closes") ?? false)
    }

    /// The frame that `type`, `flags`, `stream` and `payload` describe.
    private func frame() throws(Complaint) -> WireFrame {
        guard let type = try number("type", 0...UInt8.max) else { throw Complaint("type is missing") }
        let number = try number("stream", 0...UInt32.max)
        return WireFrame(
            type: type, flags: try self.number("flags", 0...UInt8.max) ?? 0,
            stream: number.map { $0 == 0 ? .connection : .number($0) } ?? .request,
            payload: try bytes("payload") ?? [], claimedLength: try self.number("length", 0...0xFF_FFFF))
    }

    // MARK: Acts

    /// What `act` and its arguments describe.
    func act() throws(Complaint) -> ConnectionAct {
        guard let name = self["act"] else { throw Complaint("act is missing") }
        if let silence = Silence(rawValue: name) { return .fallSilent(silence) }
        switch name {
        case "goaway": return .goAway(try goAway())
        case "frame": return .frames([try frame()])
        case "bytes": return .bytes(try bytes("payload") ?? [])
        case "flood":
            guard let kind = try choice("flood", Flood.Kind.self) else { throw Complaint("flood is missing") }
            return .flood(Flood(kind, count: try number("count", 0...Flood.largestCount) ?? 1000))
        case "settings":
            guard let id = try number("id", 0...UInt16.max), let value = try number("value", 0...UInt32.max) else {
                throw Complaint("id or value is missing")
            }
            return .settings([ConnectionSetting(id: id, value: value)])
        case "disconnect": return .disconnect
        case "close-notify": return .closeNotify
        case "tcp-reset": return .resetTCP
        default:
            throw Complaint(
                "act is none of goaway, frame, bytes, flood, settings, pings-only, half-dead, unread, disconnect, "
                    + "close-notify, tcp-reset")
        }
    }

    /// The moment of a plan: `opened`, `request:N`, `every:N`, `answer:N`, `ping:N`, `idle:MS` or `refusal:REASON:N`; nil
    /// when it is missing.
    func moment() throws(Complaint) -> PlannedAct.Moment? {
        guard let text = self["when"] else { return nil }
        let parts = text.split(separator: ":")
        let count = parts.last.flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
        switch (parts.first, parts.count, count) {
        case ("opened", 1, _): return .opened
        case ("request", 2, let count?): return .request(count)
        case ("every", 2, let count?): return .everyRequest(count)
        case ("answer", 2, let count?): return .answer(count)
        case ("ping", 2, let count?): return .ping(count)
        case ("idle", 2, let count?): return .idle(.milliseconds(count))
        case ("refusal", 3, let count?): return .refusal(String(parts[1]), count)
        default:
            throw Complaint("when is none of opened, request:N, every:N, answer:N, ping:N, idle:MS, refusal:REASON:N")
        }
    }

    /// Changes what the arguments name and leaves the rest.
    func change(_ behaviour: inout ConnectionBehaviour) throws(Complaint) {
        func set<Value>(_ path: WritableKeyPath<ConnectionBehaviour, Value>, _ value: Value?) {
            if let value { behaviour[keyPath: path] = value }
        }
        set(\.firstConcurrentStreams, try number("first_streams", 0...UInt32.max))
        set(\.concurrentStreams, try number("streams", 0...UInt32.max))
        set(\.streamWindow, try number("stream_window", 0...0x7FFF_FFFF))
        set(\.connectionWindow, try number("connection_window", 65_535...0x7FFF_FFFF))
        set(\.dropsToOneAfterRefusal, try flag("drops_to_one"))
        set(\.wedgesAfterExpiredToken, try flag("wedges"))
        set(\.callsFutureTokensTooMany, try flag("future_too_many"))
        set(\.tokenChanges, try choice("token_changes"))
        set(\.overLimit, try choice("over_limit"))
        set(\.windowUpdates, try choice("window_updates"))
        set(\.answersPings, try flag("pings"))
        set(\.acknowledgesSettings, try flag("settings_ack"))
        set(\.tls, try choice("tls"))
        switch self["settings"] {
        case nil: break
        case "at-once": behaviour.firstSettings = .atOnce
        case "never": behaviour.firstSettings = .never
        default: set(\.firstSettings, try milliseconds("settings").map { .after($0) })
        }
        if self["action"] != nil { behaviour.faults.append(try fault()) }
        if let moment = try moment() { behaviour.plan.append(PlannedAct(at: moment, [try act()])) }
    }

    // MARK: New connections

    /// What `how` describes.
    func reception() throws(Complaint) -> Reception {
        switch self["how"] {
        case "usual": return .usual
        case "reset": return .reset
        case "close": return .close
        case "stall": return .stall
        case "delay": return .delay(try milliseconds() ?? .seconds(1))
        case "noise": return .noise(self["text"] ?? "HTTP/1.1 400 Bad Request\r\n\r\n")
        default: throw Complaint("how is none of usual, reset, close, stall, delay, noise")
        }
    }

    /// What `answer` describes; nil is the usual.
    func proxyAnswer() throws(Complaint) -> ProxyAnswer? {
        switch self["answer"] {
        case "usual": return nil
        case "connect":
            return .connects(status: try number("status", 200...299) ?? 200, reason: self["reason"] ?? "")
        case "huge": return .connectsWithHeaders(bytes: try number("bytes", 0...16_777_216) ?? 1_000_000)
        case "slow": return .connectsSlowly(pause: try milliseconds() ?? .milliseconds(100))
        case "refuse": return .refuses(status: try status(), reason: self["reason"] ?? "", body: self["body"] ?? "")
        case "say": return .says(self["text"] ?? "")
        case "hang": return .hangs
        case "close": return .closes
        case "reset": return .resets
        default: throw Complaint("answer is none of usual, connect, huge, slow, refuse, say, hang, close, reset")
        }
    }
}
