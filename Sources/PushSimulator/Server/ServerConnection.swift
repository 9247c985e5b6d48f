import CNghttp2
import EventLoops

#if canImport(Glibc)
    import Glibc
#endif

/// One client's connection: the socket, TLS and the HTTP/2 session over it, and the streams that are open.
///
/// What one turn of the loop produces leaves in one write. Loop thread throughout. The session is deleted with the
/// object, never earlier, since callbacks of the session may be what ends the connection.
@safe final class ServerConnection: TurnEnd {
    /// How much of a request's body is kept; the rest is read and dropped.
    static let largestBody = 65_536

    private let loop: EventLoop
    private let descriptor: Int32
    private let tls: TLSChannel
    private let conversation: any Conversation
    private let onEnd: (ServerConnection) -> Void
    private var session: OpaquePointer?
    private var watcher: DescriptorWatcher?

    private var streams: [Int32: OpenStream] = [:]
    private var concurrentStreams: UInt32
    private var outgoing: [UInt8] = []
    private var outgoingSent = 0
    private var flushIsDue = false
    private var isNegotiated = false
    private var isOver = false
    /// Set when the socket is to be closed as soon as `outgoing` has left.
    private var endsWhenWritten = false
    /// Set when the socket is to be closed at the end of the turn, whatever waits.
    private var endsNow = false
    /// False until the initialiser can no longer fail, since the descriptor is the caller's until then.
    private var ownsDescriptor = false

    /// A request on its way in, or waiting for the end of its answer.
    private struct OpenStream {
        var request = HTTPRequest()
        var headerBytes = 0
        var answerBody: [UInt8] = []
        var answerSent = 0
        var timer: LoopTimer?
    }

    /// Plain bytes gathered before one call of TLS, and the most that may wait for the socket before the session is
    /// asked for more.
    private static let gatherSize = 65_536
    private static let outgoingLimit = 262_144

    /// Takes over an accepted, non-blocking descriptor and closes it in the end. `onEnd` is called once, when the
    /// connection is over.
    init(
        on loop: EventLoop, descriptor: Int32, context: TLSServerContext, callbacks: SessionCallbacks,
        conversation: any Conversation, onEnd: @escaping (ServerConnection) -> Void
    ) throws(SimulatorError) {
        self.loop = loop
        self.descriptor = descriptor
        self.conversation = conversation
        self.onEnd = onEnd
        tls = try TLSChannel(context: context)
        concurrentStreams = conversation.settings.concurrentStreams
        let this = unsafe Unmanaged.passUnretained(self).toOpaque()
        guard unsafe nghttp2_session_server_new2(&session, callbacks.pointer, this, callbacks.options) == 0 else {
            throw .nghttp2("nghttp2_session_server_new2")
        }
        submit(conversation.settings)
        let watcher = DescriptorWatcher(
            on: loop, descriptor: descriptor,
            readable: { [weak self] in self?.becameReadable() },
            writable: { [weak self] in self?.becameWritable() })
        self.watcher = watcher
        watcher.watchReads(true)
        ownsDescriptor = true
    }

    deinit {
        unsafe nghttp2_session_del(session)
        // Only where a simulator is let go without being stopped.
        if ownsDescriptor, !isOver { close(descriptor) }
    }

    // MARK: From outside

    /// Ends the connection now: nothing more is sent, the socket is closed.
    func end() {
        guard !isOver else { return }
        isOver = true
        watcher?.cancel()
        for (_, stream) in streams { stream.timer?.disarm() }
        streams.removeAll()
        close(descriptor)
        conversation.ended()
        onEnd(self)
    }

