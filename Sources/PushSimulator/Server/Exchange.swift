/// One header field as it came or goes, name in lower case as HTTP/2 wants it (RFC 9113 section 8.2.1).
package struct HeaderField: Sendable, Equatable {
    /// In lower case.
    package var name: String
    /// As it came, bytes that are no UTF-8 replaced.
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// A whole request, body and all.
struct HTTPRequest: Sendable {
    /// `:method`.
    var method = ""
    /// The target as sent, query included.
    var target = ""
    /// `:authority`.
    var authority = ""
    /// Every field but the pseudo-headers, in the order in which they came.
    var headers: [HeaderField] = []
    /// Names of the fields that came as literals never to be indexed, pseudo-headers too.
    var neverIndexed: [String] = []
    /// At most ``ServerConnection/largestBody`` bytes; a longer body is cut there.
    var body: [UInt8] = []

    /// The target up to the question mark.
    var path: Substring { target.prefix { $0 != "?" } }

    /// The first field of this name.
    func header(_ name: String) -> String? {
        headers.first { $0.name == name }?.value
    }

    /// Whether any of these names comes more than once.
    func repeats(anyOf names: [String]) -> String? {
        names.first { name in headers.count { $0.name == name } > 1 }
    }
}

/// A whole answer.
package struct SimulatedAnswer: Sendable, Equatable {
    /// An HTTP status.
    package var status: Int
    /// Sent in this order after `:status`.
    package var headers: [HeaderField]
    /// Empty: the stream ends with its HEADERS, and there is no DATA.
    package var body: String

    package init(status: Int, headers: [HeaderField] = [], body: String = "") {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// A GOAWAY to send (RFC 9113 section 6.8).
package struct GoAway: Sendable, Equatable {
    /// An HTTP/2 error code; 0 is NO_ERROR.
    package var code: UInt32
    /// The debug data: Apple puts `{"reason":"…"}` or a plain text there.
    package var text: String
    /// The last stream that counts as processed; nil is the last one that was.
    package var lastStreamID: Int32?
    /// Added to the newest stream where ``lastStreamID`` is nil and ``ConnectionAct/goAway(_:)`` sends it: -2 leaves the
    /// newest request out, 2 speaks of one that never was.
    package var lastStreamOffset: Int32
    /// Whether the connection is closed right after, without TLS's `close_notify`, as Apple was seen to do.
    package var closes: Bool

    package init(
        code: UInt32 = 0, text: String = "", lastStreamID: Int32? = nil, lastStreamOffset: Int32 = 0,
        closes: Bool = false
    ) {
        self.code = code
        self.text = text
        self.lastStreamID = lastStreamID
        self.lastStreamOffset = lastStreamOffset
        self.closes = closes
    }
}

/// What a service wants done about one request.
struct Reaction {
    /// What becomes of the stream.
    enum Action {
        case answer(SimulatedAnswer)
        /// The stream stays open for as long as the client bears it.
        case silence
        /// RST_STREAM with this code.
        case reset(UInt32)
        case goAway(GoAway)
        /// The connection is closed at once, without a word.
        case disconnect
        /// These frames in place of an answer.
        case frames([WireFrame])
    }

    /// What becomes of the stream.
    var action: Action
    /// How long the action waits.
    var delay: Duration = .zero
    /// A new SETTINGS_MAX_CONCURRENT_STREAMS, announced at once.
    var concurrentStreams: UInt32?
    /// Done at once, before the action and its delay.
    var before: [ConnectionAct] = []
    /// Done right after the action.
    var after: [ConnectionAct] = []
    /// The word of a refusal, which plans count.
    var reason: String?
}

/// What a service says about a connection in its first SETTINGS.
struct ConnectionSettings: Equatable {
    /// SETTINGS_MAX_CONCURRENT_STREAMS.
    var concurrentStreams: UInt32
    /// SETTINGS_HEADER_TABLE_SIZE.
    var headerTableSize: UInt32 = 4096
    /// SETTINGS_INITIAL_WINDOW_SIZE.
    var initialWindowSize: UInt32 = 65_535
    /// SETTINGS_MAX_FRAME_SIZE.
    var maxFrameSize: UInt32 = 16_384
    /// SETTINGS_MAX_HEADER_LIST_SIZE; requests beyond it are not taken.
    var maxHeaderListSize: UInt32 = 8000
    /// The window of the connection as a whole, which no SETTINGS can say (RFC 9113 section 6.9.2).
    var connectionWindow: UInt32 = 65_535
}

/// One connection as its service sees it: what it remembers from request to request.
///
/// Loop thread. It never sees the connection itself: it answers with what is to be done.
protocol Conversation: AnyObject {
    /// The first SETTINGS.
    var settings: ConnectionSettings { get }
    /// How the connection behaves beyond that.
    var behaviour: ConnectionBehaviour { get }
    /// The debug data of the GOAWAY for a client that opens more streams than it may.
    var overLimitText: String { get }
    /// Decides about one whole request.
    func react(to request: HTTPRequest, stream: Int32) -> Reaction
    /// A stream too many was opened.
    func wentOverLimit()
    /// So many streams are open at once, which is more than ever on this connection.
    func saw(openStreams: Int)
    /// A frame came that is no part of a request: PING, RST_STREAM, GOAWAY and the like.
    func saw(frame: String)
    /// A whole request came that the connection will never answer.
    func leftUnanswered()
    /// The connection is gone.
    func ended()
}
