/// One HTTP/2 frame written by hand (RFC 9113 section 4.1): what no well-behaved library sends.
///
/// Header blocks are literals without indexing (RFC 7541 section 6.2.2), so that they leave the dynamic table alone,
/// which belongs to the connection's own session.
package struct WireFrame: Sendable, Equatable {
    /// Which stream the frame is on.
    package enum Stream: Sendable, Equatable {
        /// Stream 0.
        case connection
        /// The stream of the request that met the fault; the newest stream where there is no such request.
        case request
        /// Exactly this one.
        case number(UInt32)
    }

    /// The frame's type; those of RFC 9113 section 6 are 0 to 9.
    package var type: UInt8
    /// The frame's flags.
    package var flags: UInt8
    /// The frame's stream.
    package var stream: Stream
    /// At most 16,777,215 bytes; more are cut off.
    package var payload: [UInt8]
    /// A length to claim in place of the payload's own.
    package var claimedLength: Int?

    package init(
        type: UInt8, flags: UInt8 = 0, stream: Stream, payload: [UInt8] = [], claimedLength: Int? = nil
    ) {
        self.type = type
        self.flags = flags
        self.stream = stream
        self.payload = payload
        self.claimedLength = claimedLength
    }

    /// END_STREAM of DATA and HEADERS; ACK of SETTINGS and PING.
    package static let endStream: UInt8 = 0x1
    /// END_HEADERS of HEADERS, CONTINUATION and PUSH_PROMISE.
    package static let endHeaders: UInt8 = 0x4

    // MARK: The usual kinds

    /// DATA.
    package static func data(_ text: String, endsStream: Bool = false) -> WireFrame {
        WireFrame(type: 0, flags: endsStream ? endStream : 0, stream: .request, payload: Array(text.utf8))
    }

    /// HEADERS; names are sent as they are, upper case too.
    package static func headers(
        _ fields: [HeaderField], endsStream: Bool = false, endsHeaders: Bool = true
    ) -> WireFrame {
        WireFrame(
            type: 1, flags: (endsStream ? endStream : 0) | (endsHeaders ? endHeaders : 0), stream: .request,
            payload: block(fields))
    }

    /// HEADERS with nothing but a status.
    package static func status(_ status: Int, endsStream: Bool = false) -> WireFrame {
        headers([HeaderField(":status", String(status))], endsStream: endsStream)
    }

    /// RST_STREAM.
    package static func reset(_ code: UInt32, on stream: Stream = .request) -> WireFrame {
        WireFrame(type: 3, stream: stream, payload: bytes(code))
    }

    /// SETTINGS of these ids and values, in this order.
    package static func settings(_ entries: [ConnectionSetting]) -> WireFrame {
        WireFrame(
            type: 4, stream: .connection,
            payload: entries.flatMap { [UInt8($0.id >> 8), UInt8(truncatingIfNeeded: $0.id)] + bytes($0.value) })
    }

    /// PUSH_PROMISE of a stream, for a request of these fields. Servers that push are what SETTINGS_ENABLE_PUSH forbids.
    package static func pushPromise(of promised: UInt32, _ fields: [HeaderField]) -> WireFrame {
        WireFrame(type: 5, flags: endHeaders, stream: .request, payload: bytes(promised) + block(fields))
    }

    /// PING.
    package static func ping(_ value: UInt64 = 0, isAnswer: Bool = false) -> WireFrame {
        WireFrame(
            type: 6, flags: isAnswer ? endStream : 0, stream: .connection,
            payload: bytes(UInt32(truncatingIfNeeded: value >> 32)) + bytes(UInt32(truncatingIfNeeded: value)))
    }

    /// GOAWAY, exactly as told.
    package static func goAway(lastStreamID: UInt32, code: UInt32 = 0, text: String = "") -> WireFrame {
        WireFrame(type: 7, stream: .connection, payload: bytes(lastStreamID) + bytes(code) + Array(text.utf8))
    }

    /// WINDOW_UPDATE.
    package static func windowUpdate(_ increment: UInt32, on stream: Stream = .connection) -> WireFrame {
        WireFrame(type: 8, stream: stream, payload: bytes(increment))
    }

    /// CONTINUATION.
    package static func continuation(_ fields: [HeaderField], endsHeaders: Bool = false) -> WireFrame {
        WireFrame(type: 9, flags: endsHeaders ? endHeaders : 0, stream: .request, payload: block(fields))
    }

    // MARK: Bytes

    /// The frame as it goes out, where `request` is the number of the stream meant by ``Stream/request``.
    func bytes(request: Int32) -> [UInt8] {
        let payload = payload.prefix(0xFF_FFFF)
        let length = UInt32(truncatingIfNeeded: claimedLength ?? payload.count)
        let number: UInt32 =
            switch stream {
            case .connection: 0
            case .request: UInt32(bitPattern: request)
            case .number(let number): number
            }
        return Array(Self.bytes(length)[1...]) + [type, flags] + Self.bytes(number) + payload
    }

    /// Whether nothing may follow on the request's stream.
    var endsRequest: Bool {
        guard stream == .request else { return false }
        return type == 3 || (type <= 1 && flags & Self.endStream != 0)
    }

    private static func bytes(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    /// A header block of literals without indexing.
    static func block(_ fields: [HeaderField]) -> [UInt8] {
        fields.flatMap { [0x00] + string($0.name) + string($0.value) }
    }

    /// A string literal that is not Huffman-coded (RFC 7541 section 5.2).
    private static func string(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        guard bytes.count >= 127 else { return [UInt8(bytes.count)] + bytes }
        // An integer with a prefix of seven bits (section 5.1).
        var length: [UInt8] = [127]
        var rest = bytes.count - 127
        while rest >= 128 {
            length.append(UInt8(rest % 128) | 0x80)
            rest /= 128
        }
        return length + [UInt8(rest)] + bytes
    }
}

/// One entry of a SETTINGS frame (RFC 9113 section 6.5.2).
package struct ConnectionSetting: Sendable, Equatable {
    /// The parameter's number.
    package var id: UInt16
    /// Its value.
    package var value: UInt32

    package init(id: UInt16, value: UInt32) {
        self.id = id
        self.value = value
    }

    /// SETTINGS_HEADER_TABLE_SIZE.
    package static func headerTableSize(_ value: UInt32) -> ConnectionSetting { .init(id: 1, value: value) }
    /// SETTINGS_MAX_CONCURRENT_STREAMS.
    package static func concurrentStreams(_ value: UInt32) -> ConnectionSetting { .init(id: 3, value: value) }
    /// SETTINGS_INITIAL_WINDOW_SIZE; at most 2^31-1.
    package static func initialWindowSize(_ value: UInt32) -> ConnectionSetting { .init(id: 4, value: value) }
    /// SETTINGS_MAX_FRAME_SIZE; 16,384 to 16,777,215.
    package static func maxFrameSize(_ value: UInt32) -> ConnectionSetting { .init(id: 5, value: value) }
    /// SETTINGS_MAX_HEADER_LIST_SIZE.
    package static func maxHeaderListSize(_ value: UInt32) -> ConnectionSetting { .init(id: 6, value: value) }
}
