/// What a connection knows about itself: where it stands, how many streams it may open, what it waits for and until
/// when. A value without I/O; ``HTTP2Connection`` performs what it says.
struct HTTP2ConnectionState {
    /// Where a connection stands. Every phase but ``open`` has a deadline.
    enum Phase: Equatable {
        /// Asks the name servers. Leaves for `racing`, or ends.
        case resolving
        /// Tries the addresses. Leaves for `tunnelling` where there is a proxy, for `handshaking`, or ends.
        case racing
        /// Has asked the proxy for a tunnel. Leaves for `handshaking`, or ends.
        case tunnelling
        /// TLS. Leaves for `open`, or ends.
        case handshaking
        /// Takes requests. Leaves for `draining`, or ends.
        case open
        /// Takes no more requests; those in flight go on. Ends with the last of them.
        case draining(HTTP2Retirement)
    }

    /// What is due.
    enum Duty: Equatable {
        /// The attempt to connect has taken too long.
        case giveUp(Unreachable)
        /// Send a PING.
        case ping
        /// Take no more requests.
        case retire(HTTP2Retirement)
        /// Have another connection opened; this one goes on until that one stands.
        case askForReplacement
        /// Close now.
        case end(HTTP2ConnectionEnd)
    }

    private(set) var phase = Phase.resolving
    /// Streams open now, those included whose reset has not left yet.
    private(set) var inFlight = 0
    /// Whether any answer has come by this connection.
    private(set) var hasAnswered = false
    /// Whether the peer has sent its SETTINGS, which is to say that it speaks HTTP/2.
    private(set) var hasSettings = false
    /// Whether another connection should take over.
    private(set) var wantsReplacement = false
    /// The highest stream that the peer promised to answer; nil before it said goodbye.
    private(set) var goAwayLastStream: Int32?

    /// When the first of the requests went out since which no byte of any answer has come; nil where there is none.
    private(set) var silentSince: Moment?

    private let configuration: HTTP2PoolConfiguration
    private let hasProxy: Bool
    private var streamLimit: Int
    private var streamsEver = 0
    private var unsentBody = 0
    private var timeoutsInARow = 0
    private var timeoutsEver = 0
    private var lastAnswer = Moment(nanoseconds: .min)
    private var phaseDeadline: Moment
    private var settingsDeadline: Moment?
    private var pingDeadline: Moment?
    private var replaceAt = Moment(nanoseconds: .max)
    private var openedAt = Moment(nanoseconds: .min)
    private var lastRead: Moment
    private var firstUse: Moment?
    private var lastUse: Moment
    private var lastPing: Moment

    /// A connection that begins with the name servers. `hasProxy`: what is connected to first is a proxy.
    init(_ configuration: HTTP2PoolConfiguration, hasProxy: Bool = false, now: Moment) {
        self.configuration = configuration
        self.hasProxy = hasProxy
        streamLimit = configuration.initialStreamLimit
        phaseDeadline = now + configuration.resolveTimeout
        lastRead = now
        lastUse = now
        lastPing = now
    }

    /// Whether it takes requests, now or when a stream comes free.
    var isUsable: Bool { phase == .open }

    /// Whether it stands and takes no more requests, for another reason than that the peer has broken the protocol.
    var isLeaving: Bool {
        if case .draining(let reason) = phase { reason != .broken } else { false }
    }

    /// Whether it is on its way to taking requests.
    var isConnecting: Bool { waitsFor != nil }

    /// What is late if it is not there in time: nil for a connection that stands.
    var waitsFor: Unreachable? {
        switch phase {
        case .resolving: hasProxy ? .proxyUnreachable(.nameTimeout) : .nameTimeout
        case .racing: hasProxy ? .proxyUnreachable(.connectTimeout) : .connectTimeout
        case .tunnelling: .proxyTimeout
        case .handshaking: .tlsTimeout
        case .open, .draining: nil
        }
    }

    /// Streams that may be open at once: the peer's word within our own bound.
    var limit: Int { min(streamLimit, configuration.maximumStreamsPerConnection) }

    /// How many more requests may go out now. None while a PING is unanswered: whatever followed it into a dead
    /// connection would have to be given up with an unknown outcome, where waiting costs a round trip.
    var room: Int { phase == .open && pingDeadline == nil ? max(0, limit - inFlight) : 0 }

