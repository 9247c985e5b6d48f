package import Cryptography

/// A Google service account, as its key file names it.
package struct ServiceAccount: Sendable {
    /// The Firebase project that its phones belong to.
    package var projectID: String
    /// `client_email`: who asks.
    package var clientEmail: String
    /// `private_key_id`, for the assertion's header; empty when the file has none.
    package var privateKeyID: String
    /// Signs the assertion.
    package var key: RS256SigningKey
    /// `token_uri`, whole: the audience of the assertion.
    package var tokenURI: String

    package init(
        projectID: String, clientEmail: String, privateKeyID: String, key: RS256SigningKey, tokenURI: String
    ) {
        self.projectID = projectID
        self.clientEmail = clientEmail
        self.privateKeyID = privateKeyID
        self.key = key
        self.tokenURI = tokenURI
    }
}
