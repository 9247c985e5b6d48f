#if !canImport(CryptoKit)
    import Cryptography

    /// OpenSSL, everywhere but on Apple's systems.
    struct OpenSSLCipher: PreviewCipher {
        private let key: SecretBytes

        init(key: [UInt8]) { self.key = SecretBytes(key) }

        var keyBytes: [UInt8] {
            key.withBytes { bytes in bytes.indices.map { bytes[$0] } }
        }

        func seal(_ plaintext: [UInt8], nonce: [UInt8], additionalData: [UInt8]) -> [UInt8] {
            key.withBytes { key in
                AES256GCM.seal(plaintext.span, key: key, nonce: nonce.span, additionalData: additionalData.span)
            }
        }

        func open(_ sealed: [UInt8], nonce: [UInt8], additionalData: [UInt8]) -> [UInt8]? {
            key.withBytes { key in
                AES256GCM.open(sealed.span, key: key, nonce: nonce.span, additionalData: additionalData.span)
            }
        }

        static func sha256(_ bytes: [UInt8]) -> [UInt8] {
            let digest = SHA256.hash(bytes).bytes
            return digest.indices.map { digest[$0] }
        }

        static func randomBytes(_ count: Int) -> [UInt8] { SecureRandom.bytes(count) }
    }
#endif
