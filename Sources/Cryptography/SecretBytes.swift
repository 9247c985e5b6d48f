import COpenSSL

/// Holds bytes that must not leak: they do not print, are not copied along with their holder, and are overwritten when
/// the last reference goes.
///
/// `@unchecked Sendable`: the memory is written in `init` and in `deinit` only.
@safe
package final class SecretBytes: @unchecked Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// How many bytes it holds.
    package let count: Int
    private let memory: UnsafeMutablePointer<UInt8>

    /// Copies the bytes. Whoever brings them in an array keeps that copy; make it short-lived.
    package init(copying bytes: Span<UInt8>) {
        count = bytes.count
        unsafe memory = .allocate(capacity: max(1, bytes.count))
        for index in bytes.indices { unsafe memory[index] = bytes[index] }
    }

    /// Copies the bytes. Whoever brings them in an array keeps that copy; make it short-lived.
    package convenience init(_ bytes: [UInt8]) { self.init(copying: bytes.span) }

    deinit {
        unsafe OPENSSL_cleanse(memory, count)
        unsafe memory.deallocate()
    }

    /// Lends the bytes for the time of the call.
    package func withBytes<Result: ~Copyable, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(unsafe Span(_unsafeStart: memory, count: count))
    }

    package var description: String { "(secret)" }
    package var debugDescription: String { "(secret)" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
