/// A private RSA key that signs as JWTs want it: RS256 (RFC 7518 section 3.3). What a Google service account holds.
package final class RS256SigningKey: Sendable, CustomStringConvertible, CustomReflectable {
    private let key: AsymmetricKey

    /// Reads a private key in PEM, PKCS#8 or PKCS#1, of 2048 to 8192 bits.
    package init(pem: String) throws(KeyError) {
        key = try AsymmetricKey.readPrivate(pem)
        try key.checkIsRSA()
        try key.checkIsConsistent()
    }

    private init(_ key: AsymmetricKey) { self.key = key }

    /// A fresh key of 2048 bits. It takes about a tenth of a second, at times much longer.
    package static func generate() -> RS256SigningKey { RS256SigningKey(.generateRSA()) }

    /// Signs the SHA-256 of the message by PKCS#1 v1.5. As many bytes as the modulus has.
    package func sign(_ message: [UInt8]) -> [UInt8] {
        guard let signature = key.sign(message) else { preconditionFailure("a checked RSA key did not sign") }
        return signature
    }

    /// The public half, SubjectPublicKeyInfo in PEM.
    package var publicKeyPEM: String { key.publicPEM }

    /// The private key itself, PKCS#8 in PEM. For the files of a simulator.
    package var privateKeyPEM: String { key.privatePEM }

    package var description: String { "(RS256 signing key)" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The public half of an ``RS256SigningKey``.
package final class RS256VerifyingKey: Sendable {
    private let key: AsymmetricKey

    /// Reads a public key in PEM, of 2048 to 8192 bits.
    package init(pem: String) throws(KeyError) {
        key = try AsymmetricKey.readPublic(pem)
        try key.checkIsRSA()
    }

    /// Whether the signature is this key's for the message.
    package func isValid(signature: [UInt8], for message: [UInt8]) -> Bool {
        key.verifies(signature, of: message)
    }
}
