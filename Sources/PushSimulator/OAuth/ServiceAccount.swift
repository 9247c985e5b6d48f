package import Cryptography

/// A Google service account made for one run.
package struct ServiceAccount: Sendable {
    /// `project_id`.
    package let projectID: String
    /// `private_key_id`: what assertions carry as `kid`.
    package let keyID: String
    /// `client_email`: what assertions carry as `iss`.
    package let email: String
    /// `token_uri`: where assertions go, and what they carry as `aud`.
    package let tokenURI: String
    /// What assertions are signed with.
    package let key: RS256SigningKey

    /// Draws a fresh key, which takes a tenth of a second or so.
    init(projectID: String, tokenURI: String) {
        self.projectID = projectID
        self.tokenURI = tokenURI
        email = "push@\(projectID).iam.gserviceaccount.com"
        keyID = SecureRandom.bytes(20).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
        key = RS256SigningKey.generate()
    }

    /// The file that Google's console would give.
    var json: JSON {
        [
            "type": "service_account",
            "project_id": .string(projectID),
            "private_key_id": .string(keyID),
            "private_key": .string(key.privateKeyPEM),
            "client_email": .string(email),
            "client_id": "100000000000000000001",
            "auth_uri": "https://accounts.google.com/o/oauth2/auth",
            "token_uri": .string(tokenURI),
            "universe_domain": "googleapis.com",
        ]
    }
}
