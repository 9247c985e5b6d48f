/// Something that a connection does to its client by itself, beside its answers.
package enum ConnectionAct: Sendable, Equatable {
    /// A GOAWAY written past the session, so that its last stream may be a lie. Nothing above that stream is answered
    /// from then on, and neither is anything that is opened later; the TCP connection stays open unless the GOAWAY
    /// itself closes it.
    case goAway(GoAway)
    /// These frames, one after the other.
    case frames([WireFrame])
    /// These bytes inside TLS, which need not be HTTP/2 at all.
    case bytes([UInt8])
    /// Very many frames of a kind.
    case flood(Flood)
    /// A SETTINGS frame that the session keeps to.
    case settings([ConnectionSetting])
    /// No answers any more.
    case fallSilent(Silence)
    /// FIN without TLS's `close_notify`, after what is queued.
    case disconnect
    /// `close_notify` and FIN, after what is queued.
    case closeNotify
    /// RST of TCP, at once.
    case resetTCP
}

/// How far a connection is gone that says nothing any more.
package enum Silence: String, Sendable, Equatable, CaseIterable {
    /// PINGs and SETTINGS are confirmed and windows opened, and no request is answered.
    case pingsOnly = "pings-only"
    /// Bytes are taken, and nothing is ever sent: no answer, no PING's ACK.
    case halfDead = "half-dead"
    /// Nothing is read, so that the client's bytes pile up in TCP, and nothing is sent.
    case unread
}

/// Very many frames of one kind. Never more than ``largestCount`` frames and some 16 MB.
package struct Flood: Sendable, Equatable {
    /// What is sent so often.
    package enum Kind: String, Sendable, CaseIterable {
        /// PINGs that ask for an answer each.
        case ping
        /// SETTINGS that ask for a confirmation each.
        case settings
        /// HEADERS that never end, by CONTINUATIONs of nothing (CVE-2024-28182 and its like).
        case continuation
        /// HEADERS and CONTINUATIONs of real fields, one kilobyte each: a header list without bounds.
        case headers
        /// RST_STREAM of the request's stream.
        case reset
        /// DATA of no bytes.
        case emptyData = "empty-data"
        /// PRIORITY, which RFC 9113 tells everybody to ignore.
        case priority
        /// WINDOW_UPDATE of one byte, on the connection.
        case windowUpdate = "window-update"
        /// Frames of a type that nobody knows, which are to be ignored (RFC 9113 section 5.5).
        case unknown
        /// 103s before the answer.
        case earlyHints = "early-hints"
    }

    /// What is sent.
    package var kind: Kind
    /// How often.
    package var count: Int

    /// The most that a flood sends.
    package static let largestCount = 16_384

    package init(_ kind: Kind, count: Int) {
        self.kind = kind
        self.count = count
    }

    /// The frames, fewer than were asked for where that is too many.
    var frames: [WireFrame] {
        let count = min(max(count, 0), Self.largestCount)
        let kilobyte = HeaderField("x-flood", String(repeating: "f", count: 1000))
        switch kind {
        case .ping: return (0..<count).map { .ping(UInt64($0)) }
        case .settings: return Array(repeating: .settings([.maxFrameSize(16_384)]), count: count)
        case .continuation:
            let first = WireFrame.headers([HeaderField(":status", "200")], endsHeaders: false)
            return [first] + Array(repeating: .continuation([]), count: count)
        case .headers:
            let first = WireFrame.headers([HeaderField(":status", "200")], endsHeaders: count == 0)
            return [first] + (0..<count).map { .continuation([kilobyte], endsHeaders: $0 == count - 1) }
        case .reset: return Array(repeating: .reset(8), count: count)
        case .emptyData: return [.status(200)] + Array(repeating: .data(""), count: count)
        case .priority:
            let priority = WireFrame(type: 2, stream: .request, payload: [0, 0, 0, 0, 15])
            return Array(repeating: priority, count: count)
        case .windowUpdate: return Array(repeating: .windowUpdate(1), count: count)
        case .unknown:
            let unknown = WireFrame(type: 0xFA, stream: .connection, payload: [1, 2, 3])
            return Array(repeating: unknown, count: count)
        case .earlyHints: return Array(repeating: .status(103), count: count)
        }
    }
}

/// Acts, and when a connection performs them.
package struct PlannedAct: Sendable, Equatable {
    /// The moment in the life of a connection.
    package enum Moment: Sendable, Equatable {
        /// With the first SETTINGS.
        case opened
        /// When the n-th whole request is there (counted from 1), before it is answered.
        case request(Int)
        /// Likewise with each n-th.
        case everyRequest(Int)
        /// When the n-th PING of the client comes (counted from 1), as Google counts them: `too_many_pings`.
        case ping(Int)
        /// When no request was under way for so long, as Google does: `session_timed_out`.
        case idle(Duration)
        /// After the n-th answer (counted from 1).
        case answer(Int)
        /// After the n-th refusal with this reason, as after too many BadDeviceTokens.
        case refusal(String, Int)
    }

    /// The moment.
    package var moment: Moment
    /// What is done then, in this order.
    package var acts: [ConnectionAct]

    package init(at moment: Moment, _ acts: [ConnectionAct]) {
        self.moment = moment
        self.acts = acts
    }
}
