package import Cryptography

/// A key for provider tokens as Apple's developer site would have it.
package struct AppleKey: Sendable {
    /// `kid`: ten characters.
    package var keyID: String
    /// `iss`: ten characters.
    package var teamID: String
    /// The public half.
    package var key: ES256VerifyingKey
    /// The only environment that the key is for; nil is both, as keys were before 2025.
    package var environment: PhoneEnvironment?
    /// The only topics that the key is for; nil is every one of the team's.
    package var topics: Set<String>?

    package init(
        keyID: String, teamID: String, key: ES256VerifyingKey, environment: PhoneEnvironment? = nil,
        topics: Set<String>? = nil
    ) {
        self.keyID = keyID
        self.teamID = teamID
        self.key = key
        self.environment = environment
        self.topics = topics
    }
}

/// The keys and topics that Apple knows. Pure; the ledger guards it.
struct AppleAccount: Sendable {
    private(set) var keys: [String: AppleKey] = [:]
    /// The key that was there first, whether it was revoked since or not.
    private(set) var first: AppleKey?
    /// Topics that exist. A connection sees those that existed at its first push.
    private(set) var topics: Set<String>
    /// Counts the changes of keys, so that verdicts on tokens are not kept beyond them.
    private(set) var version = 0

    init(topic: String) { topics = [topic] }

    /// Adds a key, or puts it in the place of the one with its id.
    mutating func add(_ key: AppleKey) {
        keys[key.keyID] = key
        if first == nil { first = key }
        version += 1
    }

    /// Makes a key worth nothing.
    mutating func revoke(_ keyID: String) {
        keys[keyID] = nil
        version += 1
    }

    /// Makes a topic exist for connections that are opened from now on.
    mutating func add(topic: String) { topics.insert(topic) }
}

/// What a connection is bound to by its first push with a right provider token ("Establishing a token-based connection
/// to APNs").
struct ConnectionBinding {
    private var keyID: String?
    private var topics: Set<String> = []

    /// Judges a token that is right in itself; nil is accepted.
    ///
    /// Apple names the reasons and not the exact rule: here another key is unrelated, whatever its team.
    mutating func fault(
        of key: AppleKey, environment: PhoneEnvironment, account: AppleAccount
    ) -> APNsReason? {
        if let own = key.environment, own != environment { return .badEnvironmentKeyIDInToken }
        if let keyID { return key.keyID == keyID ? nil : .unrelatedKeyIDInToken }
        keyID = key.keyID
        topics = account.topics
        return nil
    }

    /// Whether the connection may push to a topic with this key.
    func allows(_ topic: String, key: AppleKey) -> Bool {
        topics.contains(topic) && key.topics?.contains(topic) ?? true
    }
}
