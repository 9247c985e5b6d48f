package import Cryptography

/// What finds every registration of one token, for whoever holds the relay's secret and the token.
///
/// It is HMAC-SHA256 under the relay's secret of `fingerprint`, NUL, the platform, NUL and the token; neither of the
/// first two can hold a NUL, so no two tokens are told apart by where one word ends.
package struct TokenFingerprint: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// The code.
    package let digest: SHA256Digest

    init(digest: SHA256Digest) { self.digest = digest }

    package var description: String { "(fingerprint)" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
