import COpenSSL

/// AES-256-GCM (NIST SP 800-38D) with a 12-byte nonce and a 16-byte tag.
package enum AES256GCM {
    /// The length of a key, in bytes.
    package static let keyLength = 32
    /// The length of a nonce, in bytes. A nonce may be used once under one key.
    package static let nonceLength = 12
    /// The length of the tag that follows the ciphertext, in bytes.
    package static let tagLength = 16

    /// Encrypts and authenticates. Returns the ciphertext, as long as the plaintext, and the tag.
    ///
    /// Traps unless the key has 32 bytes and the nonce 12.
    package static func seal(
        _ plaintext: [UInt8], key: [UInt8], nonce: [UInt8], additionalData: [UInt8]
    ) -> [UInt8] {
        seal(plaintext.span, key: key.span, nonce: nonce.span, additionalData: additionalData.span)
    }

    /// Encrypts and authenticates. Returns the ciphertext, as long as the plaintext, and the tag.
    ///
    /// Traps unless the key has 32 bytes and the nonce 12.
    package static func seal(
        _ plaintext: Span<UInt8>, key: Span<UInt8>, nonce: Span<UInt8>, additionalData: Span<UInt8>
    ) -> [UInt8] {
        let context = CipherContext()
        let count = plaintext.count
        context.start(encrypts: true, key: key, nonce: nonce)
        context.authenticate(additionalData)
        return unsafe [UInt8](unsafeUninitializedCapacity: count + tagLength) { out, written in
            unsafe context.update(plaintext, into: out.baseAddress)
            mustSucceed(context.finish())
            unsafe context.readTag(into: out.baseAddress?.advanced(by: count))
            written = count + tagLength
        }
    }

    /// Decrypts what ``seal(_:key:nonce:additionalData:)-([UInt8],_,_,_)`` made. Nil when the key, the nonce, the
    /// additional data or a single bit of the text is not what it was; no byte of the plaintext is given out then.
    ///
    /// Traps unless the key has 32 bytes and the nonce 12.
    package static func open(
        _ sealed: [UInt8], key: [UInt8], nonce: [UInt8], additionalData: [UInt8]
    ) -> [UInt8]? {
        open(sealed.span, key: key.span, nonce: nonce.span, additionalData: additionalData.span)
    }

    /// Decrypts what ``seal(_:key:nonce:additionalData:)-([UInt8],_,_,_)`` made. Nil when the key, the nonce, the
    /// additional data or a single bit of the text is not what it was; no byte of the plaintext is given out then.
    ///
    /// Traps unless the key has 32 bytes and the nonce 12.
    package static func open(
        _ sealed: Span<UInt8>, key: Span<UInt8>, nonce: Span<UInt8>, additionalData: Span<UInt8>
    ) -> [UInt8]? {
        var opened: [UInt8] = []
        let opener = AES256GCMOpener()
        let isGenuine = opener.open(sealed, key: key, nonce: nonce, additionalData: additionalData) { plaintext in
            opened = unsafe plaintext.withUnsafeBufferPointer { unsafe Array($0) }
        }
        return isGenuine ? opened : nil
    }
}

/// Opens one text after the other, each under a key of its own, for whoever owns it: a context made for each text costs a
/// fifth more.
///
/// Between two texts it holds neither a key nor a plaintext.
@safe package struct AES256GCMOpener: ~Copyable {
    private let context = CipherContext()

    /// Makes one that holds no key.
    package init() {}

    /// Decrypts what ``AES256GCM/seal(_:key:nonce:additionalData:)-([UInt8],_,_,_)`` made, and lends the plaintext, which is
    /// overwritten after the call. False, and no call, when the key, the nonce, the additional data or a single bit of the
    /// text is not what it was.
    ///
    /// Traps unless the key has 32 bytes and the nonce 12.
    package func open(
        _ sealed: Span<UInt8>, key: Span<UInt8>, nonce: Span<UInt8>, additionalData: Span<UInt8>,
        _ body: (Span<UInt8>) -> Void
    ) -> Bool {
        let count = sealed.count - AES256GCM.tagLength
        guard count >= 0 else { return false }
        context.start(encrypts: false, key: key, nonce: nonce)
        defer { context.forgetKey() }
        context.authenticate(additionalData)
        return unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: count) { out in
            defer { unsafe OPENSSL_cleanse(out.baseAddress, count) }
            unsafe context.update(sealed.extracting(0..<count), into: out.baseAddress)
            context.expectTag(sealed.extracting(count..<sealed.count))
            guard context.finish() == 1 else {
                // Left in the queue, the error would be taken for one of TLS by whoever asks next on this thread.
                ERR_clear_error()
                return false
            }
            unsafe body(Span(_unsafeElements: UnsafeBufferPointer(out)))
            return true
        }
    }
}

