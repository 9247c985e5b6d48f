import Cryptography

/// Whether a provider token is one of ours: ES256 by the key made at start, with its ids. It remembers verdicts, since
/// a client sends the same token with every push and a signature costs more than all else.
///
/// Loop thread.
final class ProviderTokenVerifier {
    private let key: ES256VerifyingKey
    private let keyID: String
    private let teamID: String
    private var verdicts: [String: Int64?] = [:]

    /// Tokens whose verdicts are kept; all go when there are more.
    private static let remembered = 256

    /// Takes the public half of the key that tokens must be signed with, and the ids that they must carry.
    init(key: ES256VerifyingKey, keyID: String, teamID: String) {
        self.key = key
        self.keyID = keyID
        self.teamID = teamID
    }

    /// `iat`, in seconds since 1970; nil when anything about the token but its age is wrong.
    func issueTime(of token: String) -> Int64? {
        if let known = verdicts[token] { return known }
        if verdicts.count >= Self.remembered { verdicts.removeAll() }
        let verdict = verify(token)
        verdicts[token] = verdict
        return verdict
    }

    /// "Establishing a token-based connection to APNs": `alg`, `kid`; `iss`, `iat`; the signature is R|S of 64 bytes
    /// (RFC 7518 section 3.4), and `iat` is a number (RFC 7519 section 4.1.6), whatever Apple's own sample shows.
    private func verify(_ token: String) -> Int64? {
        guard let jwt = CompactJWT(token), jwt.header["alg"]?.string == "ES256", jwt.header["kid"]?.string == keyID,
            jwt.claims["iss"]?.string == teamID, let issued = jwt.claims["iat"]?.integer,
            key.isValid(signature: jwt.signature, for: jwt.signedBytes)
        else { return nil }
        return issued
    }
}

/// What one connection remembers about provider tokens. Pure, the clock handed in.
struct ProviderTokenHistory {
    private var known: Set<String> = []
    private var lastChange: Int64?
    private var isWedged = false

    /// A token is good for an hour either way, and may change every 20 minutes.
    private static let longestAge: Int64 = 3600
    private static let shortestChange: Int64 = 1_200_000

    /// Judges a token whose signature and ids are right; nil is accepted. `issued` in seconds, `now` in milliseconds.
    ///
    /// Apple words the 20 minutes per connection, and so they are counted here, by the time at which tokens are seen.
    mutating func fault(
        of token: String, issued: Int64, now: Int64, behaviour: ConnectionBehaviour
    ) -> APNsReason? {
        if isWedged { return .expiredProviderToken }
        // Only a time before the beginning of all clocks overflows here.
        let (age, overflow) = (now / 1000).subtractingReportingOverflow(issued)
        guard !overflow, age <= Self.longestAge else {
            isWedged = behaviour.wedgesAfterExpiredToken
            return .expiredProviderToken
        }
        guard age >= -Self.longestAge else {
            return behaviour.callsFutureTokensTooMany ? .tooManyProviderTokenUpdates : .invalidProviderToken
        }
        guard !known.contains(token) else { return nil }
        if let lastChange, now - lastChange < Self.shortestChange { return .tooManyProviderTokenUpdates }
        known.insert(token)
        lastChange = now
        return nil
    }
}
