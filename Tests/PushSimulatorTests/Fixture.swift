import Cryptography
import PushSimulator

#if canImport(Glibc)
    import Glibc
#endif

/// A running simulator whose files are gone already: what they held is here.
struct Fixture: Sendable {
    let simulator: PushSimulator
    let rootPEM: String
    let serviceAccountJSON: JSON
    /// What pushes carry unless told otherwise: one token, since a connection bears no second for 20 minutes.
    let usualToken: String

    /// Starts one of its own.
    static func start(_ change: (inout SimulatorConfiguration) -> Void = { _ in }) async throws -> Fixture {
        let directory = temporaryDirectory()
        var configuration = SimulatorConfiguration(directory: directory)
        change(&configuration)
        let simulator = try PushSimulator(configuration: configuration)
        defer { remove(simulator, directory) }
        try await simulator.start()
        let rootPEM = try readText(simulator.certificateAuthorityFile)
        let account = JSON(text: try readText(simulator.serviceAccountFile)) ?? .null
        func fixture(_ token: String) -> Fixture {
            Fixture(simulator: simulator, rootPEM: rootPEM, serviceAccountJSON: account, usualToken: token)
        }
        return fixture(fixture("").providerToken())
    }

    /// One for all tests that leave nothing behind but tokens of their own.
    static func shared() async throws -> Fixture { try await sharedFixture.value }

    func client(
        _ service: SimulatedService, verifyAs name: String = "localhost", offersHTTP2: Bool = true
    ) throws -> TestClient {
        try TestClient(
            port: simulator.port(of: service), rootPEM: rootPEM, verifyAs: name, offersHTTP2: offersHTTP2)
    }

    /// Changes how later connections of a service behave.
    func behave(_ service: SimulatedService = .apnsProduction, _ change: (inout ConnectionBehaviour) -> Void) {
        var behaviour = ConnectionBehaviour.usual(of: service)
        change(&behaviour)
        simulator.setBehaviour(behaviour, of: service)
    }

    /// A push to this token that APNs accepts.
    func apnsRequest(_ token: String, changing: [String: String?] = [:]) -> TestRequest {
        var headers: [(String, String)] = [
            ("apns-topic", simulator.topic), ("apns-push-type", "alert"), ("apns-priority", "10"),
            ("apns-id", randomUUID()), ("authorization", "bearer " + usualToken),
        ]
        for (name, value) in changing {
            headers.removeAll { $0.0 == name }
            if let value { headers.append((name, value)) }
        }
        return TestRequest(
            path: "/3/device/\(token)", headers: headers,
            body: Array(#"{"aps":{"alert":{"title":"Gryt","body":"New message"}},"c":"0123456789abcdef"}"#.utf8))
    }

    /// A provider token by the simulator's key, unless said otherwise. `signature` may spoil what was signed.
    func providerToken(
        key: ES256SigningKey? = nil, header: JSON? = nil, claims: JSON? = nil,
        signature: ([UInt8]) -> [UInt8] = { $0 }
    ) -> String {
        let header = header ?? ["alg": "ES256", "kid": .string(simulator.apnsKeyID)]
        let claims = claims ?? ["iss": .string(simulator.apnsTeamID), "iat": JSON(simulator.now / 1000)]
        return jwt(header, claims) { signature((key ?? simulator.apnsKey).sign($0)) }
    }

    /// An assertion that Google accepts, unless said otherwise.
    func assertion(
        key: RS256SigningKey? = nil, header: [String: JSON] = [:], claims: [String: JSON?] = [:]
    ) -> String {
        let account = simulator.serviceAccount
        var head: [String: JSON] = ["alg": "RS256", "typ": "JWT", "kid": .string(account.keyID)]
        head.merge(header) { $1 }
        let now = simulator.now / 1000
        var body: [String: JSON] = [
            "iss": .string(account.email), "scope": "https://www.googleapis.com/auth/firebase.messaging",
            "aud": .string(account.tokenURI), "iat": JSON(now - 10), "exp": JSON(now + 3500),
        ]
        for (name, value) in claims { body[name] = value }
        return jwt(.object(head.map { .init($0.key, $0.value) }), .object(body.map { .init($0.key, $0.value) })) {
            (key ?? account.key).sign($0)
        }
    }

    /// A request for an access token.
    func tokenRequest(_ assertion: String) -> TestRequest {
        TestRequest(
            path: "/token", headers: [("content-type", "application/x-www-form-urlencoded")],
            body: Array("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(assertion)".utf8))
    }

    /// A fresh access token.
    func accessToken() throws -> String {
        let answer = try client(.oauth).exchange(tokenRequest(assertion()))
        return JSON(text: answer.body)?["access_token"]?.string ?? ""
    }

    /// A message to FCM.
    func fcmRequest(_ body: String, accessToken: String, project: String? = nil) -> TestRequest {
        TestRequest(
            path: "/v1/projects/\(project ?? simulator.serviceAccount.projectID)/messages:send",
            headers: [("authorization", "Bearer \(accessToken)"), ("content-type", "application/json")],
            body: Array(body.utf8))
    }

    private func jwt(_ header: JSON, _ claims: JSON, _ sign: ([UInt8]) -> [UInt8]) -> String {
        let text = [header, claims].map { Base64URL.encode(Array($0.text.utf8)) }.joined(separator: ".")
        return text + "." + Base64URL.encode(sign(Array(text.utf8)))
    }
}

private let sharedFixture = Task { try await Fixture.start() }

func randomUUID() -> String {
    let hex = SecureRandom.bytes(16).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    let digits = Array(hex)
    return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
}

/// A directory that is not there yet.
func temporaryDirectory() -> String {
    "/tmp/push-simulator-test-\(getpid())-\(UInt64.random(in: 0 ... .max))"
}

func remove(_ simulator: PushSimulator, _ directory: String) {
    let files = [
        simulator.certificateAuthorityFile, simulator.apnsKeyFile, simulator.serviceAccountFile,
        simulator.relaySettingsFile,
    ]
    for file in files { unsafe _ = unlink(file) }
    unsafe _ = rmdir(directory)
}

func readText(_ path: String) throws -> String {
    let descriptor = unsafe open(path, O_RDONLY)
    guard descriptor >= 0 else { throw TestClientError(description: "cannot read \(path)") }
    defer { close(descriptor) }
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = unsafe read(descriptor, &buffer, buffer.count)
        guard count > 0 else { return String(decoding: text, as: UTF8.self) }
        text += buffer[..<count]
    }
}
