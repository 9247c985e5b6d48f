import COpenSSL

/// Owns one `EVP_PKEY`, private or public.
///
/// `@unchecked Sendable`: the pointer is set once, and OpenSSL lets many threads sign and verify with one key that
/// nobody changes (`openssl-threads(7)`).
@safe final class AsymmetricKey: @unchecked Sendable {
    private let key: OpaquePointer

    /// Takes over a key that OpenSSL made.
    private init(owning key: OpaquePointer) { unsafe self.key = key }

    deinit { unsafe EVP_PKEY_free(key) }

    // MARK: Reading

    /// Reads the one private key of a PEM text: PKCS#8 (RFC 5208), SEC1 (RFC 5915) or PKCS#1 (RFC 8017).
    static func readPrivate(_ text: String) throws(KeyError) -> AsymmetricKey {
        let blocks = PEMText.blocks(of: text)
        guard !blocks.isEmpty else { throw .notPEM }
        let keys = blocks.filter { $0.label.hasSuffix("PRIVATE KEY") }
        guard let block = keys.first else {
            if blocks.contains(where: { $0.label.hasSuffix("CERTIFICATE") }) { throw .certificateInsteadOfKey }
            if blocks.contains(where: { $0.label.hasSuffix("PUBLIC KEY") }) { throw .publicKeyInsteadOfPrivate }
            throw .otherPEM
        }
        guard keys.count == 1 else { throw .severalKeys }
        guard block.label != "ENCRYPTED PRIVATE KEY", !block.hasHeaders else { throw .passwordProtected }
        // The password callback is a second lock: without one OpenSSL would ask on the terminal.
        return try unsafe read(block) { bio in unsafe PEM_read_bio_PrivateKey(bio, nil, refusePassword, nil) }
    }

    /// Reads the one public key of a PEM text: SubjectPublicKeyInfo (RFC 5280).
    static func readPublic(_ text: String) throws(KeyError) -> AsymmetricKey {
        let blocks = PEMText.blocks(of: text)
        guard !blocks.isEmpty else { throw .notPEM }
        guard !blocks.contains(where: { $0.label.hasSuffix("PRIVATE KEY") }) else { throw .privateKeyInsteadOfPublic }
        let keys = blocks.filter { $0.label == "PUBLIC KEY" }
        guard let block = keys.first else { throw .otherPEM }
        guard keys.count == 1 else { throw .severalKeys }
        return try unsafe read(block) { bio in unsafe PEM_read_bio_PUBKEY(bio, nil, refusePassword, nil) }
    }

    private static func read(
        _ block: PEMText.Block, by decode: (OpaquePointer) -> OpaquePointer?
    ) throws(KeyError) -> AsymmetricKey {
        let lines = ["-----BEGIN \(block.label)-----"] + block.bodyLines + ["-----END \(block.label)-----", ""]
        var bytes = Array(lines.joined(separator: "\n").utf8)
        let key: OpaquePointer? = unsafe bytes.withUnsafeMutableBytes { buffer in
            defer { unsafe OPENSSL_cleanse(buffer.baseAddress, buffer.count) }
            guard let bio = unsafe BIO_new_mem_buf(buffer.baseAddress, Int32(buffer.count)) else { return nil }
            defer { unsafe BIO_free(bio) }
            return unsafe decode(bio)
        }
        ERR_clear_error()
        guard let key = unsafe key else { throw .damaged }
        return unsafe AsymmetricKey(owning: key)
    }

    // MARK: Making

    /// A fresh key on P-256. Traps when the generator fails.
    static func generateP256() -> AsymmetricKey {
        unsafe generate("EC") { unsafe EVP_PKEY_CTX_set_group_name($0, "P-256") }
    }

    /// A fresh RSA key of 2048 bits. Traps when the generator fails.
    static func generateRSA() -> AsymmetricKey {
        unsafe generate("RSA") { unsafe EVP_PKEY_CTX_set_rsa_keygen_bits($0, 2048) }
    }

