import COpenSSL

/// TLS between two buffers: bytes from the socket go in, plain bytes come out, and the other way round. It does no I/O.
///
/// The socket is left to the connection, so that one turn of the loop is one system call and a closed peer is no
/// SIGPIPE. Loop thread.
@safe final class TLSChannel {
    private let ssl: OpaquePointer
    private let incoming: OpaquePointer
    private let outgoing: OpaquePointer

    /// What reading gave.
    enum Reading: Equatable {
        /// So many plain bytes.
        case bytes(Int)
        /// Nothing until more comes from the socket.
        case nothing
        /// The peer said that it is done (`close_notify`).
        case ended
        /// The peer does not speak TLS as we do; the connection is over.
        case failed
    }

    /// Makes a server's end that waits for a handshake.
    init(context: TLSServerContext) throws(SimulatorError) {
        guard let ssl = unsafe SSL_new(context.pointer), let incoming = unsafe BIO_new(BIO_s_mem()),
            let outgoing = unsafe BIO_new(BIO_s_mem())
        else { throw .openSSL("SSL_new") }
        unsafe SSL_set_bio(ssl, incoming, outgoing)
        unsafe SSL_set_accept_state(ssl)
        unsafe self.ssl = ssl
        unsafe self.incoming = incoming
        unsafe self.outgoing = outgoing
    }

    deinit {
        unsafe SSL_free(ssl)
    }

    /// Whether the handshake is over.
    var isReady: Bool { unsafe SSL_is_init_finished(ssl) == 1 }

    /// Whether the handshake settled on HTTP/2. A client that offers no protocol at all gets none.
    var speaksHTTP2: Bool {
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        unsafe SSL_get0_alpn_selected(ssl, &name, &length)
        return length == 2
    }

    /// Takes bytes as they came from the socket.
    func take(_ bytes: UnsafeRawBufferPointer) {
        guard unsafe !bytes.isEmpty else { return }
        let taken = unsafe BIO_write(incoming, bytes.baseAddress, Int32(bytes.count))
        precondition(taken == Int32(bytes.count), "out of memory for TLS")
    }

    /// Reads plain bytes; carries the handshake on as a side effect.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Reading {
        // The error queue belongs to the thread: what an earlier connection left there would be taken for ours.
        ERR_clear_error()
        let count = unsafe SSL_read(ssl, buffer.baseAddress, Int32(buffer.count))
        if count > 0 { return .bytes(Int(count)) }
        switch unsafe SSL_get_error(ssl, count) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .nothing
        case SSL_ERROR_ZERO_RETURN: return .ended
        default: return .failed
        }
    }

    /// Encrypts plain bytes; the result waits for ``drain(into:)``. False when the channel is over.
    func write(_ bytes: [UInt8]) -> Bool {
        guard !bytes.isEmpty else { return true }
        ERR_clear_error()
        return unsafe SSL_write(ssl, bytes, Int32(bytes.count)) == Int32(bytes.count)
    }

    /// Says `close_notify`; it waits for ``drain(into:)``.
    func sayGoodbye() {
        guard isReady else { return }
        ERR_clear_error()
        unsafe _ = SSL_shutdown(ssl)
    }

    /// Moves all that is due for the socket to the end of `bytes`.
    func drain(into bytes: inout [UInt8]) {
        let count = unsafe BIO_ctrl_pending(outgoing)
        guard count > 0 else { return }
        let start = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: count))
        unsafe bytes.withUnsafeMutableBytes { all in
            let read = unsafe BIO_read(outgoing, all.baseAddress?.advanced(by: start), Int32(count))
            precondition(read == Int32(count), "a memory buffer gives what it holds")
        }
    }
}
