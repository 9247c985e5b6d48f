import Limits
import Telemetry
import Testing

@testable import gryt_push

/// A setting that is a number, its default and its range.
private struct NumberSetting: Sendable, CustomTestStringConvertible {
    var name: String
    var range: ClosedRange<Int>
    var value: @Sendable (Settings) -> Int

    var testDescription: String { name }
}

private func wholeMilliseconds(_ duration: Duration) -> Int {
    Int(duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000)
}

private let numbers: [NumberSetting] = [
    NumberSetting(name: "PORT", range: 0...65_535) { $0.port },
    NumberSetting(name: "METRICS_PORT", range: 0...65_535) { $0.metricsPort ?? 0 },
    NumberSetting(name: "WORKERS", range: 1...256) { $0.workers },
    NumberSetting(name: "LIMIT_REGISTRATIONS_PER_HOUR_PER_IP", range: 0...1_000_000) { $0.registrationsPerHour },
    NumberSetting(name: "LIMIT_PUSHES_PER_MINUTE_PER_DEVICE", range: 0...1_000_000) { $0.pushesPerMinutePerDevice },
    NumberSetting(name: "LIMIT_PUSHES_PER_MINUTE_PER_IP", range: 0...1_000_000) { $0.pushesPerMinutePerAddress },
    NumberSetting(name: "IDLE_DAYS", range: 0...36_500) { $0.idleDays },
    NumberSetting(name: "PUSH_BUDGET_MS", range: 100...60_000) { wholeMilliseconds($0.pushBudget) },
    NumberSetting(name: "MAX_CONNECTIONS", range: 1...1_000_000) { $0.maximumConnections },
    NumberSetting(name: "MAX_CONNECTIONS_PER_ADDRESS", range: 0...1_000_000) { $0.maximumConnectionsPerAddress },
    NumberSetting(name: "MAX_PUSHES_IN_FLIGHT", range: 1...1_000_000) { $0.maximumPushesInFlight },
    NumberSetting(name: "SHUTDOWN_TIMEOUT_MS", range: 100...600_000) { wholeMilliseconds($0.shutdownTimeout) },
]

@Suite(.timeLimit(.minutes(1)))
struct SettingsTests {
    @Test func `nothing set gives the defaults`() throws {
        let settings = try settings([:], cores: 6)
        #expect(settings.host == "0.0.0.0")
        #expect(settings.port == 8080)
        #expect(settings.metricsHost == "127.0.0.1")
        #expect(settings.metricsPort == nil)
        #expect(settings.dataDirectory == "./data")
        #expect(settings.version == "dev")
        #expect(settings.workers == 6)
        #expect(settings.logLevel == .info)
        #expect(settings.logFormat == .logfmt)
        #expect(settings.trustedProxies.isTrusting == false)
        #expect(settings.trustedProxies.blocks.isEmpty)
        #expect(settings.trustedProxies.headers == [.cfConnectingIP, .xForwardedFor])
        #expect(settings.apns == nil)
        #expect(settings.fcm == nil)
        #expect(settings.upstreamCAFile == nil)
        #expect(settings.forwardProxy == nil)
        #expect(settings.registrationsPerHour == 60)
        #expect(settings.pushesPerMinutePerDevice == 20)
        #expect(settings.pushesPerMinutePerAddress == 1200)
        #expect(settings.idleDays == 120)
        #expect(settings.pushBudget == .milliseconds(4500))
        #expect(settings.maximumConnections == 10_000)
        #expect(settings.maximumConnectionsPerAddress == 1000)
        #expect(settings.maximumPushesInFlight == 10_000)
        #expect(settings.shutdownTimeout == .seconds(10))
        #expect(settings.relaySecret == nil)
        #expect(settings.warnings.map(\.variable) == ["APNS_KEY"])
    }

    @Test(arguments: [(0, 1), (1, 1), (256, 256), (512, 256)])
    func `the machine's cores are the default number of workers, within its range`(cores: Int, workers: Int) throws {
        #expect(try settings([:], cores: cores).workers == workers)
    }

