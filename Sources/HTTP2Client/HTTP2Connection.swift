import EventLoops
import Glibc

/// One connection to the origin, from the name servers to the last byte: performs what ``HTTP2ConnectionState`` says.
///
/// Loop thread throughout. Its engine keeps it for as long as it is not gone, and it keeps its engine. It ends exactly
/// once, by ``end(_:)`` or ``giveUp(_:)``, and from then on holds neither socket nor session; both are never called from
/// within nghttp2.
final class HTTP2Connection: TurnEnd {
    let id: HTTP2ConnectionID

    private(set) var state: HTTP2ConnectionState
    private let configuration: HTTP2PoolConfiguration
    private let engine: PoolEngine
    private var dialer: TLSDialer?
    private var channel: TLSChannel?
    private var watcher: DescriptorWatcher?
    private var session: HTTP2Session?
    private var outgoing: OutgoingBuffer?
    private var timer: LoopTimer?
    private var armedFor = Moment(nanoseconds: .max)
    private var isTurnEndAsked = false
    private var hasMoreToRead = false
    private(set) var isGone = false
    /// The origin's address that it goes to; nil before TCP stands, and where a proxy chooses it.
    private(set) var address: SocketAddress?
    /// Streams up to this one may have left; those above have not.
    private var lastGathered: Int32 = 0
    private var lastSubmitted: Int32 = 0

    /// Reads in one go from one peer before others have their turn.
    private static let readsAtOnce = 8

    init(id: HTTP2ConnectionID, engine: PoolEngine) {
        self.id = id
        self.engine = engine
        configuration = engine.configuration
        state = HTTP2ConnectionState(configuration, hasProxy: engine.proxy != nil, now: .now)
    }

    // MARK: On the way

    /// Begins to connect.
    func start() {
        timer = LoopTimer(on: engine.loop) { [unowned self] in timeHasCome() }
        arm()
        let dialer = TLSDialer(engine.route, trust: engine.trust, on: engine.loop) { [unowned self] in told($0) }
        self.dialer = dialer
        dialer.start()
    }

    private func told(_ progress: TLSDialer.Progress) {
        switch progress {
        case .resolved:
            state.resolved(now: .now)
            arm()
        case .tunnelling:
            state.tunnelling(now: .now)
            arm()
        case .connected:
            address = engine.proxy == nil ? dialer?.address : nil
            state.connected(now: .now)
            arm()
        case .done(let channel): opened(channel)
        case .failed(let reason): giveUp(reason)
        }
    }

    private func opened(_ channel: TLSChannel) {
        dialer = nil
        self.channel = channel
        let watcher = DescriptorWatcher(
            on: engine.loop, descriptor: channel.descriptor,
            readable: { [unowned self] in readAll() },
            writable: { [unowned self] in becameWritable() })
        self.watcher = watcher
        watcher.watchReads(true)
        session = HTTP2Session(for: self, configuration: configuration)
        outgoing = OutgoingBuffer()
        state.opened(now: .now, lot: Double.random(in: 0...1))
        arm()
        askForTurnEnd()
        engine.opened(self)
        // The peer's first words may have come with the end of the handshake and lie in OpenSSL's buffer.
        readAll()
    }

    // MARK: Requests

    /// Whether a request with so large a body may be sent now.
    func takes(body: Int) -> Bool {
        guard state.room > 0, let session else { return false }
        return state.takes(body: body, window: session.peerWindow)
    }

    /// Sends a request. False when the session would not take it, which retires the connection.
    func send(_ exchange: Exchange, now: Moment) -> Bool {
        guard let session, session.takesRequests, let stream = session.submit(exchange, authority: engine.authority)
        else {
            // Without a goodbye of the peer's: nghttp2 is about to say one, for the peer has broken the protocol.
            retire(session?.isUsedUp == true ? .replaced : .broken)
            return false
        }
        exchange.connection = self
        exchange.stream = stream
        lastSubmitted = stream
        exchange.submitted = now
        if state.sent(body: exchange.request.body.count, now: now) { ping(now: now) }
        askForTurnEnd()
        return true
    }

    /// Gives up waiting for an answer; the stream is reset, and its place free once that has left.
    func abandon(_ exchange: Exchange, now: Moment) {
        session?.cancel(exchange.stream)
        engine.timedOut(self, hasEnough: state.timedOut(submitted: exchange.submitted, now: now))
        askForTurnEnd()
    }

    /// A request has waited for a stream since `arrived` and is given up.
    func waitedInVain(since arrived: Moment, now: Moment) {
        if state.allowsNothing { engine.timedOut(self, hasEnough: state.timedOut(submitted: arrived, now: now)) }
    }

