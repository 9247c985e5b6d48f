/// What sealing needs of a cryptographic library: AES-256-GCM under one key, SHA-256, and random bytes.
protocol PreviewCipher: Sendable {
    /// Takes a key of 32 bytes, and keeps it where it is overwritten once it is not needed any more.
    init(key: [UInt8])

    /// The key.
    var keyBytes: [UInt8] { get }

    /// The ciphertext and the tag of 16 bytes. The nonce has 12 bytes.
    func seal(_ plaintext: [UInt8], nonce: [UInt8], additionalData: [UInt8]) -> [UInt8]

    /// The plaintext; nil where the key, the nonce, the additional data or any bit is not what it was. `sealed` has the 16
    /// bytes of the tag at least, the nonce 12.
    func open(_ sealed: [UInt8], nonce: [UInt8], additionalData: [UInt8]) -> [UInt8]?

    /// The 32 bytes of the digest.
    static func sha256(_ bytes: [UInt8]) -> [UInt8]

    /// That many bytes that nobody can foretell.
    static func randomBytes(_ count: Int) -> [UInt8]
}

#if canImport(CryptoKit)
    /// The library of this system.
    typealias SystemCipher = CryptoKitCipher
#else
    /// The library of this system.
    typealias SystemCipher = OpenSSLCipher
#endif
