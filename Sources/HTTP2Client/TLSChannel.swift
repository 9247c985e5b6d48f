import COpenSSL
import Glibc

/// TLS over one connected, non-blocking socket, which it owns and closes.
///
/// OpenSSL works on the socket itself. libevent's `bufferevent_openssl` was left aside: it copies everything once more
/// through its own buffers, and each flush costs it another turn of the loop and an `epoll_ctl`, where most of our
/// writes go straight through at the end of the turn that produced them.
///
/// Loop thread throughout; the SSL object is never used after ``close()``.
@safe final class TLSChannel {
    private var ssl: OpaquePointer?
    /// The socket, for whoever watches it; -1 once closed.
    private(set) var descriptor: Int32
    private var isBroken = false

    /// How far a step came.
    enum Step: Equatable {
        /// So many bytes went through; of a handshake: it is done.
        case done(Int)
        /// Ask again when the socket can be read.
        case wantsRead
        /// Ask again when the socket takes bytes.
        case wantsWrite
        /// The connection is over, with or without a goodbye: HTTP/2 has its own.
        case ended
    }

    /// Takes over a connected socket. Nil when OpenSSL has no memory; the socket is closed then.
    init?(descriptor: Int32, origin: Origin, trust: TLSTrust) {
        self.descriptor = descriptor
        guard let ssl = unsafe SSL_new(trust.context) else {
            Glibc.close(descriptor)
            return nil
        }
        unsafe self.ssl = ssl
        var isReady = unsafe SSL_set_fd(ssl, descriptor) == 1
        if origin.isLiteral {
            isReady = unsafe isReady && X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), origin.host) == 1
        } else {
            isReady =
                unsafe isReady && SSL_set1_host(ssl, origin.host) == 1 && gryt_ssl_set_sni(ssl, origin.host) == 1
        }
        unsafe SSL_set_hostflags(ssl, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
        unsafe SSL_set_connect_state(ssl)
        guard isReady else {
            close()
            return nil
        }
    }

    deinit {
        close()
    }

    /// Goes on with the handshake.
    ///
    /// - Throws: ``Unreachable`` when it failed, or when the peer chose another protocol than HTTP/2. A peer that
    ///   chose none is taken at its word that it speaks HTTP/2: Apple's documents say nothing about ALPN.
    func handshake() throws(Unreachable) -> Step {
        clearErrors()
        let code = unsafe SSL_do_handshake(ssl)
        guard code == 1 else {
            let step = step(for: code)
            guard step == .ended else { return step }
            throw handshakeFailure()
        }
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        unsafe SSL_get0_alpn_selected(ssl, &name, &length)
        if length > 0 {
            let isHTTP2 = unsafe length == 2 && name?[0] == UInt8(ascii: "h") && name?[1] == UInt8(ascii: "2")
            guard isHTTP2 else { throw .notHTTP2 }
        }
        return .done(0)
    }

    /// Takes bytes from the peer.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Step {
        clearErrors()
        let count = unsafe SSL_read(ssl, buffer.baseAddress, Int32(buffer.count))
        return count > 0 ? .done(Int(count)) : step(for: count)
    }

    /// Whether OpenSSL holds bytes that it has taken from the socket already, so that watching the socket would not
    /// tell of them.
    var hasPending: Bool { unsafe SSL_has_pending(ssl) == 1 }

    /// Gives bytes to the peer; it may take only the first of them.
    func write(_ bytes: UnsafeRawBufferPointer) -> Step {
        clearErrors()
        let count = unsafe SSL_write(ssl, bytes.baseAddress, Int32(bytes.count))
        return count > 0 ? .done(Int(count)) : step(for: count)
    }

    /// Says goodbye where that is possible without waiting, and closes the socket. Cancel its watcher first.
    func close() {
        guard let ssl = unsafe ssl else { return }
        clearErrors()
        if !isBroken, unsafe SSL_is_init_finished(ssl) == 1 { unsafe _ = SSL_shutdown(ssl) }
        clearErrors()
        unsafe SSL_free(ssl)
        unsafe self.ssl = nil
        Glibc.close(descriptor)
        descriptor = -1
    }

    /// `SSL_get_error` looks into the thread's queue of errors, so that must be empty before a call. It nearly always is, and
    /// to see that costs a tenth of emptying it.
    private func clearErrors() {
        if ERR_peek_error() != 0 { ERR_clear_error() }
    }

    private func step(for code: Int32) -> Step {
        switch unsafe SSL_get_error(ssl, code) {
        case SSL_ERROR_WANT_READ: return .wantsRead
        case SSL_ERROR_WANT_WRITE: return .wantsWrite
        case SSL_ERROR_ZERO_RETURN: return .ended
        default:
            // SSL_ERROR_SYSCALL and SSL_ERROR_SSL: nothing more may be called on it, not even a shutdown.
            isBroken = true
            return .ended
        }
    }

    private func handshakeFailure() -> Unreachable {
        let verdict = unsafe SSL_get_verify_result(ssl)
        switch Int32(verdict) {
        case X509_V_OK: break
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH: return .certificateForAnotherHost
        case X509_V_ERR_CERT_HAS_EXPIRED, X509_V_ERR_CERT_NOT_YET_VALID: return .certificateNotCurrent(code: verdict)
        default: return .certificateNotTrusted(code: verdict)
        }
        let error = ERR_peek_last_error()
        switch ERR_GET_REASON(error) {
        case SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: return .notHTTP2
        // What OpenSSL makes of a peer that picks a protocol which it was not offered.
        case SSL_R_BAD_EXTENSION: return .notHTTP2
        default: return .tlsFailed(reason: error)
        }
    }
}
