package import Cryptography
import EventLoops
import Synchronization

/// Apple, Google's FCM and Google's token endpoint on loopback, over real TLS and HTTP/2, with keys and certificates
/// made for this one run. It checks what the real ones check, refuses as they do, and keeps books of what phones got.
///
/// It shares no code with the relay's own client and services, so that no mistake of theirs is made twice.
///
/// Any thread may call. Declarations hold from the moment the call returns. Ports are bound, and files written, when
/// ``init(configuration:)`` returns; connections are taken from ``start()`` on.
package final class PushSimulator: Sendable {
    /// The PEM root that every certificate of this simulator goes back to: `UPSTREAM_CA_FILE`.
    package let certificateAuthorityFile: String
    /// Apple's key, PKCS#8 in PEM: `APNS_KEY_PATH`.
    package let apnsKeyFile: String
    /// `APNS_KEY_ID`.
    package var apnsKeyID: String { ledger.configuration.keyID }
    /// `APNS_TEAM_ID`.
    package var apnsTeamID: String { ledger.configuration.teamID }
    /// `APNS_TOPIC`.
    package var topic: String { ledger.configuration.topic }
    /// Google's service account, JSON: `FCM_SERVICE_ACCOUNT_PATH`.
    package let serviceAccountFile: String
    /// The key that provider tokens must be signed with, for tests that make their own.
    package let apnsKey: ES256SigningKey
    /// The service account itself, for tests that make their own assertions.
    package let serviceAccount: ServiceAccount
    /// The path of a file with ``relaySettings``.
    package let relaySettingsFile: String

    let ledger: Ledger
    private let sockets: [SimulatedService: LoopbackSocket]
    private let loop: EventLoop
    let server: SimulatorServer
    private let assertionRules: AssertionRules
    private let phase = Mutex<Phase>(.made)

    private enum Phase { case made, running, stopped }

    /// Makes keys, certificates and files, and binds the ports.
    ///
    /// - Throws: ``SimulatorError`` when a port is taken, the directory cannot be written, or memory is out.
    package init(configuration: SimulatorConfiguration) throws(SimulatorError) {
        ledger = Ledger(configuration: configuration)
        var sockets: [SimulatedService: LoopbackSocket] = [:]
        for service in SimulatedService.allCases {
            sockets[service] = try LoopbackSocket(port: configuration.ports[service] ?? 0)
        }
        self.sockets = sockets
        let contexts = try TLSServerContexts()
        try SimulatorFiles.makeDirectory(configuration.directory)
        // A relay that runs elsewhere reads the paths.
        let directory = try SimulatorFiles.absolutePath(of: configuration.directory)
        certificateAuthorityFile = directory + "/simulator-ca.pem"
        apnsKeyFile = directory + "/apns-key.p8"
        serviceAccountFile = directory + "/service-account.json"
        relaySettingsFile = directory + "/relay.env"
        apnsKey = ES256SigningKey.generate()
        serviceAccount = ServiceAccount(
            projectID: configuration.projectID, tokenURI: Self.origin(sockets[.oauth]) + "/token")
        do throws(KeyError) {
            let key = AppleKey(
                keyID: configuration.keyID, teamID: configuration.teamID,
                key: try ES256VerifyingKey(pem: apnsKey.publicKeyPEM))
            ledger.updateAppleAccount { $0.add(key) }
            assertionRules = AssertionRules(
                account: serviceAccount, key: try RS256VerifyingKey(pem: serviceAccount.key.publicKeyPEM))
        } catch {
            throw .key(error.description)
        }
        try SimulatorFiles.write(contexts.rootPEM, to: certificateAuthorityFile)
        try SimulatorFiles.write(apnsKey.privateKeyPEM, to: apnsKeyFile)
        try SimulatorFiles.write(serviceAccount.json.text, to: serviceAccountFile)
        do throws(EventLoopError) {
            loop = try EventLoop(name: "simulator")
        } catch {
            throw .loop(error.description)
        }
        server = SimulatorServer(
            on: loop, contexts: contexts, callbacks: try SessionCallbacks(), ledger: ledger)
        try SimulatorFiles.write(relaySettings, to: relaySettingsFile)
    }

    // MARK: Running

    /// Takes connections from now on. Once only.
    ///
    /// - Throws: ``SimulatorError/startedTwice``, or ``SimulatorError/loop(_:)`` when the system gives no thread.
    package func start() async throws(SimulatorError) {
        let mayStart = phase.withLock { phase in
            guard phase == .made else { return false }
            phase = .running
            return true
        }
        guard mayStart else { throw .startedTwice }
        do throws(EventLoopError) {
            try loop.start()
        } catch {
            throw .loop(error.description)
        }
        let ledger = ledger
        let assertionRules = assertionRules
        let server = server
        let ports = sockets.mapValues(\.port)
        for (service, socket) in sockets {
            if service == .proxy {
                await server.listenAsProxy(on: socket) { target in
                    switch target {
                    case .port(let port): port
                    case .service(let service): ports[service] ?? 0
                    }
                }
                continue
            }
            // Unowned, or the server would keep itself alive through its own listeners.
            await server.listen(on: socket, as: service) { [unowned server] in
                switch service {
                case .apnsProduction, .apnsSandbox:
                    APNsConversation(
                        environment: service == .apnsProduction ? .production : .sandbox, ledger: ledger,
                        verifier: ProviderTokenVerifier())
                case .fcm: FCMConversation(ledger: ledger)
                case .oauth: OAuthConversation(ledger: ledger, rules: assertionRules)
                case .control: ControlConversation(ledger: ledger, server: server)
                case .proxy: preconditionFailure("the proxy has no conversations")
                }
            }
        }
    }

    /// Ends all connections and the loop; the ports refuse connections from then on. Does nothing when it does not run.
    package func stop() async {
        let mustStop = phase.withLock { phase in
            defer { phase = .stopped }
            return phase == .running
        }
        guard mustStop else { return }
        await server.close()
        loop.stopAndJoin()
        for socket in sockets.values { socket.stopListening() }
    }

    deinit {
        // Let go without being stopped: the loop's thread must be gone before what it uses goes.
        let isRunning = phase.withLock { $0 == .running }
        if isRunning, !loop.isOnLoop { loop.stopAndJoin() }
    }

    // MARK: Where it is

    private static func origin(_ socket: LoopbackSocket?) -> String {
        "https://localhost:\(socket?.port ?? 0)"
    }

    /// Where a service answers: `https://localhost:<port>`, good before ``start()`` already.
    package func origin(of service: SimulatedService) -> String { Self.origin(sockets[service]) }

    /// `http://localhost:<port>`, as a proxy is named, with credentials where there are any.
    package func proxyURL(_ credentials: ProxyCredentials? = nil) -> String {
        let user = credentials.map { "\($0.user):\($0.password)@" } ?? ""
        return "http://\(user)localhost:\(port(of: .proxy))"
    }

    /// The port of a service.
    package func port(of service: SimulatedService) -> UInt16 { sockets[service]?.port ?? 0 }

    /// The settings that point a relay at this simulator, one `NAME=value` a line.
    package var relaySettings: String {
        """
        APNS_PRODUCTION_ORIGIN=\(origin(of: .apnsProduction))
        APNS_SANDBOX_ORIGIN=\(origin(of: .apnsSandbox))
        APNS_KEY_PATH=\(apnsKeyFile)
        APNS_KEY_ID=\(apnsKeyID)
        APNS_TEAM_ID=\(apnsTeamID)
        APNS_TOPIC=\(topic)
        FCM_ORIGIN=\(origin(of: .fcm))
        FCM_SERVICE_ACCOUNT_PATH=\(serviceAccountFile)
        UPSTREAM_CA_FILE=\(certificateAuthorityFile)

        """
    }
}
