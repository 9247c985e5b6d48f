import Cryptography
import DeviceStore
import Limits
import Telemetry

/// Everything that whoever runs the relay can set, checked once, at the start.
///
/// Secrets are in types that do not print. Defaults stand here and in `.env.example`, and a test holds the two together.
struct Settings: Sendable {
    /// Address of the public port: an IP address as text.
    var host: String
    /// The public port; 0 lets the system choose.
    var port: Int
    /// Address of the operator's port.
    var metricsHost: String
    /// The operator's port; nil when there is none.
    var metricsPort: Int?
    /// Where the database and the relay's secret are kept.
    var dataDirectory: String
    /// What `/healthz` gives as the version.
    var version: String
    /// Event loops, each with a thread of its own.
    var workers: Int
    /// Log lines below it are not written.
    var logLevel: LogLevel
    /// How log lines are written.
    var logFormat: LogFormat
    /// Whether it takes the place of a relay that runs on the same data directory.
    var takesOver: Bool

    /// Whose word about a client's address is believed.
    var trustedProxies: TrustedProxies

    /// What Apple needs; nil when the relay serves no iOS.
    var apns: APNsSettings?
    /// What Google needs; nil when the relay serves no Android.
    var fcm: FCMSettings?
    /// A file of PEM roots trusted in addition to the system's.
    var upstreamCAFile: String?
    /// The proxy towards the push services; nil when connections go out directly.
    var forwardProxy: ForwardProxy?

    /// Registrations an hour for each address; 0 is no limit.
    var registrationsPerHour: Int
    /// Pushes a minute for each capability; 0 is no limit.
    var pushesPerMinutePerDevice: Int
    /// Pushes a minute for each address; 0 is no limit.
    var pushesPerMinutePerAddress: Int
    /// Days after which a capability that nobody pushes to is dropped; 0 is never.
    var idleDays: Int
    /// From a push's arrival to its answer, at most.
    var pushBudget: Duration
    /// Connections to the public port.
    var maximumConnections: Int
    /// Connections to the public port from one peer; 0 is no bound.
    var maximumConnectionsPerAddress: Int
    /// Pushes under way to one push service at once.
    var maximumPushesInFlight: Int
    /// How long a drain may take before what is left is given up.
    var shutdownTimeout: Duration
    /// The relay's secret; nil when it is kept in the data directory.
    var relaySecret: RelaySecret?

    /// What looks like a slip but stops nothing.
    var warnings: [SettingsWarning]
    /// What these settings are told from others by.
    var marks: SettingMarks

    /// The name of every setting.
    static let names = SettingName.allCases.map(\.rawValue)

    /// Reads and checks all settings.
    ///
    /// `dotEnv` is the text of the `.env` file where there is one; the environment wins over it. `cores` is the machine's
    /// number of cores, the default of `WORKERS`. `readFile` is asked for the files that settings name.
    ///
    /// - Throws: ``SettingsError`` with every fault.
    init(
        environment: [String: String], dotEnv: String?, cores: Int,
        readFile: @escaping (String) throws(FileFault) -> [UInt8] = SystemFile.read
    ) throws(SettingsError) {
        let reading = SettingsReading(environment: environment, dotEnv: dotEnv, cores: cores, readFile: readFile)
        guard reading.faults.isEmpty else {
            throw SettingsError(faults: reading.faults, warnings: reading.settings.warnings)
        }
        self = reading.settings
    }

    /// Takes them out of a reader, which keeps what is wrong with them.
    init(_ reader: inout SettingsReader, cores: Int) {
        let listeners = ListenerSettings(&reader)
        host = listeners.host
        port = listeners.port
        metricsHost = listeners.metricsHost
        metricsPort = listeners.metricsPort
        dataDirectory = Self.dataDirectory(&reader)
        version = reader.text(
            .version, default: Self.builtVersion, form: "at most 64 printable ASCII characters without blanks",
            where: { $0.utf8.count <= 64 && $0.utf8.allSatisfy { (0x21...0x7E).contains($0) } })
        workers = reader.number(.workers, default: min(max(cores, 1), 256), in: 1...256)
        logLevel = reader.choice(.logLevel, default: .info)
        logFormat = reader.choice(.logFormat, default: .logfmt)
        takesOver = reader.flag(.takeOverPort, default: false)

        trustedProxies = Self.trustedProxies(&reader)
        apns = APNsSettings(&reader)
        fcm = FCMSettings(&reader)
        if let text = reader.file(.upstreamCAFile), !text.contains("-----BEGIN CERTIFICATE-----") {
            reader.fault(.upstreamCAFile, "the file holds no certificate in PEM")
        }
        upstreamCAFile = reader.text(.upstreamCAFile)
        forwardProxy = ForwardProxy(&reader)

        registrationsPerHour = reader.number(.registrationsPerHour, default: 60, in: 0...1_000_000)
        pushesPerMinutePerDevice = reader.number(.pushesPerMinutePerDevice, default: 20, in: 0...1_000_000)
        pushesPerMinutePerAddress = reader.number(.pushesPerMinutePerAddress, default: 1200, in: 0...1_000_000)
        idleDays = reader.number(.idleDays, default: 120, in: 0...36_500)
        pushBudget = reader.milliseconds(.pushBudget, default: 4500, in: 100...60_000)
        maximumConnections = reader.number(.maximumConnections, default: 10_000, in: 1...1_000_000)
        maximumConnectionsPerAddress = reader.number(
            .maximumConnectionsPerAddress, default: 1000, in: 0...1_000_000)
        maximumPushesInFlight = reader.number(.maximumPushesInFlight, default: 10_000, in: 1...1_000_000)
        shutdownTimeout = reader.milliseconds(.shutdownTimeout, default: 10_000, in: 100...600_000)
        if shutdownTimeout < pushBudget {
            reader.warn(.shutdownTimeout, "shorter than PUSH_BUDGET_MS, so that a stop may cut off pushes under way")
        }
        relaySecret = Self.relaySecret(&reader)

        if apns == nil, fcm == nil, reader.faults.isEmpty {
            reader.warn(.apnsKey, "neither this nor FCM_SERVICE_ACCOUNT is set, so that every registration is refused")
        }
        reader.warnOfUnknownNames(reader.names)
        Self.warnOfOtherProxies(&reader)
        warnings = reader.warnings
        marks = reader.marks
    }

