/// HKDF-SHA256 (RFC 5869) under one salt, for whoever derives one key after the other: what the salt does to the digest is
/// done once, which is two blocks of eight, and the contexts are used again.
///
/// Between two keys it holds nothing of either secret.
package struct SaltedHKDF: ~Copyable {
    /// What the inner and the outer pass of HMAC under the salt begin with.
    private let inner = SHA256Context()
    private let outer = SHA256Context()
    /// Starts from `inner` whenever nothing is being derived.
    private let digest = SHA256Context()

    /// Takes the salt; an empty one stands for 32 zero bytes.
    package init(salt: Span<UInt8>) {
        let pads = HMACPads(key: salt)
        inner.start()
        inner.update(pads.inner.span)
        outer.start()
        outer.update(pads.outer.span)
        digest.start(from: inner)
    }

    /// Derives the 32 bytes of one AES-256 key: the first block of the output.
    package func deriveKey(from secret: Span<UInt8>, info: Span<UInt8>) -> InlineArray<32, UInt8> {
        // Extract (section 2.2): HMAC of the secret under the salt.
        digest.update(secret)
        let secretInside = digest.finish()
        digest.start(from: outer)
        digest.update(secretInside.bytes.span)
        let pads = HMACPads(key: digest.finish().bytes.span)
        // Expand (section 2.3), T(1): HMAC of the info and a one, under what was extracted.
        digest.start()
        digest.update(pads.inner.span)
        digest.update(info)
        let number: InlineArray<1, UInt8> = [1]
        digest.update(number.span)
        let infoInside = digest.finish()
        digest.start()
        digest.update(pads.outer.span)
        digest.update(infoInside.bytes.span)
        let key = digest.finish().bytes
        // After the use and not before the next one, so that the state, which is the key, does not stay in memory.
        digest.start(from: inner)
        return key
    }
}
