import Cryptography

/// A signed JWT in its compact form (RFC 7515 section 7.1), taken apart and not yet believed.
struct CompactJWT {
    /// The first part, an object.
    let header: JSON
    /// The second part, an object.
    let claims: JSON
    /// What the signature is over: the first two parts and the dot between them.
    let signedBytes: [UInt8]
    /// The third part, decoded.
    let signature: [UInt8]

    /// Nil unless there are three parts of strict base64url, the first two of them JSON objects.
    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3,
            let header = Base64URL.decode(String(parts[0])).flatMap({ JSON($0) }), header.members != nil,
            let claims = Base64URL.decode(String(parts[1])).flatMap({ JSON($0) }), claims.members != nil,
            let signature = Base64URL.decode(String(parts[2]))
        else { return nil }
        self.header = header
        self.claims = claims
        self.signature = signature
        signedBytes = Array("\(parts[0]).\(parts[1])".utf8)
    }
}
