import COpenSSL

/// The 32 bytes that SHA-256 or HMAC-SHA256 makes.
package struct SHA256Digest: Sendable, Hashable {
    /// The digest, first byte first.
    package let bytes: InlineArray<32, UInt8>

    /// Takes a digest as it was stored.
    package init(bytes: InlineArray<32, UInt8>) { self.bytes = bytes }

    /// Takes a digest as it was stored; nil unless there are exactly 32 bytes.
    package init?(_ stored: Span<UInt8>) {
        guard stored.count == 32 else { return nil }
        bytes = InlineArray { stored[$0] }
    }

    /// The first eight bytes, the first in the most significant place.
    package var firstEightBytes: UInt64 { UInt64(bigEndian: bytes.span.word(0)) }

    /// The eight bytes after those, likewise.
    package var nextEightBytes: UInt64 { UInt64(bigEndian: bytes.span.word(1)) }

    /// 64 lower-case hex digits.
    package var hex: String { Hex.text(of: bytes.span) }

    /// Takes as long for equal as for different digests.
    package static func == (left: SHA256Digest, right: SHA256Digest) -> Bool { left.matches(right.bytes.span) }

    /// Whether these are the digest's bytes. Takes as long for equal bytes as for any other 32.
    package func matches(_ stored: Span<UInt8>) -> Bool {
        guard stored.count == 32 else { return false }
        let own = bytes.span
        var difference: UInt64 = 0
        for index in 0..<4 { difference |= own.word(index) ^ stored.word(index) }
        return difference == 0
    }

    package func hash(into hasher: inout Hasher) {
        // A digest is evenly spread already; Hasher adds the seed that keeps a chosen digest from being a chosen slot.
        hasher.combine(firstEightBytes)
    }
}

extension Span<UInt8> {
    /// The eight bytes of the word with this number, as they stand in memory.
    fileprivate func word(_ number: Int) -> UInt64 {
        precondition((number + 1) * 8 <= count, "a word beyond the end")
        return unsafe bytes.unsafeLoadUnaligned(fromByteOffset: number * 8, as: UInt64.self)
    }
}

/// SHA-256 (FIPS 180-4).
package enum SHA256 {
    /// The digest of the bytes.
    package static func hash(_ bytes: Span<UInt8>) -> SHA256Digest {
        let context = SHA256Context()
        context.start()
        context.update(bytes)
        return context.finish()
    }

    /// The digest of the bytes.
    package static func hash(_ bytes: [UInt8]) -> SHA256Digest { hash(bytes.span) }
}

/// SHA-256 of one text after the other, for whoever owns it: a fresh context for each costs half as much again.
///
/// Between two texts it holds nothing of either.
package struct SHA256Hasher: ~Copyable {
    private let context = SHA256Context()

    /// Makes one that has seen nothing.
    package init() { context.start() }

    /// The digest of the bytes.
    package func hash(_ bytes: Span<UInt8>) -> SHA256Digest {
        context.update(bytes)
        let digest = context.finish()
        // After the use and not before the next one, so that the state, which is the digest, does not stay in memory.
        context.start()
        return digest
    }
}

/// Owns one digest context of OpenSSL, usable again after each ``finish()``.
///
/// What it held is cleared when it starts anew and when it is freed.
@safe struct SHA256Context: ~Copyable {
    private let context: OpaquePointer

    init() {
        guard let context = unsafe EVP_MD_CTX_new() else { preconditionFailure("out of memory for a digest") }
        unsafe self.context = context
    }

    deinit { unsafe EVP_MD_CTX_free(context) }

    func start() {
        mustSucceed(unsafe EVP_DigestInit_ex2(context, Algorithms.fetched.sha256, nil))
    }

    /// Starts behind the bytes that another context has taken in.
    func start(from other: borrowing SHA256Context) {
        mustSucceed(unsafe EVP_MD_CTX_copy_ex(context, other.context))
    }

    func update(_ bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { buffer in
            mustSucceed(unsafe EVP_DigestUpdate(context, buffer.baseAddress, buffer.count))
        }
    }

    func finish() -> SHA256Digest {
        var bytes = InlineArray<32, UInt8>(repeating: 0)
        var out = bytes.mutableSpan
        unsafe out.withUnsafeMutableBufferPointer { buffer in
            mustSucceed(unsafe EVP_DigestFinal_ex(context, buffer.baseAddress, nil))
        }
        return SHA256Digest(bytes: bytes)
    }
}
