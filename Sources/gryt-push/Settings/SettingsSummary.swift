import Limits
import Telemetry

extension Settings {
    /// What the first log line says about how the relay runs. Secrets show as `set` or `unset`.
    var summaryFields: [LogField] {
        var fields = [
            LogField("version", .disclosed(version)),
            LogField("host", .disclosed(host)),
            LogField("port", port),
            LogField("metrics", metricsPort.map { .disclosed("\(metricsHost) \($0)") } ?? .word("off")),
            LogField("data_dir", .disclosed(dataDirectory)),
            LogField("workers", workers),
            LogField("client_address_from", .disclosed(believed)),
            LogField("apns", isSet(apns != nil)),
            LogField("fcm", isSet(fcm != nil)),
            LogField("relay_secret", isSet(relaySecret != nil)),
        ]
        if let apns {
            fields += [
                LogField("apns_topic", .disclosed(apns.topic)),
                LogField("apns_production", .disclosed(apns.productionOrigin.description)),
                LogField("apns_sandbox", .disclosed(apns.sandboxOrigin.description)),
            ]
        }
        if let fcm { fields.append(LogField("fcm_origin", .disclosed(fcm.origin.description))) }
        if let forwardProxy {
            fields += [
                LogField("https_proxy", .disclosed(forwardProxy.authority)),
                LogField("https_proxy_login", isSet(forwardProxy.login != nil)),
                LogField("no_proxy", isSet(!forwardProxy.exemptions.isEmpty)),
            ]
        }
        if let upstreamCAFile { fields.append(LogField("upstream_ca_file", .disclosed(upstreamCAFile))) }
        return fields + [
            LogField("registrations_per_hour", registrationsPerHour),
            LogField("pushes_per_minute_per_device", pushesPerMinutePerDevice),
            LogField("pushes_per_minute_per_address", pushesPerMinutePerAddress),
            LogField("idle_days", idleDays),
            LogField("push_budget_ms", .milliseconds(pushBudget)),
            LogField("max_connections", maximumConnections),
            LogField("max_connections_per_address", maximumConnectionsPerAddress),
            LogField("max_pushes_in_flight", maximumPushesInFlight),
            LogField("shutdown_timeout_ms", .milliseconds(shutdownTimeout)),
        ]
    }

    /// Where clients' addresses come from, in words.
    private var believed: String {
        guard trustedProxies.isTrusting else { return "peer" }
        let headers = trustedProxies.headers.map(\.rawValue).joined(separator: ",")
        let peers = trustedProxies.blocks.isEmpty ? "any peer" : "\(trustedProxies.blocks.count) trusted blocks"
        return "\(headers) of \(peers)"
    }

    private func isSet(_ isSet: Bool) -> LogValue { isSet ? .word("set") : .word("unset") }
}
