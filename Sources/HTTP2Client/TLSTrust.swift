import COpenSSL
import Glibc

/// Whom a client trusts and how it speaks TLS: an OpenSSL context that any number of connections, on any loops, share.
///
/// TLS 1.2 or later, ALPN `h2`, the peer's certificate verified against the system's roots and any that the operator
/// adds. A connection adds the name or address that the certificate must be for. Roots are never pinned, so a change
/// of root at the other end that the system store already knows needs nothing here.
///
/// Making the first one makes the process ignore SIGPIPE: OpenSSL writes with `write`, and a peer that has gone must
/// cost an error and not the process.
///
/// `@unchecked Sendable`: the context is set up in `init` and only read afterwards; OpenSSL counts its references
/// atomically and `SSL_new` may be called from several threads at once.
@safe package final class TLSTrust: @unchecked Sendable {
    let context: OpaquePointer

    /// Takes the system's roots, and beside them the PEM certificates of a file.
    ///
    /// - Throws: ``TrustError`` when the file holds no certificate that can be read.
    package init(additionalRootsFile: String?) throws(TrustError) {
        signal(SIGPIPE, SIG_IGN)
        guard let context = unsafe SSL_CTX_new(TLS_client_method()) else { throw .noContext }
        unsafe self.context = context
        guard unsafe gryt_ssl_ctx_set_min_tls12(context) == 1, unsafe SSL_CTX_set_default_verify_paths(context) == 1
        else { throw .noContext }
        if let additionalRootsFile {
            ERR_clear_error()
            let loaded = unsafe SSL_CTX_load_verify_locations(context, additionalRootsFile, nil)
            ERR_clear_error()
            guard loaded == 1 else { throw .unreadableRoots }
        }
        unsafe SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        // A list of length-prefixed names. Unlike the rest of OpenSSL it answers 0 for success.
        let protocols: [UInt8] = [2, UInt8(ascii: "h"), UInt8(ascii: "2")]
        guard unsafe SSL_CTX_set_alpn_protos(context, protocols, UInt32(protocols.count)) == 0 else {
            throw .noContext
        }
        // RFC 9113, section 9.2.1, forbids to renegotiate. The name is a macro that Swift does not see.
        unsafe SSL_CTX_set_options(context, UInt64(1) << 30)
        // A write that takes a part is a success, and the rest may be offered from another place: the outgoing buffer
        // moves.
        let modes = SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
        unsafe _ = gryt_ssl_ctx_set_mode(context, Int(modes))
        // One read takes as many records as have come, instead of two reads for each.
        unsafe _ = SSL_CTX_ctrl(context, SSL_CTRL_SET_READ_AHEAD, 1, nil)
        unsafe SSL_CTX_set_default_read_buffer_len(context, 64 * 1024)
    }

    deinit {
        unsafe SSL_CTX_free(context)
    }
}

/// Why no trust could be set up.
package enum TrustError: Error, Equatable, CustomStringConvertible {
    /// OpenSSL gave no context: out of memory, or its configuration file forbids TLS 1.2.
    case noContext
    /// The file with additional roots cannot be read or holds no certificate.
    case unreadableRoots

    package var description: String {
        switch self {
        case .noContext: "OpenSSL could not be set up"
        case .unreadableRoots: "the file cannot be read or holds no PEM certificate"
        }
    }
}
