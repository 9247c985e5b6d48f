import CNghttp2
import COpenSSL

#if canImport(Glibc)
    import Glibc
#endif

/// What a test asks.
struct TestRequest: Sendable {
    var method = "POST"
    var path = "/"
    var headers: [(String, String)] = []
    var body: [UInt8] = []
}

/// What came back on one stream.
struct TestAnswer: Sendable, Equatable {
    var status: Int?
    var headers: [String: String] = [:]
    var body = ""
    /// Whether the HEADERS ended the stream.
    var endedWithHeaders = false
    /// The code of a RST_STREAM, or what nghttp2 closed the stream with.
    var closeCode: UInt32?
}

/// A GOAWAY that came in.
struct TestGoAway: Sendable, Equatable {
    var lastStreamID: Int32
    var code: UInt32
    var text: String
}

/// A frame as it came over the wire, whatever the session made of it.
struct TestFrame: Sendable, Equatable {
    var type: UInt8
    var flags: UInt8
    var stream: UInt32
    var payload: [UInt8]
}

struct TestClientError: Error, CustomStringConvertible {
    let description: String
}

/// A client of HTTP/2 over TLS for tests: it blocks, it shares nothing with the simulator's server, and it can be
/// made to misbehave. The server's certificate is verified for `localhost`.
@safe final class TestClient {
    private let descriptor: Int32
    private let context: OpaquePointer
    private let ssl: OpaquePointer
    private var session: OpaquePointer?
    private var bodies: [Int32: (bytes: [UInt8], sent: Int)] = [:]
    private(set) var answers: [Int32: TestAnswer] = [:]
    private(set) var goAways: [TestGoAway] = []
    /// The limit of streams as each SETTINGS announced it.
    private(set) var announcedStreams: [UInt32] = []
    private(set) var settings: [Int32: UInt32] = [:]
    /// Every whole frame that came.
    private(set) var frames: [TestFrame] = []
    private var unparsed: [UInt8] = []
    /// Whether the server closed the connection.
    private(set) var isClosed = false
    /// Whether it did so with `close_notify`.
    private(set) var sawCloseNotify = false
    /// Whether the session gave up on what the server sent; frames are still noted.
    private(set) var sessionFailed = false
    /// The protocol that the handshake settled on, empty for none.
    private(set) var negotiated = ""

