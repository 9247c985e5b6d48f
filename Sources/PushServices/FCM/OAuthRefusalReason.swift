import FoundationEssentials

/// Why Google's token endpoint gives no access token, as far as its words say. RFC 6749, section 5.2; Google: "Using OAuth
/// 2.0 for server to server applications". The prose is only looked through for a few words, and never passed on.
package enum OAuthRefusalReason: Sendable, Equatable, CaseIterable {
    /// The endpoint has a fault of its own.
    case unavailable
    /// The times in the assertion are not Google's: our clock is wrong.
    case clock
    /// The assertion's signature is not by a key of the account: revoked, or of another account.
    case signature
    /// There is no such account any more.
    case noAccount
    /// The account, or its key, has been disabled.
    case disabled
    /// The assertion is for another endpoint than the one that was asked.
    case audience
    /// The account may not ask for this scope.
    case scope
    /// The account is not let in as a client.
    case client
    /// Anything else.
    case other

    /// Reads the body of a refusal; nil when it is none of OAuth's.
    package init?(_ body: [UInt8]) {
        guard let refusal = try? JSONDecoder().decode(Refusal.self, from: Data(body)) else { return nil }
        let text = refusal.description?.lowercased() ?? ""
        switch refusal.error {
        case "internal_failure", "server_error", "temporarily_unavailable": self = .unavailable
        case "invalid_grant" where text.contains("iat") || text.contains("short-lived"): self = .clock
        case "invalid_scope": self = .scope
        case _ where refusal.error.contains("disabled") || text.contains("disabled"): self = .disabled
        case "invalid_grant" where text.contains("signature"): self = .signature
        case "invalid_grant" where text.contains("account not found"): self = .noAccount
        case "invalid_grant" where text.contains("audience"): self = .audience
        case "unauthorized_client", "invalid_client": self = .client
        default: self = .other
        }
    }

    private struct Refusal: Decodable {
        var error: String
        var description: String?

        enum CodingKeys: String, CodingKey {
            case error
            case description = "error_description"
        }
    }
}
