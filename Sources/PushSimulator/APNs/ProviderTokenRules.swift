import Cryptography

/// Whether a provider token is by one of Apple's keys: ES256, with the key's ids. It remembers verdicts, since a client
/// sends the same token with every push and a signature costs more than all else.
///
/// Loop thread.
final class ProviderTokenVerifier {
    private var verdicts: [String: Verdict?] = [:]
    private var version = -1

    /// Tokens whose verdicts are kept; all go when there are more.
    private static let remembered = 256

    /// What a token with a right signature says.
    struct Verdict {
        /// The key that signed it.
        var key: AppleKey
        /// `iat`, in seconds since 1970.
        var issued: Int64
    }

    /// Nil when anything about the token but its age is wrong.
    func verdict(on token: String, account: AppleAccount) -> Verdict? {
        if version != account.version { verdicts.removeAll() }
        version = account.version
        if let known = verdicts[token] { return known }
        if verdicts.count >= Self.remembered { verdicts.removeAll() }
        let verdict = verify(token, account)
        verdicts[token] = verdict
        return verdict
    }

    /// "Establishing a token-based connection to APNs": `alg`, `kid`; `iss`, `iat`; the signature is R|S of 64 bytes
    /// (RFC 7518 section 3.4), and `iat` is a number (RFC 7519 section 4.1.6), whatever Apple's own sample shows.
    private func verify(_ token: String, _ account: AppleAccount) -> Verdict? {
        guard let jwt = CompactJWT(token), jwt.header["alg"]?.string == "ES256",
            let key = jwt.header["kid"]?.string.flatMap({ account.keys[$0] }),
            jwt.claims["iss"]?.string == key.teamID, let issued = jwt.claims["iat"]?.integer,
            key.key.isValid(signature: jwt.signature, for: jwt.signedBytes)
        else { return nil }
        return Verdict(key: key, issued: issued)
    }
}

/// The provider tokens that were seen in one place: on a connection, or from an address. Pure, the clock handed in.
struct ProviderTokenChanges: Sendable {
    private var known: Set<String> = []
    private var lastChange: Int64?

    /// A token may change every 20 minutes.
    private static let shortestChange: Int64 = 1_200_000

    /// Whether this token comes too soon after another one. `now` in milliseconds.
    mutating func isTooSoon(_ token: String, now: Int64) -> Bool {
        guard !known.contains(token) else { return false }
        if let lastChange, now - lastChange < Self.shortestChange { return true }
        known.insert(token)
        lastChange = now
        return false
    }
}

/// What one connection remembers about provider tokens. Pure, the clock handed in.
struct ProviderTokenHistory {
    private var changes = ProviderTokenChanges()
    private var isWedged = false

    /// A token is good for an hour either way.
    private static let longestAge: Int64 = 3600

    /// Judges a token whose signature and ids are right; nil is accepted. `issued` in seconds, `now` in milliseconds.
    ///
    /// Apple words the 20 minutes between tokens per connection, and so they are counted here, by the time at which
    /// tokens are seen; `isTooSoonElsewhere` says what else counts.
    mutating func fault(
        of token: String, issued: Int64, now: Int64, behaviour: ConnectionBehaviour,
        isTooSoonElsewhere: () -> Bool
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
        let isTooSoon =
            switch behaviour.tokenChanges {
            case .perConnection: changes.isTooSoon(token, now: now)
            case .perAddress: isTooSoonElsewhere()
            case .unchecked: false
            }
        return isTooSoon ? .tooManyProviderTokenUpdates : nil
    }
}
