/// Every setting there is, by the name of its variable. `.env.example` lists the same ones.
enum SettingName: String, CaseIterable, Sendable {
    case host = "HOST"
    case port = "PORT"
    case metricsHost = "METRICS_HOST"
    case metricsPort = "METRICS_PORT"
    case dataDirectory = "DATA_DIR"
    case version = "PUSH_VERSION"
    case workers = "WORKERS"
    case logLevel = "LOG_LEVEL"
    case logFormat = "LOG_FORMAT"
    case takeOverPort = "TAKE_OVER_PORT"

    case trustProxy = "TRUST_PROXY"
    case trustedProxies = "TRUSTED_PROXIES"
    case clientAddressHeaders = "CLIENT_ADDRESS_HEADERS"

    case apnsKey = "APNS_KEY"
    case apnsKeyPath = "APNS_KEY_PATH"
    case apnsKeyID = "APNS_KEY_ID"
    case apnsTeamID = "APNS_TEAM_ID"
    case apnsTopic = "APNS_TOPIC"
    case apnsProductionOrigin = "APNS_PRODUCTION_ORIGIN"
    case apnsSandboxOrigin = "APNS_SANDBOX_ORIGIN"

    case fcmServiceAccount = "FCM_SERVICE_ACCOUNT"
    case fcmServiceAccountPath = "FCM_SERVICE_ACCOUNT_PATH"
    case fcmOrigin = "FCM_ORIGIN"
    case upstreamCAFile = "UPSTREAM_CA_FILE"
    case httpsProxy = "HTTPS_PROXY"
    case noProxy = "NO_PROXY"

    case registrationsPerHour = "LIMIT_REGISTRATIONS_PER_HOUR_PER_IP"
    case pushesPerMinutePerDevice = "LIMIT_PUSHES_PER_MINUTE_PER_DEVICE"
    case pushesPerMinutePerAddress = "LIMIT_PUSHES_PER_MINUTE_PER_IP"
    case idleDays = "IDLE_DAYS"
    case pushBudget = "PUSH_BUDGET_MS"
    case maximumConnections = "MAX_CONNECTIONS"
    case maximumConnectionsPerAddress = "MAX_CONNECTIONS_PER_ADDRESS"
    case maximumPushesInFlight = "MAX_PUSHES_IN_FLIGHT"
    case shutdownTimeout = "SHUTDOWN_TIMEOUT_MS"
    case relaySecret = "RELAY_SECRET"

    /// Another spelling that counts where the name itself is not set: other programs know the two by it.
    var otherSpelling: String? {
        switch self {
        case .httpsProxy, .noProxy: rawValue.lowercased()
        default: nil
        }
    }

    /// Prefixes of names that belong to the relay: an unknown one under them is warned about.
    static let ownPrefixes = ["APNS_", "FCM_", "LIMIT_", "PUSH_"]

    /// The setting that somebody who wrote `unknown` most likely meant: the nearest one, if no more than three letters
    /// have to be added, left out, changed or swapped with their neighbours, and no more than a third of them.
    static func likelyMeant(by unknown: String) -> SettingName? {
        let distances = allCases.map { (name: $0, distance: editDistance(unknown, $0.rawValue)) }
        guard let nearest = distances.min(by: { $0.distance < $1.distance }), nearest.distance <= 3,
            nearest.distance * 3 <= unknown.utf8.count
        else { return nil }
        return nearest.name
    }

    /// The restricted Damerau-Levenshtein distance.
    private static func editDistance(_ left: String, _ right: String) -> Int {
        let left = Array(left.utf8)
        let right = Array(right.utf8)
        var rows = [Array(0...right.count)]
        for (row, byte) in left.enumerated() {
            var next = [row + 1]
            for (column, other) in right.enumerated() {
                var best = min(rows[row][column + 1], next[column]) + 1
                best = min(best, rows[row][column] + (byte == other ? 0 : 1))
                if row > 0, column > 0, byte == right[column - 1], left[row - 1] == other {
                    best = min(best, rows[row - 1][column - 1] + 1)
                }
                next.append(best)
            }
            rows.append(next)
        }
        return rows[left.count][right.count]
    }
}