/// Owns one cipher context of OpenSSL, usable again after each ``finish()``. Freeing it clears the key.
@safe struct CipherContext: ~Copyable {
    private let context: OpaquePointer

    init() {
        guard let context = unsafe EVP_CIPHER_CTX_new() else { preconditionFailure("out of memory for a cipher") }
        unsafe self.context = context
        // Named once: a context that is given its cipher again makes its inside anew, for a sixth of what opening costs.
        mustSucceed(unsafe EVP_CipherInit_ex2(context, Algorithms.fetched.aes256GCM, nil, nil, 0, nil))
    }

    deinit { unsafe EVP_CIPHER_CTX_free(context) }

    func start(encrypts: Bool, key: Span<UInt8>, nonce: Span<UInt8>) {
        precondition(key.count == AES256GCM.keyLength, "a key of AES-256 has 32 bytes")
        precondition(nonce.count == AES256GCM.nonceLength, "a nonce has 12 bytes")
        unsafe key.withUnsafeBufferPointer { key in
            unsafe nonce.withUnsafeBufferPointer { nonce in
                mustSucceed(
                    unsafe EVP_CipherInit_ex2(
                        context, nil, key.baseAddress, nonce.baseAddress, encrypts ? 1 : 0, nil))
            }
        }
    }

    /// Puts a key of zeros in the place of the last one: the round keys and the tables made of it are overwritten, for 30 ns.
    func forgetKey() {
        let zeros = InlineArray<32, UInt8>(repeating: 0)
        unsafe zeros.span.withUnsafeBufferPointer { zeros in
            mustSucceed(unsafe EVP_CipherInit_ex2(context, nil, zeros.baseAddress, nil, -1, nil))
        }
    }

    func authenticate(_ additionalData: Span<UInt8>) { unsafe update(additionalData, into: nil) }

    /// Without a place for the output, the input is additional data.
    @unsafe func update(_ input: Span<UInt8>, into out: UnsafeMutablePointer<UInt8>?) {
        guard !input.isEmpty else { return }
        var written: Int32 = 0
        unsafe input.withUnsafeBufferPointer { input in
            mustSucceed(unsafe EVP_CipherUpdate(context, out, &written, input.baseAddress, Int32(input.count)))
        }
    }

    func expectTag(_ tag: Span<UInt8>) {
        // The control takes a pointer to change, but only reads through it (EVP_EncryptInit(3)).
        var copy = InlineArray<16, UInt8> { tag[$0] }
        var span = copy.mutableSpan
        unsafe span.withUnsafeMutableBufferPointer { buffer in
            mustSucceed(
                unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(buffer.count), buffer.baseAddress))
        }
    }

    /// Returns 1 unless the tag is wrong. GCM writes nothing at its end, yet wants a place to write to.
    func finish() -> Int32 {
        var spare = InlineArray<16, UInt8>(repeating: 0)
        var span = spare.mutableSpan
        return unsafe span.withUnsafeMutableBufferPointer { buffer in
            var written: Int32 = 0
            return unsafe EVP_CipherFinal_ex(context, buffer.baseAddress, &written)
        }
    }

    @unsafe func readTag(into out: UnsafeMutablePointer<UInt8>?) {
        mustSucceed(unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(AES256GCM.tagLength), out))
    }
}
