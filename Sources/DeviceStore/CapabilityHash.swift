package import Cryptography
package import PushModel

/// The SHA-256 of a whole capability, all that the store keeps of it. From it nobody finds the capability again.
package struct CapabilityHash: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// The digest of the 45 bytes.
    package let digest: SHA256Digest

    /// Hashes a capability.
    package init(of capability: Capability) {
        digest = SHA256.hash(capability.text.span)
    }

    /// Takes a hash as it was stored.
    package init(digest: SHA256Digest) { self.digest = digest }

    /// How the phone knows which of its servers rang: the first 16 hex digits.
    package var tag: CapabilityTag { CapabilityTag(firstBytesOfHash: digest.firstEightBytes) }

    /// The first sixteen bytes, as two numbers whose first byte is in the most significant place.
    package var firstHalf: (high: UInt64, low: UInt64) { (digest.firstEightBytes, digest.nextEightBytes) }

    package var description: String { "(capability hash)" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
