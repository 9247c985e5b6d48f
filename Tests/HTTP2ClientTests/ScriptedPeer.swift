import COpenSSL
import Glibc
import Synchronization

/// A server for tests that does exactly what its script says, right or wrong: raw HTTP/2 frames over real TLS on a
/// loopback port of the kernel's choice. Each connection has a thread, on which the script runs with blocking calls.
@safe final class ScriptedPeer: Sendable {
    /// How it behaves below HTTP/2.
    struct Manner: Sendable {
        /// What it picks by ALPN; nil: it knows no ALPN.
        var alpn: String? = "h2"
        /// The newest TLS version it speaks.
        var newestTLS = TLS1_3_VERSION
        /// Whether it answers the TLS handshake at all.
        var shakesHands = true
        /// Whether it listens on `::1` instead of `127.0.0.1`.
        var isIPv6 = false
        /// Whether connections are refused until ``ScriptedPeer/beginToListen()``.
        var listensLater = false
    }

    let port: UInt16
    private let listener: Int32
    private let refuser: Int32?
    private let context: TLSContext
    private let manner: Manner
    private let script: @Sendable (PeerConnection) throws -> Void
    private let state = Mutex(State())

    private struct State {
        var sockets: Set<Int32> = []
        var threads: [pthread_t] = []
        var accepted = 0
        var isStopping = false
    }

    /// Only read after it is made; OpenSSL counts its references itself.
    @safe private final class TLSContext: @unchecked Sendable {
        let pointer: OpaquePointer
        init(_ pointer: OpaquePointer) { unsafe self.pointer = pointer }
        deinit { unsafe SSL_CTX_free(pointer) }
    }

    /// Starts to listen. Release it by ``stop()``.
    init(
        _ identity: TestAuthority.Identity, _ manner: Manner = Manner(),
        script: @escaping @Sendable (PeerConnection) throws -> Void
    ) {
        signal(SIGPIPE, SIG_IGN)
        self.manner = manner
        self.script = script
        guard let context = unsafe SSL_CTX_new(TLS_server_method()) else { fatalError("no TLS context") }
        if manner.newestTLS < TLS1_2_VERSION { unsafe SSL_CTX_set_security_level(context, 0) }
        unsafe _ = SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(manner.newestTLS), nil)
        unsafe SSL_CTX_use_certificate_chain_file(context, identity.certificateFile)
        unsafe SSL_CTX_use_PrivateKey_file(context, identity.keyFile, SSL_FILETYPE_PEM)
        switch manner.alpn {
        case "h2": unsafe SSL_CTX_set_alpn_select_cb(context, selectHTTP2, nil)
        case "http/1.1": unsafe SSL_CTX_set_alpn_select_cb(context, selectHTTP1, nil)
        case "none": unsafe SSL_CTX_set_alpn_select_cb(context, refuseAnyProtocol, nil)
        default: break
        }
        self.context = unsafe TLSContext(context)
        let (ours, refusing) = Self.takePort(isIPv6: manner.isIPv6)
        listener = ours.socket
        port = ours.port
        refuser = refusing?.socket
        if !manner.listensLater { beginToListen() }
    }

    /// Takes connections from now on, for a peer whose manner is to refuse them at first.
    func beginToListen() {
        guard Glibc.listen(listener, 128) == 0 else { fatalError("no port to listen on") }
        runThread { [self] in acceptAll() }
    }

    /// How many connections have been accepted.
    var accepted: Int { state.withLock { $0.accepted } }

    /// Ends all connections and threads.
    func stop() {
        let threads = state.withLock { state in
            state.isStopping = true
            for socket in state.sockets { shutdown(socket, Int32(SHUT_RDWR)) }
            return state.threads
        }
        shutdown(listener, Int32(SHUT_RDWR))
        for thread in threads { pthread_join(thread, nil) }
        // Threads that an accept started meanwhile.
        for thread in state.withLock({ $0.threads }).dropFirst(threads.count) { pthread_join(thread, nil) }
        close(listener)
        if let refuser { close(refuser) }
    }

    /// A port, and for a peer on `::1` the same one on `127.0.0.1`, bound to refuse.
    private static func takePort(isIPv6: Bool) -> (LoopbackPort, LoopbackPort?) {
        while true {
            guard let four = LoopbackPort(isIPv6: false) else { fatalError("no port left") }
            guard isIPv6 else { return (four, nil) }
            if let six = LoopbackPort(isIPv6: true, port: four.port) { return (six, four) }
            close(four.socket)
        }
    }

    private func acceptAll() {
        while true {
            let socket = accept(listener, nil, nil)
            guard socket >= 0 else { return }
            let number = state.withLock { state -> Int? in
                guard !state.isStopping else { return nil }
                state.sockets.insert(socket)
                state.accepted += 1
                return state.accepted
            }
            guard let number else {
                close(socket)
                return
            }
            runThread { [self] in serve(socket, number: number) }
        }
    }

    private func serve(_ socket: Int32, number: Int) {
        defer {
            state.withLock { state in
                _ = state.sockets.remove(socket)
                close(socket)
            }
        }
        var limit = timeval(tv_sec: 30, tv_usec: 0)
        unsafe setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var one: Int32 = 1
        unsafe setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        guard manner.shakesHands else {
            var byte: UInt8 = 0
            while unsafe recv(socket, &byte, 1, 0) > 0 {}
            return
        }
        guard let ssl = unsafe SSL_new(context.pointer) else { return }
        defer { unsafe SSL_free(ssl) }
        unsafe SSL_set_fd(ssl, socket)
        guard unsafe SSL_accept(ssl) == 1 else { return }
        try? script(unsafe PeerConnection(ssl, socket: socket, number: number))
    }

    private func runThread(_ body: @escaping @Sendable () -> Void) {
        var thread = pthread_t()
        let box = unsafe Unmanaged.passRetained(ThreadBody(body))
        unsafe pthread_create(&thread, nil, runThreadBody, box.toOpaque())
        state.withLock { $0.threads.append(thread) }
    }
}

private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

private func runThreadBody(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context else { return nil }
    unsafe Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue().run()
    return nil
}

private typealias ALPNOut = UnsafeMutablePointer<UnsafePointer<UInt8>?>?

private func select(
    _ name: StaticString, _ out: ALPNOut, _ length: UnsafeMutablePointer<UInt8>?
) -> Int32 {
    unsafe out?.pointee = name.utf8Start
    unsafe length?.pointee = UInt8(name.utf8CodeUnitCount)
    return SSL_TLSEXT_ERR_OK
}

private func selectHTTP2(
    _: OpaquePointer?, _ out: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, _ length: UnsafeMutablePointer<UInt8>?,
    _: UnsafePointer<UInt8>?, _: UInt32, _: UnsafeMutableRawPointer?
) -> Int32 { unsafe select("h2", out, length) }

private func selectHTTP1(
    _: OpaquePointer?, _ out: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, _ length: UnsafeMutablePointer<UInt8>?,
    _: UnsafePointer<UInt8>?, _: UInt32, _: UnsafeMutableRawPointer?
) -> Int32 { unsafe select("http/1.1", out, length) }

private func refuseAnyProtocol(
    _: OpaquePointer?, _: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, _: UnsafeMutablePointer<UInt8>?,
    _: UnsafePointer<UInt8>?, _: UInt32, _: UnsafeMutableRawPointer?
) -> Int32 { SSL_TLSEXT_ERR_ALERT_FATAL }
