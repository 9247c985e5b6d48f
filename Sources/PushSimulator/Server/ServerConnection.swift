import CNghttp2
import EventLoops

#if canImport(Glibc)
    import Glibc
#endif

/// One client's connection: the socket, TLS and the HTTP/2 session over it, and the streams that are open.
///
/// What one turn of the loop produces leaves in one write. Loop thread throughout. The session is deleted with the
/// object, never earlier, since callbacks of the session may be what ends the connection.
///
/// This file has its life and what comes from outside; `+Bytes` reads and writes, `+Streams` answers, `+Acts` does what
/// no good server does.
@safe final class ServerConnection: TurnEnd {
    /// How much of a request's body is kept; the rest is read and dropped.
    static let largestBody = 65_536

    let loop: EventLoop
    let descriptor: Int32
    let tls: TLSChannel
    let conversation: any Conversation
    let behaviour: ConnectionBehaviour
    private let onEnd: (ServerConnection) -> Void
    var session: OpaquePointer?
    var watcher: DescriptorWatcher?

    /// The requests that are under way, by stream.
    var streams: [Int32: OpenStream] = [:]
    /// The limit of streams as the client was last told.
    var concurrentStreams: UInt32
    /// Encrypted bytes for the socket, and how many of them have left.
    var outgoing: [UInt8] = []
    var outgoingSent = 0
    var flushIsDue = false
    var isNegotiated = false
    private(set) var isOver = false
    /// Set when the socket is to be closed as soon as `outgoing` has left.
    var endsWhenWritten = false
    /// Set when TLS's `close_notify` goes ahead of that.
    var saysGoodbye = false
    /// Set when the socket is to be closed at the end of the turn, whatever waits.
    var endsNow = false
    /// Set when closing the socket is to be a RST.
    var endsWithReset = false
    /// False until the initialiser can no longer fail, since the descriptor is the caller's until then.
    private var ownsDescriptor = false

    /// What of the session reaches the wire.
    var filter: OutgoingFilter
    /// Set while nothing may be sent yet, not even the SETTINGS.
    var isHeldBack = false
    /// Ends the wait for SETTINGS, or for a client that does not leave.
    private var patience: LoopTimer?
    /// Set once HTTP/1.1 was spoken in place of HTTP/2.
    var hasSpokenHTTP11 = false
    /// Set once FIN has left and the client is waited for.
    var isLingering = false
    /// What is to be written in order with the session's own frames, outside of its callbacks.
    var deferred: [() -> Void] = []
    /// The most streams that were open at once.
    var mostStreams = 0
    /// The newest stream that the client began.
    var newestStream: Int32 = 0
    /// The last stream that a hand-written GOAWAY left alive.
    var lastLivingStream = Int32.max
    /// Counts the time without a request, where the plan wants it.
    var idleTimer: LoopTimer?
    /// PINGs, whole requests, answers, and refusals by their reason, as plans count them.
    var pingCount = 0
    var requestCount = 0
    var answerCount = 0
    var refusalCounts: [String: Int] = [:]

    /// A request on its way in, or waiting for the end of its answer.
    struct OpenStream {
        var request = HTTPRequest()
        var headerBytes = 0
        var answerBody: [UInt8] = []
        var answerSent = 0
        var timer: LoopTimer?
    }

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
        behaviour = conversation.behaviour
        filter = OutgoingFilter(behaviour)
        tls = try TLSChannel(context: context)
        concurrentStreams = conversation.settings.concurrentStreams
        let this = unsafe Unmanaged.passUnretained(self).toOpaque()
        guard unsafe nghttp2_session_server_new2(&session, callbacks.pointer, this, callbacks.options) == 0 else {
            throw .nghttp2("nghttp2_session_server_new2")
        }
        submitFirstSettings(conversation.settings)
        let watcher = DescriptorWatcher(
            on: loop, descriptor: descriptor,
            readable: { [weak self] in self?.becameReadable() },
            writable: { [weak self] in self?.flush() })
        self.watcher = watcher
        watcher.watchReads(true)
        ownsDescriptor = true
        perform(planned: .opened)
        watchIdleness()
    }

    deinit {
        unsafe nghttp2_session_del(session)
        // Only where a simulator is let go without being stopped.
        if ownsDescriptor, !isOver { close(descriptor) }
    }

    /// Sends FIN and takes what the client still sends, for a while: to close with bytes unread would be a RST, which
    /// takes the last words away from the client.
    func linger() {
        guard !isLingering else { return }
        isLingering = true
        shutdown(descriptor, Int32(SHUT_WR))
        watcher?.watchReads(true)
        let timer = LoopTimer(on: loop) { [weak self] in self?.end() }
        timer.arm(after: .seconds(1))
        patience = timer
    }

    // MARK: From outside

    /// Ends the connection now: nothing more is sent, the socket is closed.
    func end() {
        guard !isOver else { return }
        isOver = true
        watcher?.cancel()
        patience?.disarm()
        idleTimer?.disarm()
        for (_, stream) in streams { stream.timer?.disarm() }
        streams.removeAll()
        deferred.removeAll()
        if endsWithReset { LoopbackSocket.resetWhenClosed(descriptor) }
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
        submit([.concurrentStreams(count)])
    }

    /// Sends SETTINGS that the session keeps to.
    func submit(_ settings: [ConnectionSetting]) {
        guard !isOver else { return }
        let entries = settings.map { setting in
            var value = setting.value
            if setting.id == UInt16(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue) {
                concurrentStreams = value
                if !leavesLimitToSession {
                    filter.announce(limit: value)
                    value = .max
                }
            }
            return nghttp2_settings_entry(settings_id: Int32(setting.id), value: value)
        }
        let code = unsafe nghttp2_submit_settings(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), entries, entries.count)
        if code != 0 {
            // Values outside of HTTP/2's ranges: the session will not have them, and the client may see them all the same.
            write(.settings(settings), request: 0)
        }
        flushAtTurnEnd()
    }

    /// Whether the session itself turns away streams beyond the limit.
    private var leavesLimitToSession: Bool { behaviour.overLimit == .usual && behaviour.firstSettings != .never }

    private func submitFirstSettings(_ settings: ConnectionSettings) {
        submit([
            .headerTableSize(settings.headerTableSize), .concurrentStreams(settings.concurrentStreams),
            .initialWindowSize(settings.initialWindowSize), .maxFrameSize(settings.maxFrameSize),
            .maxHeaderListSize(settings.maxHeaderListSize),
        ])
        let window = Int32(clamping: settings.connectionWindow)
        let widened = unsafe nghttp2_session_set_local_window_size(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, window)
        precondition(widened == 0, "a connection's window is at most 2^31-1")
        if case .after(let wait) = behaviour.firstSettings {
            isHeldBack = true
            let timer = LoopTimer(on: loop) { [weak self] in
                self?.isHeldBack = false
                self?.flush()
            }
            timer.arm(after: wait)
            patience = timer
        }
    }

    /// Writes what the turn produced, at its end.
    func flushAtTurnEnd() {
        guard !flushIsDue else { return }
        flushIsDue = true
        loop.atTurnEnd(self)
    }

    func turnEnds() {
        flushIsDue = false
        flush()
    }
}