    init(
        port: UInt16, rootPEM: String, verifyAs name: String = "localhost", offersHTTP2: Bool = true,
        protocols: [String] = ["h2"], prepare: (Int32) throws -> Void = { _ in }
    ) throws {
        signal(SIGPIPE, SIG_IGN)
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        unsafe context = SSL_CTX_new(TLS_client_method())
        unsafe ssl = SSL_new(context)
        var patience = timeval(tv_sec: 20, tv_usec: 0)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var on: Int32 = 1
        unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let code = unsafe withUnsafeBytes(of: &address) { bytes in
            unsafe connect(
                descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
        guard code == 0 else { throw TestClientError(description: "connect failed with errno \(errno)") }
        try prepare(descriptor)
        trust(rootPEM)
        unsafe SSL_set_verify(ssl, SSL_VERIFY_PEER, nil)
        unsafe SSL_set1_host(ssl, name)
        let offer = protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
        if offersHTTP2 { unsafe SSL_set_alpn_protos(ssl, offer, UInt32(offer.count)) }
        unsafe SSL_set_fd(ssl, descriptor)
        guard unsafe SSL_connect(ssl) == 1 else { throw TestClientError(description: "TLS failed") }
        var chosen: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        unsafe SSL_get0_alpn_selected(ssl, &chosen, &length)
        negotiated = unsafe String(decoding: UnsafeBufferPointer(start: chosen, count: Int(length)), as: UTF8.self)
        try makeSession()
    }

    deinit {
        unsafe nghttp2_session_del(session)
        unsafe SSL_free(ssl)
        unsafe SSL_CTX_free(context)
        close(descriptor)
    }

    private func trust(_ pem: String) {
        let bytes = Array(pem.utf8)
        let memory = unsafe BIO_new_mem_buf(bytes, Int32(bytes.count))
        let certificate = unsafe PEM_read_bio_X509(memory, nil, nil, nil)
        unsafe X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate)
        unsafe X509_free(certificate)
        unsafe BIO_free(memory)
    }

    private func makeSession() throws {
        var callbacks: OpaquePointer?
        unsafe nghttp2_session_callbacks_new(&callbacks)
        defer { unsafe nghttp2_session_callbacks_del(callbacks) }
        unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks, headerCame)
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, bodyCame)
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, frameCame)
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, streamClosed)
        let this = unsafe Unmanaged.passUnretained(self).toOpaque()
        guard unsafe nghttp2_session_client_new(&session, callbacks, this) == 0 else {
            throw TestClientError(description: "no session")
        }
        unsafe nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil, 0)
    }

    // MARK: Asking

    /// Sends one request and waits for the end of its stream.
    func exchange(_ request: TestRequest) throws -> TestAnswer {
        let stream = try send(request)
        return try answer(on: stream)
    }

    /// Sends one request and does not wait.
    func send(_ request: TestRequest) throws -> Int32 {
        let stream = try submit(request)
        try flush()
        return stream
    }

    /// Queues one request; ``flush()`` or the next wait sends it.
    func submit(_ request: TestRequest) throws -> Int32 {
        let pseudo = [
            (":method", request.method), (":scheme", "https"), (":authority", "localhost"), (":path", request.path),
        ]
        var storage: [UInt8] = []
        var lengths: [(Int, Int)] = []
        for (name, value) in pseudo + request.headers {
            storage += Array(name.utf8) + Array(value.utf8)
            lengths.append((name.utf8.count, value.utf8.count))
        }
        let hasBody = !request.body.isEmpty
        let stream = unsafe storage.withUnsafeMutableBufferPointer { storage -> Int32 in
            guard var next = storage.baseAddress else { return -1 }
            var fields: [nghttp2_nv] = unsafe []
            for (name, value) in lengths {
                unsafe fields.append(
                    nghttp2_nv(name: next, value: next + name, namelen: name, valuelen: value, flags: 0))
                unsafe next += name + value
            }
            var provider = unsafe nghttp2_data_provider(source: nghttp2_data_source(), read_callback: bodyWanted)
            return unsafe hasBody
                ? nghttp2_submit_request(session, nil, fields, fields.count, &provider, nil)
                : nghttp2_submit_request(session, nil, fields, fields.count, nil, nil)
        }
        guard stream > 0 else { throw TestClientError(description: "nghttp2 refused the request: \(stream)") }
        bodies[stream] = (request.body, 0)
        answers[stream] = TestAnswer()
        return stream
    }

    /// Waits for the end of a stream.
    func answer(on stream: Int32) throws -> TestAnswer {
        try wait { $0.answers[stream]?.closeCode != nil }
        return answers[stream] ?? TestAnswer()
    }

    /// Reads and writes until the condition holds. An end of the connection before that is an error.
    func wait(until isMet: (TestClient) -> Bool) throws {
        try flush()
        while !isMet(self) {
            guard try readOnce() else {
                if isMet(self) { return }
                throw TestClientError(description: "the connection ended, or nothing came for 20 seconds")
            }
            try flush()
        }
    }

    /// Reads until the server closes.
    func waitForClose() throws {
        try flush()
        while try readOnce() { try flush() }
        guard isClosed else { throw TestClientError(description: "nothing came for 20 seconds") }
    }

    /// Sends what the session has.
    func flush() throws {
        var data: UnsafePointer<UInt8>?
        while true {
            let count = unsafe nghttp2_session_mem_send(session, &data)
            guard count > 0, let bytes = unsafe data else { return }
            try unsafe sendRaw(Array(UnsafeBufferPointer(start: bytes, count: count)))
        }
    }

    /// Sends bytes past the session, so that a test can break the rules.
    func sendRaw(_ bytes: [UInt8]) throws {
        guard unsafe SSL_write(ssl, bytes, Int32(bytes.count)) == Int32(bytes.count) else {
            isClosed = true
            return
        }
    }

    private func readOnce() throws -> Bool {
        guard !isClosed else { return false }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        // What an earlier call of anybody's has left in the thread's queue would be taken for this one's.
        ERR_clear_error()
        let count = unsafe SSL_read(ssl, &buffer, Int32(buffer.count))
        guard count > 0 else {
            let error = unsafe SSL_get_error(ssl, count)
            isClosed = error != SSL_ERROR_WANT_READ
            // Asked again afterwards, OpenSSL may say something else.
            if error == SSL_ERROR_ZERO_RETURN { sawCloseNotify = true }
            return false
        }
        noteFrames(buffer[..<Int(count)])
        guard !sessionFailed else { return true }
        sessionFailed = unsafe nghttp2_session_mem_recv(session, buffer, Int(count)) != Int(count)
        return true
    }

    private func noteFrames(_ bytes: ArraySlice<UInt8>) {
        unparsed += bytes
        while unparsed.count >= 9 {
            let length = Int(unparsed[0]) << 16 | Int(unparsed[1]) << 8 | Int(unparsed[2])
            guard unparsed.count >= 9 + length else { return }
            let stream = unparsed[5..<9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            frames.append(
                TestFrame(
                    type: unparsed[3], flags: unparsed[4], stream: stream, payload: Array(unparsed[9..<9 + length])))
            unparsed.removeFirst(9 + length)
        }
    }

    /// What came that is no whole frame.
    var leftover: String { String(decoding: unparsed, as: UTF8.self) }

    /// The frames of this type.
    func frames(ofType type: UInt8) -> [TestFrame] { frames.filter { $0.type == type } }

    /// Asks whether the server is there.
    func ping() throws {
        unsafe nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil)
        try flush()
    }

    /// Whether nothing comes for this long. Only for what can never come: time decides nothing where it could.
    func staysSilent(milliseconds: Int) throws -> Bool {
        var patience = timeval(tv_sec: milliseconds / 1000, tv_usec: milliseconds % 1000 * 1000)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        let before = frames.count
        let cameAny = try readOnce()
        patience = timeval(tv_sec: 20, tv_usec: 0)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        return !cameAny && frames.count == before && !isClosed
    }

    // MARK: From the session

    fileprivate func took(_ name: String, _ value: String, on stream: Int32) {
        if name == ":status" {
            answers[stream]?.status = Int(value)
        } else {
            answers[stream]?.headers[name] = value
        }
    }

    fileprivate func took(body: String, on stream: Int32) { answers[stream]?.body += body }

    fileprivate func endedWithHeaders(_ stream: Int32) { answers[stream]?.endedWithHeaders = true }

    fileprivate func took(_ goAway: TestGoAway) { goAways.append(goAway) }

    fileprivate func took(setting id: Int32, _ value: UInt32) {
        settings[id] = value
        if id == Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue) { announcedStreams.append(value) }
    }

    fileprivate func closed(_ stream: Int32, _ code: UInt32) { answers[stream]?.closeCode = code }

    fileprivate func body(of stream: Int32, into buffer: UnsafeMutableRawBufferPointer) -> (Int, Bool) {
        guard let (bytes, sent) = bodies[stream] else { return (0, true) }
        let count = min(buffer.count, bytes.count - sent)
        unsafe buffer.copyBytes(from: bytes[sent..<sent + count])
        bodies[stream]?.sent += count
        return (count, sent + count == bytes.count)
    }
}

