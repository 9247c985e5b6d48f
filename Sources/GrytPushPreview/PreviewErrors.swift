/// Why a preview was not sealed.
public enum SealingError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Its JSON has so many bytes more than fit into the 2048 characters that the relay takes.
    /// ``Preview/fitting(title:subtitle:body:)`` cuts a text until it fits.
    case tooLong(byBytes: Int)

    /// The reason in words.
    public var description: String {
        switch self {
        case .tooLong(let bytes): "the preview is \(bytes) bytes too long"
        }
    }
}

/// Why a preview was not opened. Whatever it is, the phone leaves the fixed text on its screen.
public enum OpeningError: Error, Sendable, Hashable, CustomStringConvertible {
    /// It has not 40 to 2048 characters.
    case wrongLength
    /// It is not base64url without padding (RFC 4648 section 5).
    case notBase64URL
    /// Its first byte is not 0x01: it was made by something newer than this.
    case unknownVersion(UInt8)
    /// It was sealed with another key or for another tag, or it was changed on the way.
    case notGenuine
    /// What was sealed is not `{"t":title,"s"?:subtitle,"b":body}`.
    case notAPreview

    /// The reason in words.
    public var description: String {
        switch self {
        case .wrongLength: "a sealed preview has 40 to 2048 characters"
        case .notBase64URL: "the sealed preview is not base64url without padding"
        case .unknownVersion(let version): "the sealed preview is of version \(version), and only 1 is known"
        case .notGenuine: "the sealed preview is of another key or tag, or was changed"
        case .notAPreview: "what was sealed is not a preview"
        }
    }
}
