import COpenSSL

/// What all TLS connections of the simulator share: a root made for this run, a leaf for every name that the real
/// services and this machine answer to, TLS 1.2 or newer, and `h2` as the only protocol.
///
/// Loop thread once the simulator runs; making it is free of any thread.
@safe final class TLSServerContext {
    let pointer: OpaquePointer
    /// The root, in PEM.
    let rootPEM: String

    private static let names = [
        "DNS:localhost", "IP:127.0.0.1", "IP:::1", "DNS:api.push.apple.com", "DNS:api.sandbox.push.apple.com",
        "DNS:fcm.googleapis.com", "DNS:oauth2.googleapis.com",
    ]

    /// Makes the root, the leaf and their keys.
    init() throws(SimulatorError) {
        let rootKey = try TLSKey()
        let root = try TLSCertificate.root(named: "Gryt push simulator root", key: rootKey)
        let leafKey = try TLSKey()
        let leaf = try TLSCertificate.server(
            named: "Gryt push simulator", alternativeNames: Self.names.joined(separator: ","), key: leafKey,
            root: root, rootKey: rootKey)
        rootPEM = try root.pem()
        guard let context = unsafe SSL_CTX_new(TLS_server_method()) else { throw .openSSL("SSL_CTX_new") }
        unsafe pointer = context
        guard unsafe SSL_CTX_use_certificate(context, leaf.pointer) == 1,
            unsafe SSL_CTX_use_PrivateKey(context, leafKey.pointer) == 1,
            unsafe gryt_ssl_ctx_set_min_tls12(context) == 1
        else { throw .openSSL("SSL_CTX_use_certificate") }
        unsafe SSL_CTX_set_alpn_select_cb(context, chooseProtocol, nil)
        // Nobody resumes: each connection is to show its whole handshake.
        unsafe SSL_CTX_set_num_tickets(context, 0)
    }

    deinit {
        unsafe SSL_CTX_free(pointer)
    }
}

/// Takes `h2` out of what the client offers and ends the handshake where it is missing (RFC 7301 section 3.2).
private func chooseProtocol(
    _: OpaquePointer?, _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    _ chosenLength: UnsafeMutablePointer<UInt8>?, _ offered: UnsafePointer<UInt8>?, _ offeredLength: UInt32,
    _: UnsafeMutableRawPointer?
) -> Int32 {
    guard let chosen = unsafe chosen, let chosenLength = unsafe chosenLength, let offered = unsafe offered else {
        return SSL_TLSEXT_ERR_ALERT_FATAL
    }
    var position = 0
    while position < Int(offeredLength) {
        let length = Int(unsafe offered[position])
        if length == 2, position + 2 < Int(offeredLength), unsafe offered[position + 1] == UInt8(ascii: "h"),
            unsafe offered[position + 2] == UInt8(ascii: "2")
        {
            unsafe chosen.pointee = offered + position + 1
            unsafe chosenLength.pointee = 2
            return SSL_TLSEXT_ERR_OK
        }
        position += 1 + length
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL
}
