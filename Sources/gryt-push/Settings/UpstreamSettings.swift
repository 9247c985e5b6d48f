import Cryptography

/// What the relay needs to send to Apple.
struct APNsSettings: Sendable {
    /// Signs provider tokens.
    let key: ES256SigningKey
    /// The key's name at Apple: `kid` of a provider token.
    let keyID: String
    /// The team's name at Apple: `iss` of a provider token.
    let teamID: String
    /// The app's bundle identifier: `apns-topic`.
    let topic: String
    /// Where pushes for apps from the App Store and TestFlight go.
    let productionOrigin: HTTPSOrigin
    /// Where pushes for apps built by a developer go.
    let sandboxOrigin: HTTPSOrigin

    /// Reads what is set for Apple. Nil when no key and no name is set, and when something is missing or wrong, which is
    /// a fault then: there is no half of it.
    init?(_ reader: inout SettingsReader) {
        let topic = reader.text(
            .apnsTopic, default: "chat.gryt.app", form: "a bundle identifier such as chat.gryt.app",
            where: isBundleIdentifier)
        productionOrigin = reader.origin(.apnsProductionOrigin, default: "https://api.push.apple.com")
        sandboxOrigin = reader.origin(.apnsSandboxOrigin, default: "https://api.sandbox.push.apple.com")
        let keySettings: [SettingName] = [.apnsKey, .apnsKeyPath]
        let isAsked = (keySettings + [.apnsKeyID, .apnsTeamID]).contains { reader.isSet($0) }
        guard isAsked else { return nil }
        if !keySettings.contains(where: { reader.isSet($0) }) {
            reader.fault(.apnsKey, "missing (or \(SettingName.apnsKeyPath.rawValue)), although a name for it is set")
        }
        let key = reader.textOrFile(inline: .apnsKey, path: .apnsKeyPath).flatMap {
            Self.key($0.text, $0.name, &reader)
        }
        let form = "the ten capital letters and digits that Apple shows for it"
        let names = [SettingName.apnsKeyID, .apnsTeamID].map { name in
            if !reader.isSet(name) { reader.fault(name, "missing, although other settings for Apple are there") }
            return reader.text(name, default: "", form: form, where: isAppleIdentifier)
        }
        guard let key, !names.contains("") else { return nil }
        self.key = key
        keyID = names[0]
        teamID = names[1]
        self.topic = topic
    }

    private static func key(_ pem: String, _ name: SettingName, _ reader: inout SettingsReader) -> ES256SigningKey? {
        do { return try ES256SigningKey(pem: pem) } catch {
            reader.fault(name, "must be the private key that Apple hands out as a .p8 file; this is \(error)")
            return nil
        }
    }
}

/// What the relay needs to send to Google.
struct FCMSettings: Sendable {
    /// Who sends.
    let account: ServiceAccountFile
    /// Where pushes go.
    let origin: HTTPSOrigin

    /// Reads what is set for Google. Nil when there is no account, and when it is wrong, which is a fault then.
    init?(_ reader: inout SettingsReader) {
        origin = reader.origin(.fcmOrigin, default: "https://fcm.googleapis.com")
        guard let file = reader.textOrFile(inline: .fcmServiceAccount, path: .fcmServiceAccountPath) else { return nil }
        do { account = try ServiceAccountFile(json: file.text) } catch {
            reader.fault(file.name, "must be the JSON of a Google service account; \(error.reason)")
            return nil
        }
    }
}
