/// Judges the settings: whether they can be right, which keys there are, and who else may read them.
struct SettingsExamination {
    /// The settings as the relay would read them.
    let reading: SettingsReading
    /// The permission bits of a file, by its path; nil where there is none.
    var mode: (String) -> UInt32? = FileStanding.mode

    private var settings: Settings { reading.settings }

    /// Everything there is to say.
    var findings: [Finding] { lines + [apnsKey, fcmAccount] + modes }

    /// One line for each fault and each warning, or one that all is well.
    private var lines: [Finding] {
        let found =
            reading.faults.map { fault in
                Finding(.settings, about: fault.variable, .wrong(fault.reason, Self.advice))
            }
            + settings.warnings.map { warning in
                Finding(.settings, about: warning.variable, .warning(warning.reason, Self.adviceOnWarning))
            }
        return found.isEmpty ? [Finding(.settings, .ok("each of them can be right"))] : found
    }

    private static let advice =
        "mend it in the environment or in .env (README.md, Settings); the relay does not start with it"
    private static let adviceOnWarning = "the relay starts all the same; README.md, Settings, says what each name does"

    /// Whether one of the settings whose names begin so cannot be right, or may be among what cannot be read of `.env`.
    func isFaulty(_ prefix: String) -> Bool {
        reading.faults.contains { fault in
            let name = fault.variable.uppercased()
            return name.hasPrefix(prefix) || name.hasPrefix(".ENV")
        }
    }

    /// Whether one of the settings that concern every way out cannot be right: nobody is to be asked by another way than
    /// the one that is meant.
    var isWayOutFaulty: Bool {
        let names: [SettingName] = [.upstreamCAFile, .httpsProxy, .noProxy]
        return names.contains { isFaulty($0.rawValue) }
    }

    private var apnsKey: Finding {
        if settings.apns == nil, settings.fcm == nil, !isFaulty("APNS_"), !isFaulty("FCM_") {
            return Finding(
                .apnsKey,
                .wrong(
                    "there is neither a key for Apple nor an account for Google, so every registration is refused",
                    "set APNS_KEY_PATH or FCM_SERVICE_ACCOUNT_PATH (README.md, Run it for real)"))
        }
        guard let apns = settings.apns else { return Finding(.apnsKey, missing("iPhones", "APNS_", "APNS_KEY_PATH")) }
        return Finding(
            .apnsKey,
            .ok("a key of Apple's kind (P-256), key id \(apns.keyID), team \(apns.teamID), for \(apns.topic)"))
    }

    private var fcmAccount: Finding {
        guard let fcm = settings.fcm else {
            return Finding(.fcmAccount, missing("Android phones", "FCM_", "FCM_SERVICE_ACCOUNT_PATH"))
        }
        return Finding(.fcmAccount, .ok("a service account with an RSA key, for the project \(fcm.account.projectID)"))
    }

    private func missing(_ phones: String, _ prefix: String, _ name: String) -> Judgement {
        isFaulty(prefix)
            ? .skipped("see settings, above")
            : .skipped("\(name) is not set, so the relay refuses \(phones)")
    }

    /// The files that hold what nobody else is to know.
    private var modes: [Finding] {
        var files = SettingName.allCases.compactMap { name in reading.keyFiles[name].map { (name.rawValue, $0) } }
        if !reading.inDotEnv.isDisjoint(with: Self.secretNames) { files.append((".env", ".env")) }
        return files.compactMap { name, path in
            mode(path).map { Finding(.fileMode, about: name, Self.judge(mode: $0)) }
        }
    }

    /// The settings that are secrets themselves; `https_proxy` may hold a password.
    private static let secretNames: Set<String> = [
        SettingName.apnsKey.rawValue, SettingName.fcmServiceAccount.rawValue, SettingName.relaySecret.rawValue,
        SettingName.httpsProxy.rawValue, "https_proxy",
    ]

    /// Judges the mode of a file that holds a key. Its group may read it: that is how a service is handed one.
    static func judge(mode: UInt32) -> Judgement {
        let digits = String(mode & 0o777, radix: 8)
        guard mode & 0o006 == 0 else {
            return .warning(
                "every user of this machine may read or change the file (mode \(digits))",
                "chmod o= on it, and a new key if somebody else may have read it")
        }
        return .ok("no other user of this machine may read the file (mode \(digits))")
    }
}