    /// The data directory alone. No other setting has to be right, nor has the rest of the `.env` file.
    static func dataDirectory(environment: [String: String], dotEnv: String?) throws(SettingsError) -> String {
        try part(environment: environment, dotEnv: dotEnv) { dataDirectory(&$0) }
    }

    /// Where the relay listens, alone; likewise.
    static func listeners(
        environment: [String: String], dotEnv: String?
    ) throws(SettingsError) -> ListenerSettings {
        try part(environment: environment, dotEnv: dotEnv) { ListenerSettings(&$0) }
    }

    private static func part<Part>(
        environment: [String: String], dotEnv: String?, _ read: (inout SettingsReader) -> Part
    ) throws(SettingsError) -> Part {
        var reader = SettingsReader(environment: environment, dotEnv: dotEnv, readFile: SystemFile.read)
        let before = reader.faults.count
        let part = read(&reader)
        guard reader.faults.count == before else {
            throw SettingsError(faults: reader.faults, warnings: [])
        }
        return part
    }

    private static func dataDirectory(_ reader: inout SettingsReader) -> String {
        reader.text(.dataDirectory, default: "./data", form: "a path", where: { !$0.contains("\0") })
    }

    private static func trustedProxies(_ reader: inout SettingsReader) -> TrustedProxies {
        let isTrusting = reader.flag(.trustProxy, default: false)
        let blocks = reader.list(
            .trustedProxies, default: [],
            of: "an address or a CIDR block such as 10.0.0.0/8 with no bits behind its length"
        ) { AddressBlock($0) }
        let headers = reader.list(
            .clientAddressHeaders, default: ForwardingHeader.allCases,
            of: "one of \(ForwardingHeader.allCases.map(\.rawValue).joined(separator: ", "))"
        ) { ForwardingHeader(rawValue: $0.lowercased()) }
        if Set(headers).count < headers.count { reader.fault(.clientAddressHeaders, "names a header twice") }
        if headers.isEmpty { reader.fault(.clientAddressHeaders, "names no header") }
        // What is set was meant to narrow the trust: where nothing is left of it, nobody is to be trusted instead.
        let isNarrowed = reader.isSet(.trustedProxies)
        if isNarrowed, blocks.isEmpty, reader.faults.allSatisfy({ $0.variable != SettingName.trustedProxies.rawValue })
        {
            reader.fault(.trustedProxies, "names no address; leave it out to believe any peer")
        }
        if isTrusting, !isNarrowed {
            reader.warn(
                .trustProxy, "any peer's forwarding headers are believed, because TRUSTED_PROXIES is empty")
        }
        if !isTrusting, !blocks.isEmpty {
            reader.warn(.trustedProxies, "without effect, because TRUST_PROXY is not true")
        }
        return TrustedProxies(isTrusting: isTrusting, blocks: blocks, headers: headers)
    }

    private static func relaySecret(_ reader: inout SettingsReader) -> RelaySecret? {
        guard let text = reader.text(.relaySecret) else { return nil }
        do { return try RelaySecret(text: text) } catch {
            reader.fault(.relaySecret, error.description)
            return nil
        }
    }

    /// Whoever relies on a proxy of another kind is told that it is not used, instead of wondering.
    private static func warnOfOtherProxies(_ reader: inout SettingsReader) {
        guard !reader.isSet(.httpsProxy) else { return }
        for name in ["ALL_PROXY", "all_proxy"] where reader.names.contains(name) {
            reader.warnOfUnused(
                name, "not used: connections to the push services go out directly, unless HTTPS_PROXY is set")
        }
    }
}
