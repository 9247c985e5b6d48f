import COpenSSL

/// Bytes that nobody can foretell, from OpenSSL's generator, which the kernel seeds.
package enum SecureRandom {
    /// That many random bytes. Traps when the generator fails: there is no safe way to go on.
    package static func bytes(_ count: Int) -> [UInt8] {
        precondition(count >= 0, "a count of bytes is not negative")
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { out, written in
            precondition(unsafe RAND_bytes(out.baseAddress, Int32(count)) == 1, "the random generator failed")
            written = count
        }
    }

    /// 32 random bytes. Traps when the generator fails.
    package static func bytes32() -> InlineArray<32, UInt8> {
        var bytes = InlineArray<32, UInt8>(repeating: 0)
        var span = bytes.mutableSpan
        unsafe span.withUnsafeMutableBufferPointer { out in
            precondition(unsafe RAND_bytes(out.baseAddress, 32) == 1, "the random generator failed")
        }
        return bytes
    }
}

/// Whether both hold the same bytes. For equal lengths it takes as long wherever they differ.
package func constantTimeEquals(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    return unsafe CRYPTO_memcmp(left, right, left.count) == 0
}
