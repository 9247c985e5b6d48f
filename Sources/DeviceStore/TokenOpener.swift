import Cryptography
package import PushModel

/// Opens what ``TokenSealing`` sealed, one token after the other, with contexts of OpenSSL that it keeps: a store opens one
/// for each push. Between two calls it holds neither a capability nor a key nor a token.
package struct TokenOpener: ~Copyable {
    private let hasher = SHA256Hasher()
    private let keys: SaltedHKDF
    private let cipher = AES256GCMOpener()

    /// Makes one that has opened nothing.
    package init() {
        let salt = TokenSealing.salt
        keys = SaltedHKDF(salt: salt.span)
    }

    /// The hash by which the capability's row is found.
    package func hash(of capability: Capability) -> CapabilityHash {
        CapabilityHash(digest: hasher.hash(capability.text.span))
    }

    /// Opens a token of version 1. Nil unless capability and row are the ones it was sealed with.
    package func open(_ sealed: Span<UInt8>, from row: SealedRow, with capability: Capability) -> DeviceToken? {
        let info = TokenSealing.KeyInfo.capability.with(row.hash)
        let key = keys.deriveKey(from: capability.randomBytes.span, info: info.span)
        return open(sealed, from: row, as: .byCapability, key: key)
    }

    /// Opens a token of version 2. Nil unless secret and row are the ones it was sealed with.
    package func open(_ sealed: Span<UInt8>, from row: SealedRow, with secret: RelaySecret) -> DeviceToken? {
        open(sealed, from: row, as: .byRelaySecret, key: secret.tokenKey(for: row.hash))
    }

    private func open(
        _ sealed: Span<UInt8>, from row: SealedRow, as version: TokenSealing.Version, key: InlineArray<32, UInt8>
    ) -> DeviceToken? {
        guard sealed.count > TokenSealing.overhead, sealed[0] == version.rawValue else { return nil }
        let nonceEnd = 1 + AES256GCM.nonceLength
        var token: DeviceToken?
        let isGenuine = cipher.open(
            sealed.extracting(nonceEnd..<sealed.count), key: key.span, nonce: sealed.extracting(1..<nonceEnd),
            additionalData: row.additionalData(version).span
        ) { plaintext in token = TokenPlaintext.decode(plaintext, for: row.platform) }
        return isGenuine ? token : nil
    }
}
