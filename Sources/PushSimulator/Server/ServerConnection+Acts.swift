import CNghttp2
import EventLoops

/// What no good server does: hand-written frames, lies and silence.
extension ServerConnection {
    /// Performs an act that came from outside, from a plan or with a fault; `request` is the stream that is meant by
    /// ``WireFrame/Stream/request``, 0 for the newest.
    func perform(_ act: ConnectionAct, request: Int32 = 0) {
        guard !isOver else { return }
        switch act {
        case .goAway(let goAway): writeGoAway(goAway)
        case .frames(let frames): for frame in frames { write(frame, request: request) }
        case .bytes(let bytes): write(bytes)
        case .flood(let flood): self.flood(flood, request: request)
        case .settings(let settings): deferred.append { [unowned self] in submit(settings) }
        case .fallSilent(let silence):
            filter.comingSilence = silence
            deferred.append { [unowned self] in
                // What was said before still leaves.
                gather()
                filter.silence = silence
                if silence == .unread { watcher?.watchReads(false) }
            }
        case .disconnect: deferred.append { [unowned self] in endsWhenWritten = true }
        case .closeNotify:
            deferred.append { [unowned self] in
                saysGoodbye = true
                endsWhenWritten = true
            }
        case .resetTCP:
            endsWithReset = true
            endsNow = true
        }
        flushAtTurnEnd()
    }

    // MARK: Plans

    /// Performs what the plan has for this moment.
    func perform(planned moment: PlannedAct.Moment, request: Int32 = 0) {
        for planned in behaviour.plan where planned.moment == moment {
            for act in planned.acts { perform(act, request: request) }
        }
    }

    /// Performs what the plan has for the request that is now whole.
    func performPlanned(forRequest stream: Int32) {
        guard !behaviour.plan.isEmpty else { return }
        perform(planned: .request(requestCount), request: stream)
        for planned in behaviour.plan {
            if case .everyRequest(let count) = planned.moment, count > 0, requestCount.isMultiple(of: count) {
                for act in planned.acts { perform(act, request: stream) }
            }
        }
    }

    /// Performs what the plan has for the answer that was now given.
    func performPlanned(afterAnswerTo stream: Int32, refusedFor reason: String?) {
        guard !behaviour.plan.isEmpty else { return }
        answerCount += 1
        perform(planned: .answer(answerCount), request: stream)
        guard let reason else { return }
        refusalCounts[reason, default: 0] += 1
        perform(planned: .refusal(reason, refusalCounts[reason] ?? 0), request: stream)
    }

    /// Starts to count the time without a request, where the plan wants it and none is under way.
    func watchIdleness() {
        for case .idle(let wait) in behaviour.plan.map(\.moment) {
            let timer = LoopTimer(on: loop) { [weak self] in
                guard let self, streams.isEmpty else { return }
                perform(planned: .idle(wait))
            }
            timer.arm(after: wait)
            idleTimer = timer
        }
    }

    // MARK: Writing past the session

    /// Runs a piece of work after all that was put off before it; at once where nothing was.
    func inOrder(_ work: @escaping (ServerConnection) -> Void) {
        guard !deferred.isEmpty else {
            work(self)
            return
        }
        deferred.append { [unowned self] in work(self) }
    }

    /// Writes a frame once the session has written what it has, outside of its callbacks.
    func write(_ frame: WireFrame, request: Int32) {
        let stream = request == 0 ? newestStream : request
        write(frame.bytes(request: stream))
        guard frame.endsRequest else { return }
        deferred.append { [unowned self] in retire(stream) }
    }

    private func write(_ bytes: [UInt8]) {
        deferred.append { [unowned self] in
            gather()
            guard !isOver, filter.silence == nil else { return }
            encrypt(bytes)
        }
    }

    /// The stream is over on the wire: the session is to forget it without a word.
    private func retire(_ stream: Int32) {
        guard streams[stream] != nil, unsafe nghttp2_session_find_stream(session, stream) != nil else { return }
        filter.retire(stream)
        unsafe _ = nghttp2_submit_rst_stream(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, NGHTTP2_NO_ERROR.rawValue)
    }

    private func writeGoAway(_ goAway: GoAway) {
        let last = goAway.lastStreamID ?? max(0, newestStream + goAway.lastStreamOffset)
        lastLivingStream = last
        write(.goAway(lastStreamID: UInt32(bitPattern: last), code: goAway.code, text: goAway.text), request: 0)
        if goAway.closes { deferred.append { [unowned self] in endsWhenWritten = true } }
    }

    private func flood(_ flood: Flood, request: Int32) {
        let stream = request == 0 ? newestStream : request
        let frames = flood.frames
        write(frames.flatMap { $0.bytes(request: stream) })
        if frames.contains(where: \.endsRequest) { deferred.append { [unowned self] in retire(stream) } }
    }
}
