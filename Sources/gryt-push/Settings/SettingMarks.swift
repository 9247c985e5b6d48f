import Cryptography

/// By what settings are told from earlier ones: a digest of each value, and of the file that it names. No value can be
/// had from it.
struct SettingMarks: Sendable, CustomReflectable {
    var customMirror: Mirror { Mirror(self, children: [:]) }

    private var marks: [SettingName: SHA256Digest] = [:]
    /// Whether there was a `.env`, be it empty.
    var hasDotEnv = false

    /// Takes in a value, or a file's content.
    mutating func add(_ name: SettingName, _ bytes: [UInt8]) {
        var all = bytes
        if let before = marks[name] {
            for index in before.bytes.indices { all.append(before.bytes[index]) }
        }
        marks[name] = SHA256.hash(all)
    }

    /// What differs, in the order of ``SettingName``'s cases.
    func changes(since earlier: SettingMarks) -> [SettingName] {
        SettingName.allCases.filter { marks[$0] != earlier.marks[$0] }
    }

    /// The same, but these as they were.
    func keeping(_ names: [SettingName], of earlier: SettingMarks) -> SettingMarks {
        var kept = self
        for name in names { kept.marks[name] = earlier.marks[name] }
        return kept
    }
}

extension SettingName {
    /// Whether a reload (SIGHUP) brings it into force. The others need a new process.
    var isReloadable: Bool {
        switch self {
        case .apnsKey, .apnsKeyPath, .apnsKeyID, .apnsTeamID, .apnsTopic, .apnsProductionOrigin, .apnsSandboxOrigin,
            .fcmServiceAccount, .fcmServiceAccountPath, .fcmOrigin, .upstreamCAFile, .registrationsPerHour,
            .pushesPerMinutePerDevice, .pushesPerMinutePerAddress, .idleDays, .pushBudget, .shutdownTimeout:
            true
        case .host, .port, .metricsHost, .metricsPort, .dataDirectory, .version, .workers, .logLevel, .logFormat,
            .takeOverPort, .trustProxy, .trustedProxies, .clientAddressHeaders, .maximumConnections,
            .maximumConnectionsPerAddress, .maximumPushesInFlight, .relaySecret, .httpsProxy, .noProxy:
            false
        }
    }

    /// Whether it is about who the relay is to Apple, so that with another value connections are made anew.
    var isApples: Bool { rawValue.hasPrefix("APNS_") }

    /// Likewise to Google.
    var isGoogles: Bool { rawValue.hasPrefix("FCM_") }

    /// Whether provider tokens are signed otherwise with another value.
    var isOfProviderToken: Bool {
        switch self {
        case .apnsKey, .apnsKeyPath, .apnsKeyID, .apnsTeamID: true
        default: false
        }
    }
}
