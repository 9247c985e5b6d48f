/// The key of the previews that one server seals for one phone: 32 bytes that only the two of them have.
///
/// The phone draws it, a fresh one for each server, and hands it over together with the capability. It does not print.
public struct PreviewKey: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The length of a key, in bytes.
    public static let length = 32

    /// What seals and opens by it; it holds the key.
    let cipher: SystemCipher

    /// Draws a new key from the system's random source.
    public init() { cipher = SystemCipher(key: SystemCipher.randomBytes(Self.length)) }

    /// Takes a key as it was stored; nil unless there are 32 bytes.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        cipher = SystemCipher(key: bytes)
    }

    /// Takes a key as it was handed over; nil unless it is base64url of 32 bytes, without padding.
    public init?(base64URL text: String) {
        guard let bytes = Base64URL.decode(text) else { return nil }
        self.init(bytes: bytes)
    }

    /// The key as base64url, to be stored or handed to the one other who may have it.
    public var disclosed: String { Base64URL.encode(cipher.keyBytes) }

    /// Says nothing of it.
    public var description: String { "(preview key)" }
    /// Says nothing of it.
    public var debugDescription: String { "(preview key)" }
    /// Shows nothing of it.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