    /// Whether a request with so large a body may go out now, where the peer's window for the whole connection is as
    /// large as `window`. A request whose body would have to wait behind others occupies a stream, and may have been
    /// seen when the connection is lost; so it is held back while it has done neither. One goes out in any case when
    /// nothing else is in flight: it may be larger than any window, and a peer that opens none is found out by it.
    func takes(body: Int, window: Int) -> Bool {
        room > 0 && (body == 0 || inFlight == 0 || body <= window - unsentBody)
    }

    /// Whether it could carry requests for all we know, and the peer allows it none.
    var allowsNothing: Bool { phase == .open && limit == 0 && inFlight == 0 }

    /// When it will have been silent for too long, unless an answer comes; nil where one has come since the last request.
    var silenceDue: Moment? { phase == .open ? silentSince.map { $0 + configuration.silentAfter } : nil }

    /// Whether requests went out by it long ago and nothing has been answered since, be it that PINGs are. It is told at
    /// the time of asking, and costs no timer. That these were given up meanwhile changes nothing; only an answer does.
    func isSilent(at now: Moment) -> Bool { silenceDue.map { $0 <= now } ?? false }

    /// How long ago its first request went out; nil where none has, and where it takes no more.
    func timeInUse(at now: Moment) -> Duration? { isUsable ? firstUse.map { now.duration(since: $0) } : nil }

    // MARK: On the way

    /// The name servers have answered.
    mutating func resolved(now: Moment) {
        phase = .racing
        phaseDeadline = now + configuration.connectTimeout
    }

    /// TCP stands to the proxy, which is asked for a tunnel.
    mutating func tunnelling(now: Moment) {
        phase = .tunnelling
        phaseDeadline = now + configuration.tunnelTimeout
    }

    /// TCP stands, through the tunnel where there is a proxy.
    mutating func connected(now: Moment) {
        phase = .handshaking
        phaseDeadline = now + configuration.tlsTimeout
    }

    /// TLS stands, requests may go. `lot`, from 0 to 1, makes it a little younger than the greatest age, so that
    /// connections that were opened together are not replaced together.
    mutating func opened(now: Moment, lot: Double) {
        phase = .open
        openedAt = now
        settingsDeadline = now + configuration.settingsTimeout
        replaceAt = now + Int64(Double(configuration.maximumAge.wholeNanoseconds) * (1 - 0.1 * lot))
        lastRead = now
        lastUse = now
        lastPing = now
    }

    // MARK: Requests

    /// Notes a request that goes out now, with so large a body; true when a PING should go with it.
    mutating func sent(body: Int = 0, now: Moment) -> Bool {
        precondition(room > 0, "a request without a free stream")
        inFlight += 1
        unsentBody += body
        streamsEver += 1
        if firstUse == nil { firstUse = now }
        lastUse = now
        if silentSince == nil { silentSince = now }
        return settingsDeadline == nil && now >= lastRead + configuration.atRiskPingAfter
    }

    /// Notes that a part of some answer has come, or that the peer has ended a stream.
    mutating func heard() { silentSince = nil }

    /// Notes that so much of a body has left, or never will.
    mutating func bodyLeft(_ count: Int) {
        unsentBody -= count
    }

    /// Notes that a stream is closed; `answered` when a status came by it.
    mutating func streamClosed(answered: Bool, now: Moment) {
        inFlight -= 1
        lastUse = now
        if answered {
            hasAnswered = true
            lastAnswer = now
            timeoutsInARow = 0
        }
    }

    /// Notes that a request was given up that had gone out at `submitted`, or had waited since then for a stream that
    /// the peer did not allow. True when the connection should take no more.
    ///
    /// One unanswered request is the peer's fault with that request (pushy met them at Apple), and so are several while
    /// others are answered meanwhile; a second one with no answer to any since the first went out is the connection's.
    /// A connection that loses one now and then is replaced all the same once these have become many.
    mutating func timedOut(submitted: Moment, now: Moment) -> Bool {
        guard now >= max(submitted, openedAt) + configuration.timeoutCountsAfter else { return false }
        timeoutsEver += 1
        // What was answered in the moment in which this went out was answered before.
        if lastAnswer <= submitted { timeoutsInARow += 1 }
        return phase == .open && (timeoutsInARow >= 2 || timeoutsEver >= configuration.maximumTimeouts)
    }

    // MARK: The peer

    /// Bytes have come: it lives.
    mutating func read(now: Moment) {
        lastRead = now
        pingDeadline = nil
    }