    private static func generate(_ algorithm: String, _ configure: (OpaquePointer) -> Int32) -> AsymmetricKey {
        guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, algorithm, nil) else {
            preconditionFailure("OpenSSL cannot generate keys of this algorithm")
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        mustSucceed(unsafe EVP_PKEY_keygen_init(context))
        mustSucceed(unsafe configure(context))
        mustSucceed(unsafe EVP_PKEY_generate(context, &key))
        guard let key = unsafe key else { preconditionFailure("OpenSSL generated no key") }
        return unsafe AsymmetricKey(owning: key)
    }

    // MARK: Checking

    /// Throws unless it is a key on the named curve P-256.
    func checkIsP256() throws(KeyError) {
        guard unsafe EVP_PKEY_is_a(key, "EC") == 1 else { throw .wrongAlgorithm }
        var name = [CChar](repeating: 0, count: 64)
        var length = 0
        let named = unsafe EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, &name, name.count, &length)
        ERR_clear_error()
        let curve = String(decoding: name.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard named == 1, curve == "prime256v1" else { throw .wrongCurve }
    }

    /// Throws unless it is an RSA key of a size that Google uses and OpenSSL handles in reasonable time.
    func checkIsRSA() throws(KeyError) {
        guard unsafe EVP_PKEY_is_a(key, "RSA") == 1 else { throw .wrongAlgorithm }
        guard (2048...8192).contains(unsafe EVP_PKEY_get_bits(key)) else { throw .wrongSize }
    }

    /// Throws unless what the private half signs, the public half verifies.
    func checkIsConsistent() throws(KeyError) {
        let probe = Array("gryt".utf8)
        guard let signature = sign(probe), verifies(signature, of: probe) else { throw .inconsistent }
    }

    // MARK: Using

    /// Signs the SHA-256 of the message: PKCS#1 v1.5 for RSA, DER for an elliptic curve. Nil when OpenSSL fails.
    func sign(_ message: [UInt8]) -> [UInt8]? {
        defer { ERR_clear_error() }
        guard let context = unsafe EVP_MD_CTX_new() else { return nil }
        defer { unsafe EVP_MD_CTX_free(context) }
        guard unsafe EVP_DigestSignInit_ex(context, nil, "SHA256", nil, nil, key, nil) == 1 else { return nil }
        var length = Int(unsafe EVP_PKEY_get_size(key))
        var signature = [UInt8](repeating: 0, count: length)
        guard unsafe EVP_DigestSign(context, &signature, &length, message, message.count) == 1 else { return nil }
        signature.removeLast(signature.count - length)
        return signature
    }

    /// Whether the signature, in the form that ``sign(_:)`` gives, is this key's for the message.
    func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        defer { ERR_clear_error() }
        guard let context = unsafe EVP_MD_CTX_new() else { return false }
        defer { unsafe EVP_MD_CTX_free(context) }
        guard unsafe EVP_DigestVerifyInit_ex(context, nil, "SHA256", nil, nil, key, nil) == 1 else { return false }
        return unsafe EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }

    // MARK: Writing

    /// SubjectPublicKeyInfo as PEM.
    var publicPEM: String { unsafe written { bio in unsafe PEM_write_bio_PUBKEY(bio, key) } }

    /// PKCS#8 as PEM, not encrypted.
    var privatePEM: String {
        unsafe written { bio in unsafe PEM_write_bio_PKCS8PrivateKey(bio, key, nil, nil, 0, nil, nil) }
    }

    private func written(_ write: (OpaquePointer) -> Int32) -> String {
        guard let bio = unsafe BIO_new(BIO_s_mem()) else { preconditionFailure("out of memory for a PEM text") }
        defer { unsafe BIO_free(bio) }
        mustSucceed(unsafe write(bio))
        var bytes = [UInt8](repeating: 0, count: 16_384)
        let count = unsafe BIO_read(bio, &bytes, Int32(bytes.count))
        precondition(count > 0 && count < bytes.count, "a key's PEM text has an impossible length")
        return String(decoding: bytes.prefix(Int(count)), as: UTF8.self)
    }
}

private func refusePassword(
    _: UnsafeMutablePointer<CChar>?, _: Int32, _: Int32, _: UnsafeMutableRawPointer?
) -> Int32 { -1 }
