import CNghttp2
import EventLoops

/// What the session tells about streams, and the answers.
extension ServerConnection {
    // MARK: Called from the session

    /// A request begins.
    func began(_ stream: Int32) {
        newestStream = max(newestStream, stream)
        let isTooMany = UInt32(streams.count) >= concurrentStreams
        streams[stream] = OpenStream()
        if streams.count > mostStreams {
            mostStreams = streams.count
            conversation.saw(openStreams: mostStreams)
        }
        guard isTooMany else { return }
        switch behaviour.overLimit {
        case .usual, .serves: break
        case .refuses:
            conversation.wentOverLimit()
            streams[stream] = nil
            unsafe _ = nghttp2_submit_rst_stream(
                session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, NGHTTP2_REFUSED_STREAM.rawValue)
        case .goesAway:
            conversation.wentOverLimit()
            let last = stream - 2
            perform(
                .goAway(
                    GoAway(
                        code: NGHTTP2_PROTOCOL_ERROR.rawValue, text: conversation.overLimitText,
                        lastStreamID: max(last, 0), closes: true)),
                request: stream)
        }
    }

    /// False when the stream carries more header bytes than the SETTINGS allow.
    func took(name: String, value: String, isNeverIndexed: Bool, on stream: Int32) -> Bool {
        guard var open = streams.removeValue(forKey: stream) else { return true }
        defer { streams[stream] = open }
        // Each field counts 32 bytes more than its text (RFC 9113 section 6.5.2).
        open.headerBytes += name.utf8.count + value.utf8.count + 32
        guard open.headerBytes <= Int(conversation.settings.maxHeaderListSize) else { return false }
        if isNeverIndexed { open.request.neverIndexed.append(name) }
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
        guard let request = streams[stream]?.request, !isOver, !isLingering else { return }
        requestCount += 1
        if !isSilent, stream <= lastLivingStream { performPlanned(forRequest: stream) }
        // The plan may have silenced the connection, or have left this stream behind.
        guard !isSilent, stream <= lastLivingStream else {
            conversation.leftUnanswered()
            return
        }
        let reaction = conversation.react(to: request, stream: stream)
        if let count = reaction.concurrentStreams { allow(concurrentStreams: count) }
        for act in reaction.before { perform(act, request: stream) }
        guard reaction.delay > .zero else {
            conclude(reaction, on: stream)
            return
        }
        let timer = LoopTimer(on: loop) { [weak self] in
            self?.streams[stream]?.timer = nil
            self?.conclude(reaction, on: stream)
        }
        streams[stream]?.timer = timer
        timer.arm(after: reaction.delay)
    }

    /// A frame came that is no part of a request.
    func took(frame type: UInt8, flags: UInt8) {
        let isAnswer = flags & WireFrame.endStream != 0
        switch type {
        case 3: conversation.saw(frame: "RST_STREAM")
        case 4: conversation.saw(frame: isAnswer ? "SETTINGS ACK" : "SETTINGS")
        case 6:
            conversation.saw(frame: isAnswer ? "PING ACK" : "PING")
            guard !isAnswer else { break }
            pingCount += 1
            perform(planned: .ping(pingCount))
        case 7: conversation.saw(frame: "GOAWAY")
        // Windows are opened with every few answers, and nobody learns anything from their number.
        case 8: break
        default: conversation.saw(frame: type == 2 ? "PRIORITY" : "other")
        }
    }

    /// A stream is closed, for whatever reason.
    func closed(_ stream: Int32) {
        streams.removeValue(forKey: stream)?.timer?.disarm()
        if idleTimer != nil, streams.isEmpty, !isOver { watchIdleness() }
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

    // MARK: Answers

    /// Whether requests are no longer answered.
    private var isSilent: Bool { filter.comingSilence != nil }

    /// The reaction's action is due, and what comes after it.
    private func conclude(_ reaction: Reaction, on stream: Int32) {
        guard !isOver, stream <= lastLivingStream else { return }
        inOrder { $0.perform(reaction.action, on: stream) }
        for act in reaction.after { perform(act, request: stream) }
        performPlanned(afterAnswerTo: stream, refusedFor: reaction.reason)
        flushAtTurnEnd()
    }

    private func perform(_ action: Reaction.Action, on stream: Int32) {
        switch action {
        case .answer(let answer): send(answer, on: stream)
        case .silence: break
        case .reset(let code):
            unsafe _ = nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, code)
        case .goAway(let goAway): self.goAway(goAway)
        case .disconnect:
            // Never from inside a callback of the session: the end of the turn does it.
            endsNow = true
        case .frames(let frames): for frame in frames { write(frame, request: stream) }
        }
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
}
