import EventLoops

/// One open connection: where it stands and what waits to be read or written. What is done with it stands in
/// ``ServerLoop``. Loop thread.
final class Connection {
    /// Exits: `.waiting` leaves for `.receiving` with the first bytes of a request, where more have to come; both leave
    /// for `.answering` with its last, or with a refusal; `.answering` for `.writing` where the socket does not take all
    /// of the answer. Once the answer is out either leaves for `.waiting`, or for `.lingering` where the connection is to
    /// end: our side is ended, and what still comes is read and dropped. `.closed` is last and can come at any time.
    enum Phase { case waiting, receiving, answering, writing, lingering, closed }

    let descriptor: Int32
    let peer: PeerAddress
    /// Where it stands in the list of all.
    var index = 0
    var watcher: DescriptorWatcher?
    private(set) var phase = Phase.waiting
    /// When the phase began, as ``ServerLoop/time`` has it.
    private(set) var since: Duration
    var reader = RequestReader()
    /// What the head of the request that is being answered says of its answer.
    var answerForm = AnswerForm()
    /// The request that is being answered.
    var exchange: HTTPExchange?
    /// What has come and could not be used yet: the beginning of a line, or requests that were sent ahead.
    var input: [UInt8] = []
    /// The rest of an answer that the socket did not take whole. What it has not taken yet begins at `written`.
    var output: [UInt8] = []
    var written = 0
    /// When the socket last took some of it, as ``ServerLoop/time`` has it.
    var tookAt = Duration.zero
    /// Whether a request of its own is counted as being in flight.
    var isCounted = false
    /// Whether the connection ends with the answer that is on its way.
    var closes = false
    /// Whether it was refused when it came; then it counts towards no bound.
    var isRefused = false
    /// Whether the peer has ended its side, or the connection is broken.
    var hasPeerEnded = false
    /// Whether its requests are being taken out of what has come, further up the stack.
    var isBeingRead = false
    /// What was dropped while lingering, in bytes.
    var dropped = 0

    init(descriptor: Int32, peer: PeerAddress, at time: Duration) {
        self.descriptor = descriptor
        self.peer = peer
        since = time
    }

    func enter(_ phase: Phase, at time: Duration) {
        self.phase = phase
        since = time
    }
}