    /// Sends a GOAWAY at the end of this turn.
    func goAway(_ goAway: GoAway) {
        guard !isOver else { return }
        let last = unsafe goAway.lastStreamID ?? nghttp2_session_get_last_proc_stream_id(session)
        let text = Array(goAway.text.utf8)
        unsafe _ = nghttp2_submit_goaway(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), last, goAway.code, text, text.count)
        if goAway.closes { endsWhenWritten = true }
        flushAtTurnEnd()
    }

    /// Announces another number of streams that may be open at once.
    func allow(concurrentStreams count: UInt32) {
        guard !isOver, count != concurrentStreams else { return }
        concurrentStreams = count
        var entry = nghttp2_settings_entry(
            settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue), value: count)
        unsafe _ = nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), &entry, 1)
        flushAtTurnEnd()
    }

    private func submit(_ settings: ConnectionSettings) {
        let entries = [
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_HEADER_TABLE_SIZE.rawValue), value: settings.headerTableSize),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue), value: settings.concurrentStreams),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue), value: settings.initialWindowSize),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_FRAME_SIZE.rawValue), value: settings.maxFrameSize),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue), value: settings.maxHeaderListSize),
        ]
        let code = unsafe nghttp2_submit_settings(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), entries, entries.count)
        precondition(code == 0, "the settings of a service are within HTTP/2's ranges")
        let window = Int32(clamping: settings.connectionWindow)
        let widened = unsafe nghttp2_session_set_local_window_size(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, window)
        precondition(widened == 0, "a connection's window is at most 2^31-1")
    }

    // MARK: Reading

    private func becameReadable() {
        guard !isOver else { return }
        let sawEnd = readSocket()
        takePlainBytes()
        guard !isOver else { return }
        if sawEnd {
            end()
        } else {
            flushAtTurnEnd()
        }
    }

    /// Moves what the socket has into TLS; true when the peer has closed or the socket broke.
    private func readSocket() -> Bool {
        unsafe withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 16) { buffer in
            let count = unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 {
                unsafe tls.take(UnsafeRawBufferPointer(start: buffer.baseAddress, count: count))
                return false
            }
            return count == 0 || (errno != EAGAIN && errno != EINTR)
        }
    }

    private func takePlainBytes() {
        unsafe withUnsafeTemporaryAllocation(byteCount: 32_768, alignment: 16) { buffer in
            while !isOver {
                switch unsafe tls.read(into: buffer) {
                case .nothing: return
                case .ended, .failed:
                    // An alert that says why may wait to be sent.
                    flush()
                    end()
                    return
                case .bytes(let count):
                    guard checkProtocol() else { return }
                    let bytes = unsafe buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
                    guard unsafe nghttp2_session_mem_recv(session, bytes, count) == count else {
                        flush()
                        end()
                        return
                    }
                }
            }
        }
    }

    private func checkProtocol() -> Bool {
        if isNegotiated { return true }
        guard tls.speaksHTTP2 else {
            end()
            return false
        }
        isNegotiated = true
        return true
    }

    // MARK: Writing

    private func flushAtTurnEnd() {
        guard !flushIsDue else { return }
        flushIsDue = true
        loop.atTurnEnd(self)
    }

    /// Writes what the turn produced.
    func turnEnds() {
        flushIsDue = false
        flush()
    }

    private func becameWritable() {
        flush()
    }

    private func flush() {
        guard !isOver else { return }
        if endsNow {
            end()
            return
        }
        repeat {
            if tls.isReady, checkProtocol() { gather() }
            guard !isOver else { return }
            tls.drain(into: &outgoing)
        } while writeSocket()
        guard !isOver else { return }
        let hasWritten = outgoing.isEmpty
        watcher?.watchWrites(!hasWritten)
        guard hasWritten else { return }
        let isFinished = unsafe nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
        if isFinished, !endsWhenWritten {
            tls.sayGoodbye()
            tls.drain(into: &outgoing)
            _ = writeSocket()
        }
        if isFinished || endsWhenWritten { end() }
    }

    /// Takes frames out of the session and encrypts them.
    private func gather() {
        while outgoing.count - outgoingSent < Self.outgoingLimit {
            var plain: [UInt8] = []
            while plain.count < Self.gatherSize {
                var data: UnsafePointer<UInt8>?
                let count = unsafe nghttp2_session_mem_send(session, &data)
                guard count > 0, let data = unsafe data else { break }
                unsafe plain.append(contentsOf: UnsafeBufferPointer(start: data, count: count))
            }
            guard !plain.isEmpty else { return }
            guard tls.write(plain) else {
                end()
                return
            }
            tls.drain(into: &outgoing)
        }
    }

    /// Writes what waits; true when all of it left and the session may have more.
    private func writeSocket() -> Bool {
        guard !isOver else { return false }
        while outgoingSent < outgoing.count {
            let (count, code) = unsafe outgoing.withUnsafeBytes { bytes in
                let sent = unsafe Glibc.send(
                    descriptor, bytes.baseAddress?.advanced(by: outgoingSent), bytes.count - outgoingSent,
                    Int32(MSG_NOSIGNAL))
                return (sent, errno)
            }
            if count >= 0 {
                outgoingSent += count
            } else if code == EAGAIN {
                return false
            } else if code != EINTR {
                end()
                return false
            }
        }
        let hadAny = !outgoing.isEmpty
        outgoing.removeAll(keepingCapacity: true)
        outgoingSent = 0
        let hasMore = unsafe nghttp2_session_want_write(session) != 0
        return hadAny && hasMore && tls.isReady
    }

    // MARK: Streams, called from the session

    /// A request begins.
    func began(_ stream: Int32) {
        streams[stream] = OpenStream()
    }

    /// False when the stream carries more header bytes than the SETTINGS allow.
    func took(name: String, value: String, on stream: Int32) -> Bool {
        guard var open = streams.removeValue(forKey: stream) else { return true }
        defer { streams[stream] = open }
        // Each field counts 32 bytes more than its text (RFC 9113 section 6.5.2).
        open.headerBytes += name.utf8.count + value.utf8.count + 32
        guard open.headerBytes <= Int(conversation.settings.maxHeaderListSize) else { return false }
        switch name {
        case ":method": open.request.method = value
        case ":path": open.request.target = value
        case ":authority": open.request.authority = value
        case ":scheme": break
        default: open.request.headers.append(HeaderField(name, value))
        }
        return true
    }

    /// A part of a request's body came.
    func took(body bytes: UnsafeBufferPointer<UInt8>, on stream: Int32) {
        guard let held = streams[stream]?.request.body.count, held < Self.largestBody else { return }
        unsafe streams[stream]?.request.body.append(contentsOf: bytes.prefix(Self.largestBody - held))
    }

    /// A request is whole.
    func finished(_ stream: Int32) {
        guard let request = streams[stream]?.request else { return }
        let reaction = conversation.react(to: request, stream: stream)
        if let count = reaction.concurrentStreams { allow(concurrentStreams: count) }
        guard reaction.delay > .zero else {
            perform(reaction.action, on: stream)
            return
        }
        let timer = LoopTimer(on: loop) { [weak self] in
            self?.streams[stream]?.timer = nil
            self?.perform(reaction.action, on: stream)
        }
        streams[stream]?.timer = timer
        timer.arm(after: reaction.delay)
    }

    private func perform(_ action: Reaction.Action, on stream: Int32) {
        guard !isOver else { return }
        switch action {
        case .answer(let answer): send(answer, on: stream)
        case .silence: break
        case .reset(let code):
            unsafe _ = nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, code)
        case .goAway(let goAway): self.goAway(goAway)
        case .disconnect:
            // Never from inside a callback of the session: the end of the turn does it.
            endsNow = true
        }
        flushAtTurnEnd()
    }

    private func send(_ answer: SimulatedAnswer, on stream: Int32) {
        guard streams[stream] != nil else { return }
        streams[stream]?.answerBody = Array(answer.body.utf8)
        var block = HeaderBlock()
        block.append(":status", String(answer.status))
        for field in answer.headers { block.append(field.name, field.value) }
        unsafe block.withFields { fields in
            var provider = unsafe nghttp2_data_provider(
                source: nghttp2_data_source(), read_callback: answerBodyWanted)
            let code =
                unsafe answer.body.isEmpty
                ? nghttp2_submit_response(session, stream, fields.baseAddress, fields.count, nil)
                : nghttp2_submit_response(session, stream, fields.baseAddress, fields.count, &provider)
            precondition(code == 0, "an answer to an open stream is taken")
        }
    }

    /// Copies the next part of an answer; false in second place while there is more.
    func answerBody(of stream: Int32, into buffer: UnsafeMutableRawBufferPointer) -> (Int, Bool) {
        guard let open = streams[stream] else { return (0, true) }
        let count = min(buffer.count, open.answerBody.count - open.answerSent)
        unsafe buffer.copyBytes(from: open.answerBody[open.answerSent..<open.answerSent + count])
        streams[stream]?.answerSent += count
        return (count, open.answerSent + count == open.answerBody.count)
    }

    /// A stream is closed, for whatever reason.
    func closed(_ stream: Int32) {
        streams.removeValue(forKey: stream)?.timer?.disarm()
    }

    /// The session refuses a request's HEADERS: of interest only where they would open a stream beyond the limit.
    ///
    /// The session itself refuses the stream while the client has not confirmed the limit, and sends a GOAWAY without a
    /// word afterwards; Apple's words go ahead of that one.
    func refusedHeaders(isFatal: Bool) {
        guard UInt32(streams.count) >= concurrentStreams else { return }
        conversation.wentOverLimit()
        if isFatal {
            goAway(GoAway(code: NGHTTP2_PROTOCOL_ERROR.rawValue, text: conversation.overLimitText))
        }
    }
}
