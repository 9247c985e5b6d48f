import Cryptography

@testable import gryt_push

/// Keys and accounts of nobody, made anew for each run.
enum Keys {
    static let apple = ES256SigningKey.generate().privateKeyPEM
    static let google = RS256SigningKey.generate().privateKeyPEM

    /// A service account's JSON, with members left out (nil) or put in the place of the right ones.
    static func account(_ changes: [String: String?] = [:]) -> String {
        var members: [String: String] = [
            "type": "\"service_account\"", "project_id": "\"gryt-1234\"", "private_key_id": "\"0123abcd\"",
            "client_email": "\"push@gryt-1234.iam.gserviceaccount.com\"",
            "private_key": "\"\(google.replacing("\n", with: "\\n"))\"",
        ]
        for (name, value) in changes { members[name] = value }
        return "{" + members.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
    }

    static let apns = ["APNS_KEY": apple, "APNS_KEY_ID": "ABCDE12345", "APNS_TEAM_ID": "TEAM567890"]
}

/// Settings without a machine: the files are what the test says.
func settings(
    _ environment: [String: String], dotEnv: String? = nil, cores: Int = 4, files: [String: String] = [:]
) throws(SettingsError) -> Settings {
    try Settings(environment: environment, dotEnv: dotEnv, cores: cores) { path throws(FileFault) in
        guard let text = files[path] else { throw FileFault(errno: 2) }
        return Array(text.utf8)
    }
}

/// The faults of settings that must have some, as lines.
func faults(
    _ environment: [String: String], dotEnv: String? = nil, files: [String: String] = [:]
) -> [String] {
    do {
        _ = try settings(environment, dotEnv: dotEnv, files: files)
        return []
    } catch {
        return error.faults.map(\.description)
    }
}