    @Test(arguments: numbers)
    private func `a number is taken at both ends of its range`(setting: NumberSetting) throws {
        for number in [setting.range.lowerBound, setting.range.upperBound] {
            #expect(setting.value(try settings([setting.name: String(number)])) == number)
        }
        #expect(
            setting.value(try settings([setting.name: "0000\(setting.range.upperBound)"])) == setting.range.upperBound)
        #expect(setting.value(try settings([setting.name: ""])) == setting.value(try settings([:])))
    }

    @Test(arguments: numbers)
    private func `anything that is no such number stops the start and is named, not shown`(setting: NumberSetting) {
        var wrong = [
            "-1", "-0", "+1", "abc", "1e9", "1.0", " ", " 200", "200 ", "200\n", "0x80", "2_00", "1,000", "٢٠٠", "２００",
            "9223372036854775807", "9223372036854775808", "99999999999999999999999", "true",
            String(setting.range.upperBound + 1),
        ]
        if setting.range.lowerBound > 0 { wrong += ["0", String(setting.range.lowerBound - 1)] }
        let rule =
            "must be a number from \(setting.range.lowerBound) to \(setting.range.upperBound) in plain decimal digits"
        for text in wrong {
            #expect(faults([setting.name: text]) == ["\(setting.name): \(rule)"])
        }
    }

    @Test func `all faults are told at once, and none shows a value`() throws {
        let environment = [
            "HOST": "sekret-1", "PORT": "sekret-2", "METRICS_HOST": "sekret-3", "TRUST_PROXY": "sekret-4",
            "TRUSTED_PROXIES": "sekret-5",
            "CLIENT_ADDRESS_HEADERS": "sekret-6", "APNS_KEY": "sekret-7", "APNS_KEY_ID": "sekret-8",
            "APNS_TEAM_ID": "sekret-9",
            "APNS_TOPIC": "sekret 10", "APNS_PRODUCTION_ORIGIN": "sekret-11", "APNS_SANDBOX_ORIGIN": "sekret-12",
            "FCM_SERVICE_ACCOUNT": "sekret-13", "FCM_ORIGIN": "sekret-14", "UPSTREAM_CA_FILE": "sekret-15",
            "LOG_LEVEL": "sekret-16",
            "LOG_FORMAT": "sekret-17", "RELAY_SECRET": "sekret-18", "PUSH_VERSION": "sekret 19",
            "DATA_DIR": "sekret\0-20", "IDLE_DAYS": "sekret-21", "HTTPS_PROXY": "socks5://sekret-22",
            "NO_PROXY": "sekret/23",
        ]
        let error = try #require(throws: SettingsError.self) { try settings(environment) }
        #expect(Set(error.faults.map(\.variable)) == Set(environment.keys))
        #expect(error.faults.count == environment.count)
        #expect(!error.description.contains("sekret"))
        #expect(error.description.split(separator: "\n").count == environment.count + error.warnings.count)
    }

    @Test(arguments: ["TRUE", "True", "1", "0", "yes", "on", " true", "t"])
    func `only true and false are booleans`(text: String) {
        #expect(faults(["TRUST_PROXY": text]) == ["TRUST_PROXY: must be true or false"])
    }

    @Test(arguments: ["::", "::1", "127.0.0.1", "2001:db8::1"])
    func `a host is an address`(text: String) throws {
        #expect(try settings(["HOST": text, "METRICS_HOST": text]).host == text)
    }

    @Test(arguments: ["localhost", "*", "0.0.0.0:8080", "[::]", "256.0.0.1", "fe80::1%eth0"])
    func `a name is no host`(text: String) {
        #expect(faults(["HOST": text]) == ["HOST: must be an IPv4 or IPv6 address"])
    }

    @Test func `the operator's port is never the public one`() {
        #expect(faults(["METRICS_PORT": "8080"]) == ["METRICS_PORT: must differ from PORT"])
        #expect(faults(["METRICS_PORT": "0", "PORT": "0"]) == [])
    }

    @Test func `proxies are addresses and blocks`() throws {
        let settings = try settings([
            "TRUST_PROXY": "true", "TRUSTED_PROXIES": "10.0.0.0/8, ::1,2001:db8::/32",
            "CLIENT_ADDRESS_HEADERS": "X-Forwarded-For",
        ])
        #expect(settings.trustedProxies.isTrusting)
        #expect(
            settings.trustedProxies.blocks == ["10.0.0.0/8", "::1", "2001:db8::/32"].compactMap { AddressBlock($0) })
        #expect(settings.trustedProxies.headers == [.xForwardedFor])
        #expect(!settings.warnings.contains { $0.variable.hasPrefix("TRUST") })
        #expect(
            faults(["TRUSTED_PROXIES": "10.0.0.0/8,10.1.2.3/8"]).map { String($0.prefix(27)) } == [
                "TRUSTED_PROXIES: entry 2 is"
            ])
        #expect(faults(["CLIENT_ADDRESS_HEADERS": "x-forwarded-for,x-real-ip"]).count == 1)
        #expect(faults(["CLIENT_ADDRESS_HEADERS": "x-forwarded-for,x-forwarded-for"]).count == 1)
        #expect(faults(["CLIENT_ADDRESS_HEADERS": ","]).count == 1)
    }

    @Test(arguments: [",", " ", ", ,\t", "10.0.0.5/8"])
    func `a list of proxies that comes to nothing is a fault, and never trust in everybody`(text: String) {
        for trust in ["true", "false"] {
            let environment = ["TRUST_PROXY": trust, "TRUSTED_PROXIES": text]
            do throws(SettingsError) {
                _ = try settings(environment)
                Issue.record("it was taken")
            } catch {
                #expect(error.faults.map(\.variable) == ["TRUSTED_PROXIES"])
                #expect(!error.warnings.contains { $0.variable.hasPrefix("TRUST") })
            }
        }
    }

    @Test func `trust without a list is warned about, and a list without trust as well`() throws {
        #expect(try settings(["TRUST_PROXY": "true"]).warnings.map(\.variable).contains("TRUST_PROXY"))
        #expect(try settings(["TRUSTED_PROXIES": "::1"]).warnings.map(\.variable).contains("TRUSTED_PROXIES"))
    }

    @Test(arguments: [
        ("LIMIT_PUSH_PER_MINUTE_PER_IP", "LIMIT_PUSHES_PER_MINUTE_PER_IP"), ("APNS_TEAMID", "APNS_TEAM_ID"),
        ("APNS_KEYPATH", "APNS_KEY_PATH"),
        ("FCM_SERVICE_ACOUNT", "FCM_SERVICE_ACCOUNT"), ("PUSH_BUDGET", "PUSH_BUDGET_MS"),
        ("PUSH_BUGDET_MS", "PUSH_BUDGET_MS"),
        ("APNS_SOMETHING_ELSE", nil), ("FCM_", nil), ("LIMIT_", nil),
    ])
    func `a name that is none of ours is warned about, with what was likely meant`(name: String, meant: String?) throws
    {
        let hint = meant.map { "; did you mean \($0)?" } ?? ""
        let line = "\(name): no such setting\(hint)"
        #expect(try settings([name: "x"]).warnings.map(\.description).contains(line))
        #expect(try settings([:], dotEnv: "\(name)=x").warnings.map(\.description).contains(line))
    }

    @Test func `names of other programs are not looked at`() throws {
        let settings = try settings([
            "PATH": "/bin", "HOSTNAME": "x", "PORTS": "x", "APNS": "x", "apns_key": "x", "LOG": "x",
        ])
        #expect(settings.warnings.map(\.variable) == ["APNS_KEY"])
    }

    @Test func `the relay's secret is checked and does not print`() throws {
        let text = String(repeating: "0123456789abcdef", count: 4)
        let settings = try settings(["RELAY_SECRET": text])
        #expect(settings.relaySecret != nil)
        #expect(faults(["RELAY_SECRET": "0123"]).count == 1)
        #expect(faults(["RELAY_SECRET": String(repeating: "0", count: 64)]).count == 1)
        var dumped = ""
        dump(settings, to: &dumped)
        #expect(!dumped.contains("0123456789abcdef"))
    }

    @Test func `a stop shorter than a push is warned about`() throws {
        #expect(try settings(["SHUTDOWN_TIMEOUT_MS": "4499"]).warnings.map(\.variable).contains("SHUTDOWN_TIMEOUT_MS"))
        #expect(try !settings(["SHUTDOWN_TIMEOUT_MS": "4500"]).warnings.map(\.variable).contains("SHUTDOWN_TIMEOUT_MS"))
    }

    @Test func `the environment wins over the file, and an empty value wins over nothing`() throws {
        let dotEnv = "PORT=1000\nIDLE_DAYS=5\nWORKERS=3\n"
        let settings = try settings(["PORT": "2000", "IDLE_DAYS": ""], dotEnv: dotEnv)
        #expect(settings.port == 2000)
        #expect(settings.idleDays == 5)
        #expect(settings.workers == 3)
    }

    @Test func `the summary tells how it runs and shows no secret`() throws {
        let secret = String(repeating: "0123456789abcdef", count: 4)
        var environment = Keys.apns.merging(["FCM_SERVICE_ACCOUNT": Keys.account(), "RELAY_SECRET": secret]) { $1 }
        environment["TRUST_PROXY"] = "true"
        environment["CLIENT_ADDRESS_HEADERS"] = "x-forwarded-for"
        let fields = try settings(environment).summaryFields
        #expect(fields.contains(LogField("apns", "set")))
        #expect(fields.contains(LogField("fcm", "set")))
        #expect(fields.contains(LogField("relay_secret", "set")))
        #expect(fields.contains(LogField("client_address_from", "x-forwarded-for of any peer")))
        #expect(Set(fields.map(\.key)).count == fields.count)
        let text = "\(fields)"
        for part in [secret, "BEGIN", "ABCDE12345", "TEAM567890", "gryt-1234"] { #expect(!text.contains(part)) }
        #expect(try settings([:]).summaryFields.contains(LogField("apns", "unset")))
    }
}
