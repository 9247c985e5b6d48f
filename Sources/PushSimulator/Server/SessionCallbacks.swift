import CNghttp2

/// The session callbacks and options that all connections share. Made once, read only.
@safe final class SessionCallbacks {
    let pointer: OpaquePointer
    let options: OpaquePointer

    /// Names the callbacks below.
    init() throws(SimulatorError) {
        var callbacks: OpaquePointer?
        var options: OpaquePointer?
        guard unsafe nghttp2_session_callbacks_new(&callbacks) == 0, let callbacks = unsafe callbacks,
            unsafe nghttp2_option_new(&options) == 0, let options = unsafe options
        else { throw .nghttp2("nghttp2_session_callbacks_new") }
        // Closed streams are of no use to a server that ignores priorities.
        unsafe nghttp2_option_set_no_closed_streams(options, 1)
        unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, headersBegan)
        unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks, headerCame)
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, bodyCame)
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, frameCame)
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, streamClosed)
        unsafe nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, frameRefused)
        unsafe pointer = callbacks
        unsafe self.options = options
    }

    deinit {
        unsafe nghttp2_session_callbacks_del(pointer)
        unsafe nghttp2_option_del(options)
    }
}

private func connection(_ context: UnsafeMutableRawPointer?) -> ServerConnection {
    guard let context = unsafe context else { preconditionFailure("a session callback without its connection") }
    return unsafe Unmanaged<ServerConnection>.fromOpaque(context).takeUnretainedValue()
}

private func headersBegan(
    _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame?.pointee else { return 0 }
    if unsafe frame.headers.cat == NGHTTP2_HCAT_REQUEST {
        unsafe connection(context).began(frame.hd.stream_id)
    }
    return 0
}

private func headerCame(
    _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ name: UnsafePointer<UInt8>?, _ nameLength: Int,
    _ value: UnsafePointer<UInt8>?, _ valueLength: Int, _ flags: UInt8, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame?.pointee, unsafe frame.headers.cat == NGHTTP2_HCAT_REQUEST else { return 0 }
    let name = unsafe String(decoding: UnsafeBufferPointer(start: name, count: nameLength), as: UTF8.self)
    let value = unsafe String(decoding: UnsafeBufferPointer(start: value, count: valueLength), as: UTF8.self)
    let isNeverIndexed = flags & UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue) != 0
    let isTaken = unsafe connection(context).took(
        name: name, value: value, isNeverIndexed: isNeverIndexed, on: frame.hd.stream_id)
    return isTaken ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
}

private func bodyCame(
    _: OpaquePointer?, _: UInt8, _ stream: Int32, _ bytes: UnsafePointer<UInt8>?, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    unsafe connection(context).took(body: UnsafeBufferPointer(start: bytes, count: count), on: stream)
    return 0
}

private func frameCame(
    _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let header = unsafe frame?.pointee.hd else { return 0 }
    let isPartOfRequest =
        header.type == UInt8(NGHTTP2_HEADERS.rawValue) || header.type == UInt8(NGHTTP2_DATA.rawValue)
    if !isPartOfRequest { unsafe connection(context).took(frame: header.type, flags: header.flags) }
    if isPartOfRequest, header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 {
        unsafe connection(context).finished(header.stream_id)
    }
    return 0
}

private func streamClosed(
    _: OpaquePointer?, _ stream: Int32, _: UInt32, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    unsafe connection(context).closed(stream)
    return 0
}

private func frameRefused(
    _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ code: Int32, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let header = unsafe frame?.pointee.hd, header.type == UInt8(NGHTTP2_HEADERS.rawValue) else { return 0 }
    switch code {
    case NGHTTP2_ERR_REFUSED_STREAM.rawValue: unsafe connection(context).refusedHeaders(isFatal: false)
    case NGHTTP2_ERR_PROTO.rawValue: unsafe connection(context).refusedHeaders(isFatal: true)
    default: break
    }
    return 0
}

/// Hands the body of an answer to the session.
func answerBodyWanted(
    _: OpaquePointer?, _ stream: Int32, _ buffer: UnsafeMutablePointer<UInt8>?, _ length: Int,
    _ flags: UnsafeMutablePointer<UInt32>?, _: UnsafeMutablePointer<nghttp2_data_source>?,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    let target = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: length)
    let (count, isLast) = unsafe connection(context).answerBody(of: stream, into: target)
    if isLast { unsafe flags?.pointee = NGHTTP2_DATA_FLAG_EOF.rawValue }
    return count
}
