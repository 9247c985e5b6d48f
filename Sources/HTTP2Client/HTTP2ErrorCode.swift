/// The error codes of RFC 9113, section 7, that mean something of their own to a client.
enum HTTP2ErrorCode {
    /// The stream was not processed, and may be sent again (section 8.7).
    static let refusedStream: UInt32 = 7

    /// Whether a goodbye with this code says that we behave badly, so that a new connection should not follow at once:
    /// PROTOCOL_ERROR, which Google sends over too many streams, and ENHANCE_YOUR_CALM.
    static func asksForPause(_ code: UInt32) -> Bool { code == 1 || code == 11 }
}
