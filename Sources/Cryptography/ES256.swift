import COpenSSL

/// A private key on P-256 that signs as JWTs want it: ES256 (RFC 7518 section 3.4). What an Apple `.p8` holds.
package final class ES256SigningKey: Sendable, CustomStringConvertible, CustomReflectable {
    private let key: AsymmetricKey

    /// Reads a private key in PEM, PKCS#8 or SEC1; see ``PEMText/normalised(_:)`` for what is mended.
    package init(pem: String) throws(KeyError) {
        key = try AsymmetricKey.readPrivate(pem)
        try key.checkIsP256()
        try key.checkIsConsistent()
    }

    private init(_ key: AsymmetricKey) { self.key = key }

    /// A fresh key.
    package static func generate() -> ES256SigningKey { ES256SigningKey(.generateP256()) }

    /// Signs the SHA-256 of the message. 64 bytes: R, then S, each of 32, never DER. No two calls give the same.
    package func sign(_ message: [UInt8]) -> [UInt8] {
        guard let encoded = key.sign(message), let signature = ECDSASignature.raw(encoded) else {
            preconditionFailure("a checked key on P-256 did not sign")
        }
        return signature
    }

    /// The public half, SubjectPublicKeyInfo in PEM.
    package var publicKeyPEM: String { key.publicPEM }

    /// The private key itself, PKCS#8 in PEM. For the files of a simulator.
    package var privateKeyPEM: String { key.privatePEM }

    package var description: String { "(ES256 signing key)" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The public half of an ``ES256SigningKey``.
package final class ES256VerifyingKey: Sendable {
    private let key: AsymmetricKey

    /// Reads a public key in PEM.
    package init(pem: String) throws(KeyError) {
        key = try AsymmetricKey.readPublic(pem)
        try key.checkIsP256()
    }

    /// Whether the signature is this key's for the message. Only the 64 bytes of R and S will do; DER is refused.
    package func isValid(signature: [UInt8], for message: [UInt8]) -> Bool {
        guard let encoded = ECDSASignature.der(signature) else { return false }
        return key.verifies(encoded, of: message)
    }
}

/// Between DER, which OpenSSL speaks, and R|S, which JWTs carry.
private enum ECDSASignature {
    static func raw(_ encoded: [UInt8]) -> [UInt8]? {
        unsafe encoded.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            guard let signature = unsafe d2i_ECDSA_SIG(nil, &start, buffer.count) else { return nil }
            defer { unsafe ECDSA_SIG_free(signature) }
            var raw = [UInt8](repeating: 0, count: 64)
            let isRight = unsafe raw.withUnsafeMutableBufferPointer { raw in
                guard let r = raw.baseAddress else { return false }
                return unsafe BN_bn2binpad(ECDSA_SIG_get0_r(signature), r, 32) == 32
                    && BN_bn2binpad(ECDSA_SIG_get0_s(signature), r + 32, 32) == 32
            }
            return isRight ? raw : nil
        }
    }

    static func der(_ raw: [UInt8]) -> [UInt8]? {
        guard raw.count == 64, let signature = unsafe ECDSA_SIG_new() else { return nil }
        defer { unsafe ECDSA_SIG_free(signature) }
        let r = unsafe raw.withUnsafeBufferPointer { unsafe BN_bin2bn($0.baseAddress, 32, nil) }
        let s = unsafe raw.withUnsafeBufferPointer { unsafe BN_bin2bn($0.baseAddress?.advanced(by: 32), 32, nil) }
        // Takes both numbers over.
        guard unsafe ECDSA_SIG_set0(signature, r, s) == 1 else { preconditionFailure("out of memory for a signature") }
        var encoded: UnsafeMutablePointer<UInt8>?
        let count = unsafe i2d_ECDSA_SIG(signature, &encoded)
        guard count > 0, let start = unsafe encoded else { return nil }
        defer { unsafe CRYPTO_free(start, nil, 0) }
        return unsafe Array(UnsafeBufferPointer(start: start, count: Int(count)))
    }
}