    /// Takes no more requests. Ends at once when nothing is in flight, at this turn's end.
    func retire(_ reason: HTTP2Retirement) {
        guard state.isUsable else { return }
        state.retire(reason, now: .now)
        engine.report(.retired(id, reason))
        arm()
        askForTurnEnd()
    }

    /// Another connection is to take over; this one goes on until that one stands.
    func askForReplacement() { state.askForReplacement() }

    private func ping(now: Moment) {
        session?.ping()
        state.pinged(now: now)
        arm()
    }

    /// What a request on this connection has come to when the connection is no more.
    func fate(of exchange: Exchange, _ end: HTTP2ConnectionEnd) -> Exchange.Answer {
        if let response = exchange.response { return .success(response) }
        if end == .protocolViolation, !state.hasSettings { return .failure(.unreachable(.notHTTP2)) }
        if exchange.stream > lastGathered { return .failure(.notSent(.neverLeft)) }
        // nghttp2 has closed what was above the goodbye's last, but for what it held back in a queue of its own.
        if let last = state.goAwayLastStream, exchange.stream > last { return .failure(.notSent(.aboveGoAway)) }
        return .failure(.unknownOutcome(end.outcome))
    }

    // MARK: What the session tells

    /// Puts a DATA frame of a request's body with the bytes that leave now, if they have room for it.
    func sendBody(of exchange: Exchange, _ count: Int, behind head: UnsafeRawBufferPointer) -> Bool {
        guard let outgoing, outgoing.hasRoom else { return false }
        unsafe outgoing.append(head)
        unsafe exchange.request.body.withUnsafeBytes { body in
            let end = exchange.bodyOffset + count
            unsafe outgoing.append(UnsafeRawBufferPointer(rebasing: body[exchange.bodyOffset..<end]))
        }
        exchange.bodyOffset += count
        state.bodyLeft(count)
        return true
    }

    /// A field of a header block: interim answer, answer or trailers.
    func receivedHeader(_ exchange: Exchange, name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
        guard !exchange.isCut else { return }
        exchange.headerSize += name.count + value.count + 32
        guard exchange.headerSize <= configuration.maximumHeaderList else {
            // The status is known, and nobody tells of the end of a block that was given up.
            if exchange.hasFinalStatus { exchange.hasHeaders = true }
            cut(exchange)
            return
        }
        if name.count == 7, unsafe name[0] == UInt8(ascii: ":") {
            // The only pseudo-header of an answer; nghttp2 has checked that it is three digits.
            state.heard()
            exchange.status = unsafe value.reduce(0) { $0 * 10 + Int($1) - 0x30 }
        } else if exchange.hasFinalStatus, !exchange.hasHeaders, let known = unsafe engine.retained(name) {
            exchange.headers.append(
                RetainedHeader(name: known, value: unsafe String(decoding: value, as: UTF8.self)))
        }
    }

    /// A part of an answer's body.
    func receivedData(_ exchange: Exchange, _ bytes: UnsafeBufferPointer<UInt8>) {
        state.heard()
        guard !exchange.isCut, exchange.isPending else { return }
        let room = configuration.maximumResponseBody - exchange.body.count
        unsafe exchange.body.append(contentsOf: bytes.prefix(room))
        if bytes.count > room { cut(exchange) }
    }

    private func cut(_ exchange: Exchange) {
        exchange.isCut = true
        session?.cancel(exchange.stream)
        askForTurnEnd()
    }

    /// The peer has ended its side of a stream. Where it had no whole request yet, it wants no more (RFC 9113 section 8.1).
    func streamEnded(_ exchange: Exchange) {
        exchange.hasEnded = true
        guard exchange.isAnsweredEarly, exchange.isPending, let response = exchange.response else { return }
        engine.conclude(exchange, .success(response))
        session?.cancel(exchange.stream)
        askForTurnEnd()
    }

    func receivedSettings() {
        state.settings(streamLimit: session?.peerStreamLimit)
    }

    func receivedGoAway(lastStream: Int32, code: UInt32, debug: String?) {
        let wasUsable = state.isUsable
        state.goAway(lastStream: lastStream, now: .now)
        engine.report(.goAway(id, code: code, debug: debug))
        if HTTP2ErrorCode.asksForPause(code) { engine.pause(.goodbyeWithError(code: code)) }
        if wasUsable { engine.report(.retired(id, .goAway)) }
        arm()
    }

    /// A stream is closed; nghttp2 knows it no more.
    func streamClosed(_ exchange: Exchange, code: UInt32) {
        state.bodyLeft(exchange.request.body.count - exchange.bodyOffset)
        state.streamClosed(answered: exchange.isAnswered, now: engine.now)
        // Whoever was given up was ended by us, and nobody waits for it.
        if exchange.isPending {
            state.heard()
            engine.conclude(exchange, outcome(of: exchange, code: code))
        }
        engine.release(exchange)
        // Only without a request in flight is a connection idle, and may its idleness have a deadline.
        if state.inFlight == 0 { arm() }
    }

