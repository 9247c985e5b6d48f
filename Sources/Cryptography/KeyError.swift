/// Why a text is not the key that was needed. Each says what the operator should look at and never what the text holds.
package enum KeyError: Error, Equatable, CaseIterable, CustomStringConvertible {
    /// There is no `-----BEGIN …-----` block that also ends.
    case notPEM
    /// A certificate stands where a private key is needed.
    case certificateInsteadOfKey
    /// A public key stands where a private key is needed.
    case publicKeyInsteadOfPrivate
    /// A private key stands where a public key is needed.
    case privateKeyInsteadOfPublic
    /// The block is of a kind that holds no key at all.
    case otherPEM
    /// More than one key; the relay will not guess which is meant.
    case severalKeys
    /// The key is encrypted. The relay asks nobody for a password.
    case passwordProtected
    /// The block is there, but what it holds cannot be decoded.
    case damaged
    /// A key of another algorithm: RSA where an elliptic curve is needed, or the other way round.
    case wrongAlgorithm
    /// An elliptic curve other than P-256.
    case wrongCurve
    /// An RSA key shorter than 2048 bits or longer than 8192.
    case wrongSize
    /// The private half does not fit the public one.
    case inconsistent

    package var description: String {
        switch self {
        case .notPEM: "not a PEM text (no complete -----BEGIN …----- block)"
        case .certificateInsteadOfKey: "a certificate, where a private key is needed"
        case .publicKeyInsteadOfPrivate: "a public key, where a private key is needed"
        case .privateKeyInsteadOfPublic: "a private key, where a public key is needed"
        case .otherPEM: "a PEM text that holds no key"
        case .severalKeys: "more than one key in one text"
        case .passwordProtected: "a key protected by a password; decrypt it first (openssl pkcs8 -topk8 -nocrypt)"
        case .damaged: "a PEM text that cannot be decoded; it may be cut short"
        case .wrongAlgorithm: "a key of the wrong algorithm"
        case .wrongCurve: "a key on another curve than P-256"
        case .wrongSize: "an RSA key of less than 2048 or more than 8192 bits"
        case .inconsistent: "a key whose private half does not fit its public half"
        }
    }
}
