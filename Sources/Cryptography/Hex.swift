/// Bytes as lower-case hex digits.
package enum Hex {
    /// Two digits to a byte, written into the string's own memory.
    package static func text(of bytes: Span<UInt8>) -> String {
        unsafe String(unsafeUninitializedCapacity: 2 * bytes.count) { digits in
            for index in bytes.indices {
                unsafe digits[2 * index] = digit(bytes[index] >> 4)
                unsafe digits[2 * index + 1] = digit(bytes[index] & 15)
            }
            return 2 * bytes.count
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
