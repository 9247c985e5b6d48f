import PushServices

/// Judges Apple's answer to a push that nobody can get: the right one is that there is no such phone, for Apple looks at the
/// key first. Apple: "Handling notification responses from APNs".
struct APNsJudgement {
    /// Which of Apple's environments was asked.
    enum Environment { case production, sandbox }

    let environment: Environment
    /// The settings that were used.
    let keyID: String
    let teamID: String
    let topic: String

    /// Judges an answer. `word` is Apple's own for it, where it gave one.
    func judge(_ answer: APNsAnswer, word: String?) -> Judgement {
        let said = word.map { "Apple says \($0)" } ?? "Apple answers without a reason"
        switch answer {
        case .badDeviceToken, .unregistered, .phoneThrottled:
            return .ok("Apple takes the key, does not object to \(topic), and knows no such phone, as it should")
        case .accepted:
            return .warning(
                "a push to a phone that does not exist was accepted",
                "check \(originSetting): what answers there is not APNs as we know it")
        case .deviceTokenNotForTopic, .topicRefused:
            return .wrong(
                "\(said): the key \(keyID) may not push to \(topic)",
                "APNS_TOPIC must be the bundle id of an app of the team \(teamID), and the key, where it is limited to "
                    + "some topics, must be for it")
        case .invalidProviderToken:
            return .wrong(
                "\(said): it does not know this key",
                "compare at developer.apple.com: APNS_KEY_ID (\(keyID)) must be the id of this very .p8 file, "
                    + "APNS_TEAM_ID (\(teamID)) the team's under Membership, and the key must not be revoked; see clock, too"
            )
        case .expiredProviderToken:
            return .wrong("\(said): to Apple our token is older than an hour", "set this machine's clock (see clock)")
        case .credentialRefused: return refused(word, said)
        case .unrelatedKey:
            return .wrong(
                "\(said): the key is not related to the one of the connection's first push",
                "see whether something in between shares connections among programs; if not, make a new key")
        case .tooManyProviderTokenUpdates:
            return .warning(
                "\(said): it has seen too many new tokens, or one from the future, and says nothing about the key",
                "wait 20 minutes before the next check, and see clock; does another program use the same key?")
        case .malformed:
            return .wrong("\(said): the relay's own request is at fault", "tell the relay's authors")
        case .unknownRefusal:
            return .wrong("\(said), which this relay does not know", "look it up in Apple's list; see \(originSetting)")
        case .idleTimeout, .internalServerError, .serviceUnavailable, .shutdown, .unknownFault:
            return .warning(
                "\(said): something is wrong on Apple's side, and nothing is known about the key",
                "check again in a few minutes")
        }
    }

    private func refused(_ word: String?, _ said: String) -> Judgement {
        switch word {
        case "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken":
            switch environment {
            case .production:
                .wrong(
                    "\(said): the key is for the sandbox only",
                    "make a key for production, or for both: apps from the store cannot be reached with this one")
            case .sandbox:
                .warning(
                    "\(said): the key is for production only",
                    "nothing, unless apps that a developer builds are to be reached too: then a key for both is needed")
            }
        case "MissingProviderToken":
            .wrong("\(said): the token did not arrive", "see what lies in between: something takes headers away")
        case "BadCertificate", "BadCertificateEnvironment":
            .wrong("\(said): it takes the connection for one with a client certificate", "check \(originSetting)")
        default:
            .wrong(
                "\(said): the key may not do this",
                "see at developer.apple.com that the key has push notifications (APNs) enabled and is not restricted")
        }
    }

    private var originSetting: String {
        switch environment {
        case .production: "APNS_PRODUCTION_ORIGIN"
        case .sandbox: "APNS_SANDBOX_ORIGIN"
        }
    }
}
