#if canImport(CryptoKit)
    import CryptoKit
    import Foundation

    /// CryptoKit, on Apple's systems. Continuous integration runs on Linux and does not compile this file; the vectors of
    /// `docs/vectors/` are there to be run on a Mac.
    struct CryptoKitCipher: PreviewCipher {
        private let key: SymmetricKey

        init(key: [UInt8]) { self.key = SymmetricKey(data: key) }

        var keyBytes: [UInt8] { unsafe key.withUnsafeBytes { unsafe Array($0) } }

        func seal(_ plaintext: [UInt8], nonce: [UInt8], additionalData: [UInt8]) -> [UInt8] {
            do {
                let box = try AES.GCM.seal(
                    plaintext, using: key, nonce: AES.GCM.Nonce(data: nonce), authenticating: additionalData)
                return Array(box.ciphertext) + Array(box.tag)
            } catch {
                preconditionFailure("a key of 32 and a nonce of 12 bytes seal anything")
            }
        }

        func open(_ sealed: [UInt8], nonce: [UInt8], additionalData: [UInt8]) -> [UInt8]? {
            do {
                let box = try AES.GCM.SealedBox(
                    nonce: AES.GCM.Nonce(data: nonce), ciphertext: sealed.dropLast(SealedForm.tagLength),
                    tag: sealed.suffix(SealedForm.tagLength))
                return Array(try AES.GCM.open(box, using: key, authenticating: additionalData))
            } catch {
                return nil
            }
        }

        static func sha256(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }

        static func randomBytes(_ count: Int) -> [UInt8] {
            var generator = SystemRandomNumberGenerator()
            return (0..<count).map { _ in UInt8.random(in: 0...UInt8.max, using: &generator) }
        }
    }
#endif
