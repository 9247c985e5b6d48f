/// One request on its way and the answer as it comes in. Loop thread.
///
/// The engine keeps all of them in a table and uses them again, so a request costs no allocation of its own. nghttp2
/// holds an unretained pointer as the stream's user data; the table keeps the object alive, and a stream's exchange
/// goes back into the table only when nghttp2 has closed the stream or is gone itself.
@safe final class Exchange {
    typealias Answer = Result<HTTP2Response, HTTP2Failure>

    /// Its place in the engine's table.
    let slot: Int

    /// The request; an empty one while the exchange is not in use.
    private(set) var request = HTTP2Request(path: "")
    /// The caller, until it has been answered.
    private(set) var continuation: UnsafeContinuation<Answer, Never>?
    /// When the caller handed it in.
    private(set) var arrived = Moment(nanoseconds: 0)

    /// When its caller is answered at the latest, once it has left.
    var deadline = Moment(nanoseconds: 0)
    /// When it must have left, or it never does.
    var leavesBy = Moment(nanoseconds: 0)
    /// The connection it must not go by.
    var avoided: HTTP2ConnectionID?

    /// The connection it went out by.
    var connection: HTTP2Connection?
    /// Its stream there.
    var stream: Int32 = 0
    /// When it was given to the connection.
    var submitted = Moment(nanoseconds: 0)
    /// How much of the request's body nghttp2 has taken.
    var bodyOffset = 0

    /// The last `:status` that came; 0 before.
    var status = 0
    /// Whether the header block of the final answer is complete; what follows are trailers.
    var hasHeaders = false
    /// Whether the peer ended the stream as it should (END_STREAM).
    var hasEnded = false
    /// Whether a bound of ours cut the answer.
    var isCut = false
    /// The size of the header list so far, as RFC 9113 section 6.5.2 counts.
    var headerSize = 0
    var headers: [RetainedHeader] = []
    var body: [UInt8] = []

    init(slot: Int) { self.slot = slot }

    /// Takes a request into use.
    func begin(_ request: HTTP2Request, _ continuation: UnsafeContinuation<Answer, Never>, now: Moment) {
        precondition(unsafe self.continuation == nil, "an exchange is in use already")
        self.request = request
        unsafe self.continuation = continuation
        arrived = now
    }

    /// Whether the caller still waits.
    var isPending: Bool { unsafe continuation != nil }

    /// Whether the last status is a final one.
    var hasFinalStatus: Bool { status >= 200 }

    /// Whether what the peer did is known: a final status, in a header block that came to its end.
    var isAnswered: Bool { hasFinalStatus && hasHeaders }

    /// Whether the peer has said all before we have: a whole answer, while the body has not left.
    var isAnsweredEarly: Bool { isAnswered && hasEnded && bodyOffset < request.body.count }

    /// The answer as far as it has come.
    var response: HTTP2Response? {
        guard isAnswered, let connection else { return nil }
        return HTTP2Response(
            status: status, body: body, bodyWasCut: isCut || !hasEnded, connection: connection.id, headers: headers)
    }

    /// Answers the caller, once.
    func resume(_ answer: Answer) {
        guard let continuation = unsafe continuation else { preconditionFailure("a request was answered twice") }
        unsafe self.continuation = nil
        unsafe continuation.resume(returning: answer)
    }

    /// Forgets everything, for the next use.
    func reset() {
        precondition(!isPending, "a request would be lost")
        request = HTTP2Request(path: "")
        avoided = nil
        connection = nil
        stream = 0
        bodyOffset = 0
        status = 0
        hasHeaders = false
        hasEnded = false
        isCut = false
        headerSize = 0
        headers = []
        body = []
    }
}
