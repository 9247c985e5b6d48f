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
    package var firstEightBytes: UInt64 {
        var value: UInt64 = 0
        for index in 0..<8 { value = value << 8 | UInt64(bytes[index]) }
        return value
    }

    /// The eight bytes after those, likewise.
    package var nextEightBytes: UInt64 {
        var value: UInt64 = 0
        for index in 8..<16 { value = value << 8 | UInt64(bytes[index]) }
        return value
    }

    /// 64 lower-case hex digits.
    package var hex: String {
        var digits: [UInt8] = []
        digits.reserveCapacity(64)
        for index in 0..<32 {
            digits.append(hexDigit(bytes[index] >> 4))
            digits.append(hexDigit(bytes[index] & 15))
        }
        return String(decoding: digits, as: UTF8.self)
    }

    /// Takes as long for equal as for different digests.
    package static func == (left: SHA256Digest, right: SHA256Digest) -> Bool {
        var difference: UInt8 = 0
        for index in 0..<32 { difference |= left.bytes[index] ^ right.bytes[index] }
        return difference == 0
    }

    package func hash(into hasher: inout Hasher) {
        // A digest is evenly spread already; Hasher adds the seed that keeps a chosen digest from being a chosen slot.
        hasher.combine(firstEightBytes)
    }
}

private func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
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

/// Owns one digest context of OpenSSL, usable again after each ``finish()``.
///
/// A fresh context for each use costs 30 ns over one kept per thread. For that OpenSSL clears it when it is freed, and
/// there is no state that a thread would have to own.
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