    private func outcome(of exchange: Exchange, code: UInt32) -> Exchange.Answer {
        if let response = exchange.response { return .success(response) }
        guard code == HTTP2ErrorCode.refusedStream else { return .failure(.unknownOutcome(.streamReset(code: code))) }
        // The peer's word, or nghttp2's for a stream above the goodbye's last.
        let isAbove = state.goAwayLastStream.map { exchange.stream > $0 } ?? false
        return .failure(.notSent(isAbove ? .aboveGoAway : .refusedStream))
    }

    // MARK: Bytes

    private func becameWritable() {
        watcher?.watchWrites(false)
        askForTurnEnd()
    }

    private func readAll() {
        hasMoreToRead = false
        engine.now = .now
        for _ in 0..<Self.readsAtOnce {
            guard let channel, let session else { return }
            let buffer = unsafe engine.readBuffer
            switch unsafe channel.read(into: buffer) {
            case .done(let count):
                state.read(now: engine.now)
                guard unsafe session.receive(UnsafeRawBufferPointer(rebasing: buffer[..<count])) else {
                    end(.protocolViolation)
                    return
                }
                // With nothing left in OpenSSL the socket itself will tell of more.
                if !channel.hasPending {
                    finishedReading()
                    return
                }
            case .wantsRead:
                finishedReading()
                return
            case .wantsWrite:
                watcher?.watchWrites(true)
                finishedReading()
                return
            case .ended:
                end(.lost)
                return
            }
        }
        hasMoreToRead = true
        finishedReading()
    }

    private func finishedReading() {
        askForTurnEnd()
        engine.fill()
    }

    private func askForTurnEnd() {
        guard !isTurnEndAsked, !isGone else { return }
        isTurnEndAsked = true
        engine.loop.atTurnEnd(self)
    }

    /// Writes what this turn has produced, in one go.
    func turnEnds() {
        isTurnEndAsked = false
        guard !isGone else { return }
        if hasMoreToRead { readAll() }
        flush()
        // A reset that has left makes room.
        engine.fill()
        if state.isSpent { timeHasCome() }
        guard !isGone, let session, let outgoing, outgoing.isEmpty else { return }
        if session.isOver {
            end(state.isLeaving && state.inFlight == 0 ? .finished : .protocolViolation)
        } else if !state.isUsable, state.inFlight == 0 {
            session.sayGoodbye()
            flush()
            end(.finished)
        }
    }

    private func flush() {
        guard let session, let channel, let outgoing else { return }
        while true {
            lastGathered = lastSubmitted
            guard session.gather(into: outgoing) else {
                end(.protocolViolation)
                return
            }
            guard !outgoing.isEmpty else { return }
            switch unsafe channel.write(outgoing.waiting) {
            case .done(let count): outgoing.consume(count)
            case .wantsWrite:
                watcher?.watchWrites(true)
                return
            case .wantsRead:
                // Whatever is read next asks for a turn's end anyway.
                return
            case .ended:
                end(.lost)
                return
            }
        }
    }

    // MARK: Time

    private func timeHasCome() {
        armedFor = Moment(nanoseconds: .max)
        while !isGone, let duty = state.due(now: .now) {
            switch duty {
            case .giveUp(let reason): giveUp(reason)
            case .ping:
                ping(now: .now)
                askForTurnEnd()
            case .retire(.idle) where !engine.maySpareOne(): state.keepThoughIdle(now: .now)
            case .retire(let reason): retire(reason)
            case .askForReplacement: engine.replan()
            case .end(let end): self.end(end)
            }
        }
        arm()
    }

    /// Arms the timer for the next deadline unless it is armed for an earlier moment anyway: a deadline that moves
    /// away with each request costs nothing that way.
    private func arm() {
        guard !isGone else { return }
        let next = state.nextDeadline
        guard next < armedFor else { return }
        armedFor = next
        timer?.arm(after: next.duration(since: .now))
    }

    // MARK: The end

    /// The attempt to connect has come to nothing.
    private func giveUp(_ reason: Unreachable) {
        guard !isGone else { return }
        release()
        engine.gaveUp(self, reason)
    }

    /// Ends a connection that took requests, or closes one on its way. Not from within nghttp2.
    func end(_ end: HTTP2ConnectionEnd) {
        guard !isGone else { return }
        release()
        engine.ended(self, end)
    }

    private func release() {
        isGone = true
        timer?.disarm()
        dialer?.cancel()
        watcher?.cancel()
        channel?.close()
        timer = nil
        dialer = nil
        watcher = nil
        channel = nil
        session = nil
        outgoing = nil
    }
}