private func client(_ context: UnsafeMutableRawPointer?) -> TestClient {
    guard let context = unsafe context else { preconditionFailure("a callback without its client") }
    return unsafe Unmanaged<TestClient>.fromOpaque(context).takeUnretainedValue()
}

private func headerCame(
    _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ name: UnsafePointer<UInt8>?, _ nameLength: Int,
    _ value: UnsafePointer<UInt8>?, _ valueLength: Int, _: UInt8, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    let name = unsafe String(decoding: UnsafeBufferPointer(start: name, count: nameLength), as: UTF8.self)
    let value = unsafe String(decoding: UnsafeBufferPointer(start: value, count: valueLength), as: UTF8.self)
    if let frame = unsafe frame?.pointee { unsafe client(context).took(name, value, on: frame.hd.stream_id) }
    return 0
}

private func bodyCame(
    _: OpaquePointer?, _: UInt8, _ stream: Int32, _ bytes: UnsafePointer<UInt8>?, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    let text = unsafe String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    unsafe client(context).took(body: text, on: stream)
    return 0
}

private func frameCame(
    _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame?.pointee else { return 0 }
    let client = unsafe client(context)
    switch unsafe UInt32(frame.hd.type) {
    case NGHTTP2_GOAWAY.rawValue:
        let text = unsafe String(
            decoding: UnsafeBufferPointer(start: frame.goaway.opaque_data, count: frame.goaway.opaque_data_len),
            as: UTF8.self)
        unsafe client.took(
            TestGoAway(lastStreamID: frame.goaway.last_stream_id, code: frame.goaway.error_code, text: text))
    case NGHTTP2_SETTINGS.rawValue:
        for index in 0..<(unsafe frame.settings.niv) {
            let entry = unsafe frame.settings.iv[index]
            client.took(setting: entry.settings_id, entry.value)
        }
    case NGHTTP2_HEADERS.rawValue:
        if unsafe frame.hd.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 {
            unsafe client.endedWithHeaders(frame.hd.stream_id)
        }
    default: break
    }
    return 0
}

private func streamClosed(
    _: OpaquePointer?, _ stream: Int32, _ code: UInt32, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    unsafe client(context).closed(stream, code)
    return 0
}

private func bodyWanted(
    _: OpaquePointer?, _ stream: Int32, _ buffer: UnsafeMutablePointer<UInt8>?, _ length: Int,
    _ flags: UnsafeMutablePointer<UInt32>?, _: UnsafeMutablePointer<nghttp2_data_source>?,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    let target = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: length)
    let (count, isLast) = unsafe client(context).body(of: stream, into: target)
    if isLast { unsafe flags?.pointee = NGHTTP2_DATA_FLAG_EOF.rawValue }
    return count
}
