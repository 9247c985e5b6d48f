import CNghttp2

// What nghttp2 calls. Named, at file scope and without isolation, because a closure written in an isolated context
// would carry that isolation into C. Each takes the connection out of the context and makes one call. The context is
// the connection, not retained: it owns the session and so outlives it.

/// The callbacks of a client session, for the caller to free once a session has copied them.
func makeSessionCallbacks() -> OpaquePointer? {
    var callbacks: OpaquePointer?
    unsafe nghttp2_session_callbacks_new(&callbacks)
    unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks, receivedHeader)
    unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, receivedData)
    unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, receivedFrame)
    unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, closedStream)
    unsafe nghttp2_session_callbacks_set_send_data_callback(callbacks, sendRequestBody)
    return unsafe callbacks
}

/// Tells nghttp2 how much of a request's body goes next. It is not to have the bytes: from a buffer of its own, which lives as
/// long as the session, they would be read long after. The source is the exchange, which lives until its stream is closed.
func measureRequestBody(
    _: OpaquePointer?, _: Int32, _: UnsafeMutablePointer<UInt8>?, _ length: Int,
    _ flags: UnsafeMutablePointer<UInt32>?, _ source: UnsafeMutablePointer<nghttp2_data_source>?,
    _: UnsafeMutableRawPointer?
) -> Int {
    guard let flags = unsafe flags else { preconditionFailure("a body without flags") }
    let exchange = unsafe exchange(of: source)
    let left = exchange.request.body.count - exchange.bodyOffset
    unsafe flags.pointee |= NGHTTP2_DATA_FLAG_NO_COPY.rawValue
    if left <= length { unsafe flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
    return min(length, left)
}

/// Sends a DATA frame of what was measured, whole or, where there is no room, not yet.
private func sendRequestBody(
    _: OpaquePointer?, _: UnsafeMutablePointer<nghttp2_frame>?, _ head: UnsafePointer<UInt8>?, _ length: Int,
    _ source: UnsafeMutablePointer<nghttp2_data_source>?, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    let head = unsafe UnsafeRawBufferPointer(start: head, count: frameHeadLength)
    let isSent = unsafe connection(context).sendBody(of: exchange(of: source), length, behind: head)
    return isSent ? 0 : NGHTTP2_ERR_WOULDBLOCK.rawValue
}

/// RFC 9113 section 4.1.
private let frameHeadLength = 9

private func exchange(of source: UnsafeMutablePointer<nghttp2_data_source>?) -> Exchange {
    guard let pointer = unsafe source?.pointee.ptr else { preconditionFailure("a body without its request") }
    return unsafe Unmanaged<Exchange>.fromOpaque(pointer).takeUnretainedValue()
}

private func receivedHeader(
    _ session: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ name: UnsafePointer<UInt8>?,
    _ nameLength: Int, _ value: UnsafePointer<UInt8>?, _ valueLength: Int, _: UInt8,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame else { preconditionFailure("a header field without its frame") }
    let stream = unsafe frame.pointee.hd.stream_id
    guard let exchange = unsafe exchange(of: stream, in: session) else { return 0 }
    unsafe connection(context).receivedHeader(
        exchange, name: UnsafeBufferPointer(start: name, count: nameLength),
        value: UnsafeBufferPointer(start: value, count: valueLength))
    return 0
}

private func receivedData(
    _ session: OpaquePointer?, _: UInt8, _ stream: Int32, _ bytes: UnsafePointer<UInt8>?, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let exchange = unsafe exchange(of: stream, in: session) else { return 0 }
    unsafe connection(context).receivedData(exchange, UnsafeBufferPointer(start: bytes, count: count))
    return 0
}

private func receivedFrame(
    _ session: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame else { preconditionFailure("no frame") }
    let head = unsafe frame.pointee.hd
    let ends = UInt32(head.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0
    switch UInt32(head.type) {
    case NGHTTP2_HEADERS.rawValue:
        if let exchange = unsafe exchange(of: head.stream_id, in: session) {
            if exchange.hasFinalStatus { exchange.hasHeaders = true }
            if ends { unsafe connection(context).streamEnded(exchange) }
        }
    case NGHTTP2_DATA.rawValue:
        if ends, let exchange = unsafe exchange(of: head.stream_id, in: session) {
            unsafe connection(context).streamEnded(exchange)
        }
    case NGHTTP2_SETTINGS.rawValue where UInt32(head.flags) & NGHTTP2_FLAG_ACK.rawValue == 0:
        unsafe connection(context).receivedSettings()
    case NGHTTP2_GOAWAY.rawValue:
        let goAway = unsafe frame.pointee.goaway
        let text = unsafe UnsafeBufferPointer(start: goAway.opaque_data, count: goAway.opaque_data_len)
        unsafe connection(context).receivedGoAway(
            lastStream: goAway.last_stream_id, code: goAway.error_code, debug: printable(text))
    default: break
    }
    return 0
}

private func closedStream(
    _ session: OpaquePointer?, _ stream: Int32, _ code: UInt32, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let exchange = unsafe exchange(of: stream, in: session) else { return 0 }
    unsafe connection(context).streamClosed(exchange, code: code)
    return 0
}

private func connection(_ context: UnsafeMutableRawPointer?) -> HTTP2Connection {
    guard let context = unsafe context else { preconditionFailure("a session without its connection") }
    return unsafe Unmanaged<HTTP2Connection>.fromOpaque(context).takeUnretainedValue()
}

private func exchange(of stream: Int32, in session: OpaquePointer?) -> Exchange? {
    guard let pointer = unsafe nghttp2_session_get_stream_user_data(session, stream) else { return nil }
    return unsafe Unmanaged<Exchange>.fromOpaque(pointer).takeUnretainedValue()
}

/// The debug data of a goodbye as text: at most 256 bytes, everything but printable ASCII as `?`. It may say anything,
/// and is read for words that are known.
private func printable(_ bytes: UnsafeBufferPointer<UInt8>) -> String? {
    guard !bytes.isEmpty else { return nil }
    let kept = unsafe bytes.prefix(256).map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }
    return String(decoding: kept, as: UTF8.self)
}
