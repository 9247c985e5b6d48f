package import Cryptography
package import PushModel

#if canImport(Glibc)
    import Glibc
#endif

/// The relay's own 32 bytes. Whoever has them and the database can tell which rows belong to a token they already know;
/// they open no token that has had a push.
///
/// Without them no dead token can be forgotten, so they are made once and never replaced while there are devices.
package struct RelaySecret: Sendable, CustomStringConvertible, CustomReflectable {
    private let bytes: SecretBytes

    /// The length in bytes.
    package static let length = 32

    /// Reads the secret as operators write it, in `RELAY_SECRET` or in the file: 64 hex digits in either case, or the 43
    /// characters of base64 or base64url, with or without the `=` at the end. White space around it is dropped.
    package init(text: String) throws(RelaySecretError) {
        let text = text.drop(while: \.isWhitespace)
        guard let last = text.lastIndex(where: { !$0.isWhitespace }) else { throw .empty }
        try self.init(bytes: Self.decode(Array(text[...last].utf8)))
    }

    init(bytes: [UInt8]) throws(RelaySecretError) {
        guard bytes.count == Self.length else { throw .wrongLength }
        guard bytes.contains(where: { $0 != bytes[0] }) else { throw .noSecret }
        self.bytes = SecretBytes(bytes)
    }

    /// A fresh one.
    package static func generate() -> RelaySecret {
        do { return try RelaySecret(bytes: SecureRandom.bytes(length)) } catch {
            preconditionFailure("32 random bytes came out all alike")
        }
    }

    /// 64 lower-case hex digits, for the file it is kept in and for nothing else.
    var disclosed: String {
        bytes.withBytes { SHA256Digest($0)?.hex ?? "" }
    }

    /// What finds the registrations of a token.
    package func fingerprint(of token: DeviceToken) -> TokenFingerprint {
        var message = Array("fingerprint".utf8)
        message.append(0)
        message += token.platform.rawValue.utf8
        message.append(0)
        message += token.disclosed.utf8
        return TokenFingerprint(digest: authenticate(message))
    }

    /// What a database keeps to know its secret again. It says nothing about the secret.
    package var checkValue: SHA256Digest { authenticate(Array("check".utf8)) }

    private func authenticate(_ message: [UInt8]) -> SHA256Digest {
        bytes.withBytes { HMACSHA256.authenticate(message.span, key: $0) }
    }

    /// The key that seals one row of an older relay until its capability is presented.
    func tokenKey(for hash: CapabilityHash) -> InlineArray<32, UInt8> {
        let info = TokenSealing.KeyInfo.relaySecret.with(hash)
        let salt = TokenSealing.salt
        return bytes.withBytes { secret in
            HKDFSHA256.deriveKey(from: secret, salt: salt.span, info: info.span)
        }
    }

    private static func decode(_ text: [UInt8]) throws(RelaySecretError) -> [UInt8] {
        switch text.count {
        case 64:
            var bytes: [UInt8] = []
            for index in stride(from: 0, to: 64, by: 2) {
                guard let high = hexValue(text[index]), let low = hexValue(text[index + 1]) else { throw .notEncoded }
                bytes.append(high << 4 | low)
            }
            return bytes
        case 43, 44:
            let hasPadding = text.count == 44
            guard !hasPadding || text[43] == UInt8(ascii: "=") else { throw .notEncoded }
            let characters = text.prefix(43).map { character -> UInt8 in
                switch character {
                case UInt8(ascii: "+"): UInt8(ascii: "-")
                case UInt8(ascii: "/"): UInt8(ascii: "_")
                default: character
                }
            }
            guard let bytes = Base64URL.decode(String(decoding: characters, as: UTF8.self)) else { throw .notEncoded }
            return bytes
        default: throw .wrongLength
        }
    }

    private static func hexValue(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    package var description: String { "(relay secret)" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Why a text or a file is not the relay's secret. Nothing of what it holds is in here.
package enum RelaySecretError: Error, Equatable, CustomStringConvertible {
    /// There is nothing in it.
    case empty
    /// Not 32 bytes in either writing.
    case wrongLength
    /// A character that neither hex nor base64 has.
    case notEncoded
    /// 32 bytes that are all the same.
    case noSecret
    /// What stands in the file's place is a directory, a FIFO, a device or a socket.
    case notAFile
    /// The file cannot be read, made or written.
    case file(FileStep, errno: Int32)
    /// Other users of the machine may read the file, and the relay may not change that.
    case readableByOthers
    /// There is no file, and one must not be made because devices were registered under the one that is gone.
    case lost

    /// What was done with the file when it failed.
    package enum FileStep: String, Sendable {
        case open, read, write, sync, link
    }

    /// One line that says what to do. It leaves the name of the variable or file to whoever prints it.
    package var description: String {
        switch self {
        case .empty: "is empty; it must hold 32 bytes as 64 hex digits or 43 characters of base64"
        case .wrongLength: "has the wrong length; it must hold 32 bytes as 64 hex digits or 43 characters of base64"
        case .notEncoded: "is neither hex nor base64"
        case .noSecret: "is no secret: all its bytes are alike; make one with: openssl rand -hex 32"
        case .notAFile: "is not a regular file; move away what stands in its place, and restore the file"
        case .file(let step, let errno):
            "cannot be used: \(step.rawValue) failed: \(systemReason(errno))\(Self.advice(errno))"
        case .readableByOthers: "may be read by other users, and its mode cannot be changed; make it 0600"
        case .lost: "is gone, but devices were registered under it; restore it, or remove push.db to begin anew"
        }
    }

    private static func advice(_ errno: Int32) -> String {
        switch errno {
        case ENOSPC, EDQUOT: "; make room on its disk"
        case EROFS: "; mount the disk for writing"
        case EACCES, EPERM: "; the user that the relay runs as must own it"
        default: ""
        }
    }
}
