import COpenSSL
import Glibc
import Testing

/// One HTTP/2 frame (RFC 9113, section 4.1).
struct Frame {
    enum Kind: UInt8 {
        case data, headers, priority, resetStream, settings, pushPromise, ping, goAway, windowUpdate, continuation
    }

    var kind: Kind
    var flags: UInt8 = 0
    var stream: UInt32 = 0
    var payload: [UInt8] = []

    /// END_STREAM on DATA and HEADERS, ACK on SETTINGS and PING.
    static let first: UInt8 = 0x1
    static let endHeaders: UInt8 = 0x4

    var bytes: [UInt8] {
        let length = UInt32(payload.count)
        return [UInt8(length >> 16 & 255), UInt8(length >> 8 & 255), UInt8(length & 255), kind.rawValue, flags]
            + big(stream) + payload
    }
}

/// A number as four bytes, the first most significant.
func big(_ value: UInt32) -> [UInt8] {
    [UInt8(value >> 24), UInt8(value >> 16 & 255), UInt8(value >> 8 & 255), UInt8(value & 255)]
}

/// The peer's end of one connection, with blocking calls. Used by the thread of its script alone.
@safe final class PeerConnection {
    /// 1 for the first connection that the peer accepted.
    let number: Int
    /// How many requests have begun to come, whole or not.
    private(set) var begun = 0
    /// Whether PINGs are answered on the way.
    var answersPings = true
    private let ssl: OpaquePointer
    private let socket: Int32

    /// Thrown when the client has gone.
    struct Ended: Error {}

    init(_ ssl: OpaquePointer, socket: Int32, number: Int) {
        unsafe self.ssl = ssl
        self.socket = socket
        self.number = number
    }

    // MARK: Reading

    /// Reads so many bytes.
    func read(_ count: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: max(count, 1))
        while bytes.count < count {
            let read = unsafe SSL_read(ssl, &buffer, Int32(count - bytes.count))
            guard read > 0 else { throw Ended() }
            bytes += buffer.prefix(Int(read))
        }
        return bytes
    }

    /// Reads a frame.
    func readFrame() throws -> Frame {
        let head = try read(9)
        let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
        guard let kind = Frame.Kind(rawValue: head[3]) else { throw Ended() }
        if kind == .headers { begun += 1 }
        let stream = head[5...8].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        return Frame(kind: kind, flags: head[4], stream: stream, payload: try read(length))
    }

    /// Reads the client's preface and first SETTINGS, sends own SETTINGS (identifier, value) and acknowledges.
    func begin(_ settings: [(UInt16, UInt32)] = []) throws {
        guard try read(24) == Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) else { throw Ended() }
        try self.settings(settings)
    }

    /// Reads until a request is complete and gives its stream; answers SETTINGS and PING on the way.
    func nextRequest() throws -> UInt32 {
        while true {
            let frame = try readFrame()
            switch frame.kind {
            case .headers, .data:
                if frame.flags & Frame.first != 0 { return frame.stream }
            case .settings where frame.flags & Frame.first == 0: try write(Frame(kind: .settings, flags: Frame.first))
            case .ping where frame.flags & Frame.first == 0 && answersPings:
                try write(Frame(kind: .ping, flags: Frame.first, payload: frame.payload))
            case .goAway: throw Ended()
            default: break
            }
        }
    }

    /// Reads until a frame of a kind has come; answers nothing on the way but the client's SETTINGS.
    func next(_ kind: Frame.Kind) throws -> Frame {
        while true {
            let frame = try readFrame()
            if frame.kind == kind { return frame }
            if frame.kind == .settings, frame.flags & Frame.first == 0 {
                try write(Frame(kind: .settings, flags: Frame.first))
            }
        }
    }

    /// Sees to it that the client sends nothing at the moment, by a PING whose answer must come next. Only the client's
    /// own SETTINGS, their acknowledgement and WINDOW_UPDATE may come before it.
    func expectSilence() throws {
        try write(Frame(kind: .ping, payload: [UInt8](repeating: 7, count: 8)))
        while true {
            let frame = try readFrame()
            switch frame.kind {
            case .ping where frame.flags & Frame.first != 0: return
            case .settings where frame.flags & Frame.first == 0:
                try write(Frame(kind: .settings, flags: Frame.first))
            case .settings, .windowUpdate: break
            default: Issue.record("\(frame.kind) on stream \(frame.stream) where nothing should come")
            }
        }
    }

    /// Reads and forgets until the client has gone.
    func readToEnd() {
        while (try? read(1)) != nil {}
    }

    // MARK: Writing

    /// Writes bytes as they are.
    func write(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = unsafe rest.withUnsafeBytes { raw in
                unsafe SSL_write(ssl, raw.baseAddress, Int32(raw.count))
            }
            guard written > 0 else { throw Ended() }
            rest = rest.dropFirst(Int(written))
        }
    }

    func write(_ frame: Frame) throws { try write(frame.bytes) }

    func settings(_ settings: [(UInt16, UInt32)]) throws {
        let payload = settings.flatMap { [UInt8($0.0 >> 8), UInt8($0.0 & 255)] + big($0.1) }
        try write(Frame(kind: .settings, payload: payload))
    }

    /// Answers a request: a header block, and a body if there is one.
    func answer(
        _ stream: UInt32, status: Int = 200, headers: [(String, String)] = [], body: String = "", ends: Bool = true
    ) throws {
        try write(
            Frame(
                kind: .headers, flags: Frame.endHeaders | (body.isEmpty && ends ? Frame.first : 0), stream: stream,
                payload: headerBlock([(":status", String(status))] + headers)))
        if !body.isEmpty {
            try write(Frame(kind: .data, flags: ends ? Frame.first : 0, stream: stream, payload: Array(body.utf8)))
        }
    }

    func reset(_ stream: UInt32, code: UInt32) throws {
        try write(Frame(kind: .resetStream, stream: stream, payload: big(code)))
    }

    func goAway(last: UInt32, code: UInt32 = 0, debug: String = "") throws {
        try write(Frame(kind: .goAway, payload: big(last) + big(code) + Array(debug.utf8)))
    }

    /// Ends TCP without a word of TLS.
    func drop() {
        shutdown(socket, Int32(SHUT_RDWR))
    }

    /// Makes TCP end with a reset when the script is over.
    func willReset() {
        var lingering = linger(l_onoff: 1, l_linger: 0)
        unsafe setsockopt(socket, SOL_SOCKET, SO_LINGER, &lingering, socklen_t(MemoryLayout<linger>.size))
    }
}

/// A header block of literals without indexing and without Huffman coding (RFC 7541, section 6.2.2). Values shorter
/// than 127 bytes.
func headerBlock(_ fields: [(String, String)]) -> [UInt8] {
    var block: [UInt8] = []
    for (name, value) in fields {
        block.append(0)
        for text in [name, value] {
            block.append(UInt8(text.utf8.count))
            block += text.utf8
        }
    }
    return block
}
