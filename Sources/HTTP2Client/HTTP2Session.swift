import CNghttp2

/// One HTTP/2 session of a client, without any I/O: bytes go in, events come out, bytes come out.
///
/// Owns the nghttp2 session. Events go to the connection while ``receive(_:)`` or ``gather(into:)`` runs; what the
/// connection does about them may submit frames but must not come back into either, nor release the session.
///
/// nghttp2's own queue is never used: it holds what is over the peer's stream limit without telling anybody, and
/// deleting a session calls nobody back. So the connection submits only what may leave at once and keeps its own list
/// of what is in flight. Loop thread.
@safe final class HTTP2Session {
    private let session: OpaquePointer
    /// Filled anew for each request; its memory stays.
    private var block = HeaderBlock()
    private var isFirstRequest = true

    /// Bytes of the table that our header fields may fill at the peer, whatever it offers: Apple keeps a small one.
    private static let encoderTableSize = 4096

    /// Makes a session whose SETTINGS wait to be gathered. `connection` must outlive it.
    init(for connection: HTTP2Connection, configuration: HTTP2PoolConfiguration) {
        var options: OpaquePointer?
        unsafe nghttp2_option_new(&options)
        unsafe nghttp2_option_set_peer_max_concurrent_streams(options, UInt32(configuration.initialStreamLimit))
        unsafe nghttp2_option_set_max_deflate_dynamic_table_size(options, Self.encoderTableSize)
        var session: OpaquePointer?
        let callbacks = unsafe makeSessionCallbacks()
        let context = unsafe Unmanaged.passUnretained(connection).toOpaque()
        let code = unsafe nghttp2_session_client_new2(&session, callbacks, context, options)
        unsafe nghttp2_session_callbacks_del(callbacks)
        unsafe nghttp2_option_del(options)
        guard code == 0, let session = unsafe session else { preconditionFailure("out of memory for a session") }
        unsafe self.session = session

        let settings = [
            nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue),
                value: UInt32(configuration.maximumHeaderList)),
        ]
        let submitted = unsafe nghttp2_submit_settings(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), settings, settings.count)
        precondition(submitted == 0, "out of memory for a session")
    }

    deinit {
        unsafe nghttp2_session_del(session)
    }

    /// Whether a request may still be submitted: not after a goodbye, nor when stream ids have run out.
    var takesRequests: Bool { unsafe nghttp2_session_check_request_allowed(session) != 0 }

    /// Whether the session is over: it wants nothing of the peer and has nothing to say.
    var isOver: Bool {
        unsafe nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
    }

    /// Whether there are no more numbers for streams.
    var isUsedUp: Bool { unsafe nghttp2_session_get_next_stream_id(session) > UInt32(Int32.max) }

    /// Takes bytes from the peer. False when the session is broken beyond repair: nghttp2 then says no goodbye by
    /// itself, and may even go on wanting to read.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        return unsafe nghttp2_session_mem_recv(session, start, bytes.count) == bytes.count
    }

    /// Appends frames that are ready to a buffer while it has room; false when the session is broken. DATA frames go there by
    /// way of the connection, which must have the same buffer.
    func gather(into buffer: OutgoingBuffer) -> Bool {
        buffer.compact()
        while buffer.hasRoom {
            var start: UnsafePointer<UInt8>?
            let count = unsafe nghttp2_session_mem_send(session, &start)
            guard count >= 0 else { return false }
            guard count > 0 else { break }
            unsafe buffer.append(UnsafeRawBufferPointer(start: start, count: count))
        }
        return true
    }

    /// Submits a request; the stream's id, or nil when nghttp2 would not have it.
    func submit(_ exchange: Exchange, authority: String) -> Int32? {
        let request = exchange.request
        let user = unsafe Unmanaged.passUnretained(exchange).toOpaque()
        let isFirst = isFirstRequest
        isFirstRequest = false
        // Moved out and back in: a variable of a class is checked for overlapping accesses each time it is touched, and
        // filling touches it thirty times.
        var block = HeaderBlock()
        swap(&block, &self.block)
        defer { swap(&block, &self.block) }
        let stream = unsafe block.fill(with: request, authority: authority, isFirst: isFirst) { fields in
            if request.body.isEmpty {
                return unsafe nghttp2_submit_request(session, nil, fields.baseAddress, fields.count, nil, user)
            }
            var provider = unsafe nghttp2_data_provider()
            unsafe provider.source.ptr = user
            unsafe provider.read_callback = measureRequestBody
            return unsafe nghttp2_submit_request(session, nil, fields.baseAddress, fields.count, &provider, user)
        }
        return stream > 0 ? stream : nil
    }

    /// Resets a stream with CANCEL. It is closed, and its place free, when the frame has been gathered.
    func cancel(_ stream: Int32) {
        unsafe nghttp2_submit_rst_stream(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, UInt32(NGHTTP2_CANCEL.rawValue))
    }

    /// Submits a PING.
    func ping() {
        unsafe nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil)
    }

    /// Submits a goodbye without fault.
    func sayGoodbye() {
        unsafe nghttp2_session_terminate_session(session, UInt32(NGHTTP2_NO_ERROR.rawValue))
    }

    /// How many streams the peer allows; the largest number there is where it never said.
    var peerStreamLimit: UInt32 {
        unsafe nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
    }

    /// How many more bytes of bodies the peer takes at the moment, over all streams together.
    var peerWindow: Int { unsafe Int(nghttp2_session_get_remote_window_size(session)) }
}
