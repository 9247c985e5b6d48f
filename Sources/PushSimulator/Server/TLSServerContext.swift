import COpenSSL

/// What all TLS connections of one profile share: a leaf for every name that the real services and this machine answer
/// to, TLS 1.2 or newer, and `h2` as the only protocol, unless the profile is to fail in one of these.
///
/// Loop thread once the simulator runs; making it is free of any thread.
@safe final class TLSServerContext {
    let pointer: OpaquePointer

    private static let names = [
        "DNS:localhost", "IP:127.0.0.1", "IP:::1", "DNS:api.push.apple.com", "DNS:api.sandbox.push.apple.com",
        "DNS:api.development.push.apple.com", "DNS:fcm.googleapis.com", "DNS:oauth2.googleapis.com",
    ]

    /// Makes the leaf and its key, signed by `authority`.
    init(_ profile: TLSProfile, authority: CertificateAuthority) throws(SimulatorError) {
        let leafKey = try TLSKey()
        let names = profile == .wrongName ? ["DNS:wrong.example"] : Self.names
        let leaf = try TLSCertificate.server(
            named: "Gryt push simulator", alternativeNames: names.joined(separator: ","), key: leafKey,
            root: authority.root, rootKey: authority.key, isExpired: profile == .expired)
        guard let context = unsafe SSL_CTX_new(TLS_server_method()) else { throw .openSSL("SSL_CTX_new") }
        unsafe pointer = context
        // TLS 1.1 needs SHA-1, which OpenSSL lets through at its lowest level of security only.
        let isLimited =
            unsafe profile == .tls11
            ? SSL_CTX_set_cipher_list(context, "DEFAULT:@SECLEVEL=0") == 1
                && SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_1_VERSION), nil) == 1
                && SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(TLS1_1_VERSION), nil) == 1
            : gryt_ssl_ctx_set_min_tls12(context) == 1
        guard isLimited, unsafe SSL_CTX_use_certificate(context, leaf.pointer) == 1,
            unsafe SSL_CTX_use_PrivateKey(context, leafKey.pointer) == 1
        else { throw .openSSL("SSL_CTX_use_certificate") }
        switch profile {
        case .usual, .expired, .wrongName, .unknownRoot, .tls11, .http11AfterH2:
            unsafe SSL_CTX_set_alpn_select_cb(context, chooseHTTP2, nil)
        case .noProtocol: break
        case .http11: unsafe SSL_CTX_set_alpn_select_cb(context, chooseHTTP11, nil)
        }
        // Nobody resumes: each connection is to show its whole handshake.
        unsafe SSL_CTX_set_num_tickets(context, 0)
    }

    deinit {
        unsafe SSL_CTX_free(pointer)
    }
}

/// The contexts of all profiles, each made when the first connection wants it. Loop thread once the simulator runs.
final class TLSServerContexts {
    private let authority: CertificateAuthority
    private var made: [TLSProfile: TLSServerContext] = [:]

    /// The root that all but one profile go back to, in PEM.
    let rootPEM: String

    /// Makes the root and the usual context, so that what can fail here fails at the start.
    init() throws(SimulatorError) {
        authority = try CertificateAuthority()
        rootPEM = authority.rootPEM
        made[.usual] = try TLSServerContext(.usual, authority: authority)
    }

    /// The context of a profile.
    func context(for profile: TLSProfile) throws(SimulatorError) -> TLSServerContext {
        if let known = made[profile] { return known }
        let signer = profile == .unknownRoot ? try CertificateAuthority() : authority
        let context = try TLSServerContext(profile, authority: signer)
        made[profile] = context
        return context
    }
}

private let http11: StaticString = "http/1.1"

/// Names `http/1.1`, whether it was offered or not.
private func chooseHTTP11(
    _: OpaquePointer?, _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    _ chosenLength: UnsafeMutablePointer<UInt8>?, _: UnsafePointer<UInt8>?, _: UInt32, _: UnsafeMutableRawPointer?
) -> Int32 {
    unsafe chosen?.pointee = http11.utf8Start
    unsafe chosenLength?.pointee = UInt8(http11.utf8CodeUnitCount)
    return SSL_TLSEXT_ERR_OK
}

/// Takes `h2` out of what the client offers and ends the handshake where it is missing (RFC 7301 section 3.2).
private func chooseHTTP2(
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