    /// The peer's SETTINGS; nil where they leave the number of streams as it is. "No limit" comes as the largest
    /// number there is.
    mutating func settings(streamLimit: UInt32?) {
        settingsDeadline = nil
        hasSettings = true
        if let streamLimit { self.streamLimit = Int(streamLimit) }
    }

    /// The peer said goodbye. A second time it may lower the last stream and never raise it (RFC 9113, section 6.8).
    mutating func goAway(lastStream: Int32, now: Moment) {
        goAwayLastStream = min(lastStream, goAwayLastStream ?? .max)
        retire(.goAway, now: now)
    }

    /// Takes no more requests from now on. The first reason stays.
    mutating func retire(_ reason: HTTP2Retirement, now: Moment) {
        guard phase == .open else { return }
        phase = .draining(reason)
        wantsReplacement = false
        phaseDeadline = now + configuration.drainTimeout
    }

    /// Another one should take over, whatever its age.
    mutating func askForReplacement() {
        if phase == .open { wantsReplacement = true }
    }

    /// It has been idle long enough to go, and is kept all the same.
    mutating func keepThoughIdle(now: Moment) {
        lastUse = now
    }

    /// A PING goes out.
    mutating func pinged(now: Moment) {
        lastPing = now
        if pingDeadline == nil { pingDeadline = now + configuration.pingTimeout }
    }

    // MARK: Time

    /// When to ask ``due(now:)`` next.
    var nextDeadline: Moment {
        switch phase {
        case .resolving, .racing, .tunnelling, .handshaking: return phaseDeadline
        case .draining: return min(phaseDeadline, pingDeadline ?? phaseDeadline)
        case .open:
            var next = wantsReplacement ? Moment(nanoseconds: .max) : replaceAt
            if let settingsDeadline { next = min(next, settingsDeadline) }
            if let pingDeadline { next = min(next, pingDeadline) }
            if let idle = configuration.idleTimeout, inFlight == 0 { next = min(next, lastUse + idle) }
            if let idlePingAt { next = min(next, idlePingAt) }
            return next
        }
    }

    /// What is to be done now; nil when nothing is. After a ``Duty/ping`` or a ``Duty/askForReplacement`` ask again.
    mutating func due(now: Moment) -> Duty? {
        switch phase {
        case .resolving, .racing, .tunnelling, .handshaking:
            guard let waitsFor, now >= phaseDeadline else { return nil }
            return .giveUp(waitsFor)
        case .draining:
            // With nothing in flight it ends at the turn's end, once its goodbye has left; here only if that would not.
            if let pingDeadline, now >= pingDeadline { return .end(.dead) }
            return now >= phaseDeadline ? .end(inFlight == 0 ? .finished : .drainExpired) : nil
        case .open:
            if let settingsDeadline, now >= settingsDeadline { return .end(.dead) }
            if let pingDeadline, now >= pingDeadline { return .end(.dead) }
            if let idle = configuration.idleTimeout, inFlight == 0, now >= lastUse + idle { return .retire(.idle) }
            if !wantsReplacement, now >= replaceAt || streamsEver >= configuration.maximumStreamsEver {
                wantsReplacement = true
                return .askForReplacement
            }
            if let idlePingAt, now >= idlePingAt { return .ping }
            return nil
        }
    }

    private var idlePingAt: Moment? {
        guard let after = configuration.idlePingAfter, inFlight == 0, pingDeadline == nil else { return nil }
        return max(lastUse, lastPing) + after
    }

    /// Whether the number of streams alone asks for a replacement, which no deadline tells.
    var isSpent: Bool { !wantsReplacement && streamsEver >= configuration.maximumStreamsEver }
}

extension HTTP2ConnectionState {
    /// What the end of a connection that took requests says about the peer: nil when it answered something before,
    /// or when the end was our own wish. Otherwise the next attempt may fare no better.
    func fault(_ end: HTTP2ConnectionEnd) -> Unreachable? {
        guard !hasAnswered, !isConnecting else { return nil }
        switch phase {
        case .draining(.replaced), .draining(.askedByCaller), .draining(.idle), .draining(.quiesced): return nil
        case .resolving, .racing, .tunnelling, .handshaking, .open, .draining(.goAway), .draining(.unresponsive),
            .draining(.broken):
            break
        }
        switch end {
        case .closing: return nil
        case .protocolViolation where !hasSettings: return .notHTTP2
        case .dead where !hasSettings: return .settingsTimeout
        case .finished, .lost, .dead, .protocolViolation, .drainExpired: return .noAnswer
        }
    }
}
