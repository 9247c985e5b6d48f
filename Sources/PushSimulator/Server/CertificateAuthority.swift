import COpenSSL

/// A P-256 key of the simulator's TLS side. It owns the pointer.
@safe struct TLSKey: ~Copyable {
    let pointer: OpaquePointer

    /// Draws a fresh key.
    init() throws(SimulatorError) {
        guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else {
            throw .openSSL("EVP_PKEY_CTX_new_from_name")
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var made: OpaquePointer?
        guard unsafe EVP_PKEY_keygen_init(context) == 1,
            unsafe EVP_PKEY_CTX_set_group_name(context, "P-256") == 1,
            unsafe EVP_PKEY_generate(context, &made) == 1,
            let key = unsafe made
        else { throw .openSSL("EVP_PKEY_generate") }
        unsafe pointer = key
    }

    deinit {
        unsafe EVP_PKEY_free(pointer)
    }
}

/// An X.509 certificate. It owns the pointer.
@safe struct TLSCertificate: ~Copyable {
    let pointer: OpaquePointer

    /// The first day and the number of days of every certificate: a day back, so that no clock on this machine is too
    /// slow for it, and short, because a simulator is restarted long before.
    private static let secondsBack = 86_400
    private static let secondsAhead = 30 * 86_400

    /// `MBSTRING_ASC`, a macro that Swift does not see.
    private static let plainText: Int32 = 0x1001

    private init() throws(SimulatorError) {
        guard let certificate = unsafe X509_new() else { throw .openSSL("X509_new") }
        unsafe pointer = certificate
    }

    /// A root that signs itself.
    static func root(named name: String, key: borrowing TLSKey) throws(SimulatorError) -> TLSCertificate {
        let made = try TLSCertificate()
        try made.fill(name: name, key: key)
        try made.add(NID_basic_constraints, "critical,CA:TRUE", issuer: made)
        try made.add(NID_key_usage, "critical,keyCertSign,cRLSign", issuer: made)
        try made.add(NID_subject_key_identifier, "hash", issuer: made)
        try made.sign(issuer: made, key: key)
        return made
    }

    /// A server's certificate for these names (`DNS:…`, `IP:…`, separated by commas), signed by the root.
    static func server(
        named name: String, alternativeNames: String, key: borrowing TLSKey, root: borrowing TLSCertificate,
        rootKey: borrowing TLSKey, isExpired: Bool = false
    ) throws(SimulatorError) -> TLSCertificate {
        let made = try TLSCertificate()
        try made.fill(name: name, key: key, daysShift: isExpired ? -60 : 0)
        try made.add(NID_basic_constraints, "critical,CA:FALSE", issuer: root)
        try made.add(NID_key_usage, "critical,digitalSignature", issuer: root)
        try made.add(NID_ext_key_usage, "serverAuth", issuer: root)
        try made.add(NID_subject_key_identifier, "hash", issuer: root)
        try made.add(NID_authority_key_identifier, "keyid", issuer: root)
        try made.add(NID_subject_alt_name, alternativeNames, issuer: root)
        try made.sign(issuer: root, key: rootKey)
        return made
    }

    deinit {
        unsafe X509_free(pointer)
    }

    private func fill(name: String, key: borrowing TLSKey, daysShift: Int = 0) throws(SimulatorError) {
        let shift = daysShift * 86_400
        // Two certificates of one issuer must differ in their serial numbers (RFC 5280 section 4.1.2.2).
        let serial = UInt64.random(in: 1...UInt64(Int64.max))
        guard unsafe X509_set_version(pointer, 2) == 1,
            unsafe ASN1_INTEGER_set_uint64(X509_get_serialNumber(pointer), serial) == 1,
            unsafe X509_gmtime_adj(X509_getm_notBefore(pointer), shift - Self.secondsBack) != nil,
            unsafe X509_gmtime_adj(X509_getm_notAfter(pointer), shift + Self.secondsAhead) != nil,
            unsafe X509_set_pubkey(pointer, key.pointer) == 1,
            unsafe X509_NAME_add_entry_by_txt(
                X509_get_subject_name(pointer), "CN", Self.plainText, Array(name.utf8), Int32(name.utf8.count), -1, 0)
                == 1
        else { throw .openSSL("X509_set") }
    }

    private func sign(issuer: borrowing TLSCertificate, key: borrowing TLSKey) throws(SimulatorError) {
        guard unsafe X509_set_issuer_name(pointer, X509_get_subject_name(issuer.pointer)) == 1,
            unsafe X509_sign(pointer, key.pointer, EVP_sha256()) > 0
        else { throw .openSSL("X509_sign") }
    }

    private func add(
        _ extensionID: Int32, _ value: String, issuer: borrowing TLSCertificate
    ) throws(SimulatorError) {
        var context = unsafe X509V3_CTX()
        unsafe X509V3_set_ctx(&context, issuer.pointer, pointer, nil, nil, 0)
        guard let made = unsafe X509V3_EXT_conf_nid(nil, &context, extensionID, value) else {
            throw .openSSL("X509V3_EXT_conf_nid")
        }
        defer { unsafe X509_EXTENSION_free(made) }
        guard unsafe X509_add_ext(pointer, made, -1) == 1 else { throw .openSSL("X509_add_ext") }
    }

    /// The certificate in PEM, as `UPSTREAM_CA_FILE` and `curl --cacert` want it.
    func pem() throws(SimulatorError) -> String {
        guard let memory = unsafe BIO_new(BIO_s_mem()) else { throw .openSSL("BIO_new") }
        defer { unsafe BIO_free(memory) }
        guard unsafe PEM_write_bio_X509(memory, pointer) == 1 else { throw .openSSL("PEM_write_bio_X509") }
        var bytes = [UInt8](repeating: 0, count: unsafe BIO_ctrl_pending(memory))
        let length = bytes.count
        guard unsafe BIO_read(memory, &bytes, Int32(length)) == Int32(length) else { throw .openSSL("BIO_read") }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// A root and its key, made for one run, that signs what the simulator shows. Read only.
@safe final class CertificateAuthority {
    let key: TLSKey
    let root: TLSCertificate
    /// The root, in PEM.
    let rootPEM: String

    /// Draws the key and signs the root by itself.
    init() throws(SimulatorError) {
        key = try TLSKey()
        root = try TLSCertificate.root(named: "Gryt push simulator root", key: key)
        rootPEM = try root.pem()
    }
}
