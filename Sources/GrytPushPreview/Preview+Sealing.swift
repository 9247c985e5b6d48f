extension Preview {
    /// Seals it for one phone, as that phone's server does. The result goes into `"preview"` of a push, as it is.
    ///
    /// Each call draws a nonce, so the same preview looks different each time.
    ///
    /// - Throws: ``SealingError/tooLong(byBytes:)``.
    public func seal(with key: PreviewKey, for tag: PreviewTag) throws(SealingError) -> String {
        try seal(with: key, for: tag, nonce: SystemCipher.randomBytes(SealedForm.nonceLength))
    }

    /// Seals it under a nonce of the caller's, which must never be used twice with one key: for test vectors.
    ///
    /// Traps unless the nonce has 12 bytes.
    package func seal(with key: PreviewKey, for tag: PreviewTag, nonce: [UInt8]) throws(SealingError) -> String {
        precondition(nonce.count == SealedForm.nonceLength, "a nonce has 12 bytes")
        guard bytesOver == 0 else { throw .tooLong(byBytes: bytesOver) }
        let sealed = key.cipher.seal(
            PreviewText.encode(self), nonce: nonce, additionalData: SealedForm.additionalData(tag))
        return Base64URL.encode([SealedForm.version] + nonce + sealed)
    }

    /// Opens what came with a notification, as the phone does: `sealed` is its `p`, `tag` its `c`, and `key` the one that
    /// the phone keeps for the server of that tag.
    public static func open(
        _ sealed: String, with key: PreviewKey, for tag: PreviewTag
    ) throws(OpeningError) -> Preview {
        guard SealedForm.lengths.contains(sealed.utf8.count) else { throw .wrongLength }
        guard let bytes = Base64URL.decode(sealed) else { throw .notBase64URL }
        guard bytes[0] == SealedForm.version else { throw .unknownVersion(bytes[0]) }
        let nonce = Array(bytes[1..<(1 + SealedForm.nonceLength)])
        let plaintext = key.cipher.open(
            Array(bytes[(1 + SealedForm.nonceLength)...]), nonce: nonce,
            additionalData: SealedForm.additionalData(tag))
        guard let plaintext else { throw .notGenuine }
        guard let preview = PreviewText.decode(plaintext) else { throw .notAPreview }
        return preview
    }
}

/// The form of a sealed preview: base64url of `0x01 | nonce | ciphertext | tag`, AES-256-GCM.
enum SealedForm {
    /// The first byte. Another form would have another one.
    static let version: UInt8 = 1
    /// In bytes.
    static let nonceLength = 12
    /// In bytes, of the tag at the end.
    static let tagLength = 16
    /// How long the text may be, in characters: the relay refuses any other.
    static let lengths = 40...2048
    /// The most bytes of JSON that fit: 1507.
    static let mostPlaintext = lengths.upperBound * 3 / 4 - 1 - nonceLength - tagLength

    /// What the seal is bound to besides its key.
    static func additionalData(_ tag: PreviewTag) -> [UInt8] { Array("gryt-push-1|\(tag.disclosed)".utf8) }
}
