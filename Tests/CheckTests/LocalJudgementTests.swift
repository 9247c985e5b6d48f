import Cryptography
import DeviceStore
import HTTPServer
import SQLiteDeviceStore
import Testing

@testable import gryt_push

/// What this machine says, row by row.
@Suite(.timeLimit(.minutes(1)))
struct LocalJudgementTests {
    private func expect(
        _ judgement: Judgement, _ verdict: Judgement.Verdict, _ seen: String, _ advice: String = "",
        at location: SourceLocation = #_sourceLocation
    ) {
        #expect(judgement.verdict == verdict, sourceLocation: location)
        #expect(judgement.seen.contains(seen), "\(judgement.seen)", sourceLocation: location)
        #expect(advice.isEmpty || judgement.advice?.contains(advice) == true, sourceLocation: location)
        let needsAdvice = verdict == .wrong || verdict == .warning
        #expect((judgement.advice != nil) == needsAdvice, sourceLocation: location)
    }

    private static func directory(
        exists: Bool = true, fault: Int32 = 0, owner: UInt32? = 998, isOpen: Bool = false
    ) -> DirectoryReading {
        DirectoryReading(exists: exists, fault: fault, owner: owner, user: 998, isOpenToOthers: isOpen)
    }

    @Test func `DATA_DIR is judged by what its user may do there`() {
        expect(PlaceExamination.judge(Self.directory()), .ok, "can be written to")
        expect(PlaceExamination.judge(Self.directory(exists: false, owner: nil)), .ok, "first start makes it")
        expect(PlaceExamination.judge(Self.directory(fault: 13)), .wrong, "Permission denied", "must own it")
        expect(PlaceExamination.judge(Self.directory(fault: 30)), .wrong, "Read-only", "mount")
        expect(
            PlaceExamination.judge(Self.directory(exists: false, fault: 13, owner: nil)), .wrong, "cannot be made",
            "must own it")
        expect(PlaceExamination.judge(Self.directory(fault: 20)), .wrong, "Not a directory", "another path")
        expect(PlaceExamination.judge(Self.directory(owner: 0)), .warning, "user 0", "as the user")
        expect(PlaceExamination.judge(Self.directory(isOpen: true)), .warning, "every user", "chmod")
    }

    @Test func `the room on the disk is judged as the operator's page does`() {
        expect(PlaceExamination.judge(freeBytes: 600 << 20), .ok, "600 MB")
        expect(PlaceExamination.judge(freeBytes: 512 << 20), .ok, "512 MB")
        expect(PlaceExamination.judge(freeBytes: 511 << 20), .warning, "511 MB", "make room")
        expect(PlaceExamination.judge(freeBytes: 31 << 20), .wrong, "31 MB", "make room")
        expect(PlaceExamination.judge(freeBytes: nil), .skipped, "does not say")
    }

    @Test func `the database is judged by what a start would make of it`() {
        func judge(_ database: Result<DatabaseInspection.Database, StoreOpenError>) -> Judgement {
            PlaceExamination.judge(database)
        }
        expect(judge(.success(.none)), .ok, "none yet")
        expect(judge(.success(.lost(trace: "secret.key"))), .warning, "secret.key is there", "restore push.db")
        expect(judge(.success(.older(.all))), .ok, "older relay's")
        let counts = DeviceCounts(ios: 3, android: 4)
        expect(
            judge(.success(.ours(counts, .all))), .ok, "3 iOS and 4 Android devices are registered; it was read whole")
        expect(judge(.success(.ours(counts, .partly(bytes: 2 << 30)))), .ok, "2048 MB too much")
        expect(judge(.success(.withLogOfCrash)), .skipped, "crash")
        for (error, seen, advice) in [
            (.damaged, "damaged", "docs/backup.md"), (.notADatabase, "not a database", "docs/backup.md"),
            (.newer(found: 7, known: 1), "schema 7", "run that relay"), (.otherProgram, "another program", "DATA_DIR"),
            (.logDamaged, "push.db-wal", "restore"), (.logWithoutDatabase, "push.db-wal", "restore"),
            (.notAFile("push.db"), "push.db is not a regular file", "restore"),
            (.notAFile("push.db-shm"), "push.db-shm is not a regular file", "move away"),
            (.unreadable(errno: 13), "cannot be read: Permission denied", "as the user"),
            (.deadLink(errno: 40), "Too many levels of symbolic links", "mount"),
            (.directory(errno: 13), "Permission denied", "own it"),
            (.store(.busy), "another process", "end whatever"), (.store(.readOnly), "written", "as the user"),
            (.store(.failed(code: 10)), "10", "log"),
        ] as [(StoreOpenError, String, String)] {
            expect(judge(.failure(error)), .wrong, seen, advice)
        }
    }

    @Test func `the secret is judged by whose it is and who may read it`() {
        func judge(_ state: DatabaseInspection.Secret.State, isOpen: Bool = false, isGiven: Bool = false) -> Judgement {
            let secret = DatabaseInspection.Secret(state: state, isReadableByOthers: isOpen)
            return PlaceExamination.judge(.success(secret), isGiven: isGiven)
        }
        expect(judge(.toBeMade), .ok, "first start makes secret.key")
        expect(judge(.unproven), .ok, "secret.key is there")
        expect(judge(.proven, isGiven: true), .ok, "RELAY_SECRET is the one")
        expect(judge(.proven, isOpen: true), .warning, "users other than its owner", "chmod 600")
        expect(PlaceExamination.judge(.failure(.otherSecret), isGiven: true), .wrong, "not the secret", "restore")
        expect(PlaceExamination.judge(.failure(.secret(.lost)), isGiven: false), .wrong, "is gone", "backup")
        expect(PlaceExamination.judge(.failure(.secret(.empty)), isGiven: false), .wrong, "is empty", "backup")
        for (errno, seen, advice) in [
            (13, "Permission denied", "as the user"), (1, "not permitted", "chown"), (5, "Input", "log"),
        ] {
            let judgement = PlaceExamination.judge(
                .failure(.secret(.file(.open, errno: Int32(errno)))), isGiven: false)
            expect(judgement, .wrong, seen, advice)
            #expect(judgement.advice?.contains("restore") == false)
        }
    }

    @Test(arguments: [(0o600, true), (0o640, true), (0o660, true), (0o644, false), (0o602, false), (0o606, false)])
    func `a key's file is the owner's and the group's alone`(mode: UInt32, isRight: Bool) {
        expect(
            SettingsExamination.judge(mode: mode), isRight ? .ok : .warning, "mode \(String(mode, radix: 8))",
            isRight ? "" : "chmod")
    }

    @Test func `open files are enough for the connections that are set, or not`() {
        func judge(_ openFiles: Int) -> Judgement {
            MachineExamination.judge(
                openFiles: openFiles, maximumConnections: 10_000, workers: 1, hasOperatorPort: true)
        }
        var enough = 10_000
        while DescriptorPlan(openFiles: enough, loops: 1, servers: 1, hasOperatorPort: true).connections < 10_000 {
            enough += 1
        }
        expect(judge(enough), .ok, "10000 connections")
        expect(judge(enough - 1), .wrong, "503", "LimitNOFILE=")
        expect(judge(DescriptorPlan.fewest(loops: 1) - 1), .wrong, "to start", "LimitNOFILE=")
    }

    @Test func `a port is judged by who has it`() {
        func judge(_ reading: MachineExamination.PortReading) -> Judgement {
            MachineExamination.judge(reading, host: "127.0.0.1", port: 8080, names: "HOST, PORT")
        }
        expect(judge(.free), .ok, "127.0.0.1 port 8080 is free")
        expect(judge(.taken(.well(version: "2.0"))), .ok, "a relay serves 127.0.0.1 port 8080 already (version 2.0)")
        expect(judge(.taken(.unwell("shutting_down"))), .warning, "shutting_down", "health")
        expect(judge(.taken(.stranger(status: 404))), .wrong, "another program", "HOST, PORT")
        expect(judge(.silent(.silent)), .wrong, "did not answer in time", "HOST, PORT")
        expect(judge(.silent(.notConnected(errno: 111))), .wrong, "Connection refused", "HOST, PORT")
        expect(judge(.refused(.notPermitted)), .wrong, "privilege", "1024")
        expect(judge(.refused(.addressNotHere)), .wrong, "no address of this machine", "0.0.0.0")
        expect(judge(.refused(.system(errno: 24))), .wrong, "24", "HOST, PORT")
    }

    // MARK: Settings

    /// A service account's JSON.
    private static var account: String {
        let key = RS256SigningKey.generate().privateKeyPEM.replacing("\n", with: "\\n")
        return """
            {"project_id":"gryt-1234","private_key_id":"0123abcd","client_email":"a@b","private_key":"\(key)"}
            """
    }

    private func examine(
        _ environment: [String: String], dotEnv: String? = nil, mode: UInt32? = 0o600
    ) -> [Finding] {
        let reading = SettingsReading(environment: environment, dotEnv: dotEnv, cores: 1)
        return SettingsExamination(reading: reading, mode: { _ in mode }).findings
    }

    @Test func `each fault and each warning has a line, and no value is shown`() {
        let findings = examine([
            "PORT": "geheim", "APNS_KEY": "geheim", "APNS_KEY_ID": "geheim", "FCM_SERVICE_ACCOUNT_PATH": "/geheim",
            "PUSH_FOO": "geheim",
        ])
        let lines = findings.filter { $0.subject == .settings }
        #expect(
            lines.filter { $0.judgement.verdict == .wrong }.map(\.about) == [
                "PORT", "APNS_KEY", "APNS_KEY_ID", "APNS_TEAM_ID", "FCM_SERVICE_ACCOUNT_PATH",
            ])
        #expect(lines.filter { $0.judgement.verdict == .warning }.map(\.about) == ["PUSH_FOO"])
        #expect(!CheckReport(findings).text.contains("geheim"))
        for subject in [Finding.Subject.apnsKey, .fcmAccount] {
            #expect(findings.first { $0.subject == subject }?.judgement == .skipped("see settings, above"))
        }
    }

    @Test func `a .env with a secret in it is looked at, and one without is not`() {
        let secret = String(repeating: "0f", count: 32)
        let open = examine([:], dotEnv: "RELAY_SECRET=\(secret)", mode: 0o644).filter { $0.subject == .fileMode }
        #expect(open.map(\.about) == [".env"])
        #expect(open.first?.judgement.verdict == .warning)
        #expect(examine([:], dotEnv: "PORT=80", mode: 0o644).allSatisfy { $0.subject != .fileMode })
    }

    @Test func `nobody is asked by another way than the one that was meant`() {
        func plan(
            _ environment: [String: String], dotEnv: String? = nil, isOffline: Bool = false
        ) -> UpstreamPlan {
            UpstreamPlan(SettingsReading(environment: environment, dotEnv: dotEnv, cores: 1), isOffline: isOffline)
        }
        let account = Self.account
        #expect(plan(["FCM_SERVICE_ACCOUNT": account]).isAsked)
        for (name, value) in [
            ("HTTPS_PROXY", "socks5://geheim"), ("https_proxy", "socks5://geheim"), ("UPSTREAM_CA_FILE", "/nowhere"),
            // An origin that cannot be right has its default beside an account that is.
            ("FCM_ORIGIN", "http://localhost"),
        ] {
            let reading = SettingsReading(
                environment: ["FCM_SERVICE_ACCOUNT": account, name: value], dotEnv: nil, cores: 1)
            #expect(reading.settings.fcm != nil, "\(name)")
            #expect(!UpstreamPlan(reading, isOffline: false).isAsked, "\(name)")
        }
        // What the quote has swallowed might be the proxy.
        let broken = "HTTPS_PROXY='http://127.0.0.1:3128"
        #expect(!plan(["FCM_SERVICE_ACCOUNT": account], dotEnv: broken).isAsked)
        let offline = plan(["FCM_SERVICE_ACCOUNT": account], isOffline: true)
        #expect(offline.skipped.count == Finding.Subject.allCases.count { $0.isUpstream })
        #expect(!offline.isAsked && offline.skipped.allSatisfy { $0.judgement == .skipped("--offline") })
        #expect(!plan([:]).isAsked)
    }

    // MARK: What a listener says

    private func answer(_ status: Int, _ body: String) -> LoopbackRequest.Answer {
        LoopbackRequest.Answer(status: status, body: Array(body.utf8))
    }

    @Test func `a relay is told from a stranger by what it answers`() {
        #expect(RelayAnswer(health: answer(200, #"{"ok":true,"version":"1.2"}"#)) == .well(version: "1.2"))
        #expect(RelayAnswer(health: answer(503, #"{"error":"shutting_down"}"#)) == .unwell("shutting_down"))
        for (status, body) in [(200, "<html>"), (200, #"{"ok":true}"#), (404, #"{"error":"not_found"}"#), (301, "")] {
            #expect(RelayAnswer(health: answer(status, body)) == .stranger(status: status))
        }
        let ready = #"{"ready":true,"checks":[{"name":"store","ok":true}]}"#
        #expect(RelayAnswer(readiness: answer(200, ready)) == .well(version: nil))
        let unready =
            #"{"ready":false,"checks":[{"name":"serving","ok":true},{"name":"store","ok":false,"detail":"full"}]}"#
        #expect(RelayAnswer(readiness: answer(503, unready)) == .unwell("store: full"))
        #expect(RelayAnswer(readiness: answer(200, "ok")) == .stranger(status: 200))
        #expect(RelayAnswer(liveness: answer(200, #"{"ok":true}"#)) == .well(version: nil))
        #expect(RelayAnswer(liveness: answer(503, #"{"ok":false}"#)) == .unwell("an event loop does not answer"))
        #expect(RelayAnswer(liveness: answer(200, "")) == .stranger(status: 200))
        // A terminal obeys control characters.
        #expect(
            RelayAnswer(health: answer(200, #"{"ok":true,"version":"\u001b[2J"}"#)) == .well(version: "?[2J"))
    }

    @Test func `an answer is read whole or not at all`() {
        func read(_ text: String) -> LoopbackRequest.Answer? { LoopbackRequest.read(Array(text.utf8)) }
        #expect(read("HTTP/1.1 200 OK\r\nA: b\r\n\r\n{}") == answer(200, "{}"))
        #expect(read("HTTP/1.1 503 Service Unavailable\r\n\r\n") == answer(503, ""))
        for text in [
            "", "HTTP/1.1", "HTTP/1.1 200 OK\r\n", "HTTP/1.0 200 OK\r\n\r\n", "HTTP/1.1 +20 x\r\n\r\n", "SSH-2.0",
        ] {
            #expect(read(text) == nil, "\(text)")
        }
    }

    @Test(arguments: [
        ("0.0.0.0", ["127.0.0.1"]), ("127.0.0.1", ["127.0.0.1"]), ("10.1.2.3", ["10.1.2.3"]),
        ("::", ["::1", "127.0.0.1"]), ("0::0", ["::1", "127.0.0.1"]), ("::1", ["::1"]), ("fd00::7", ["fd00::7"]),
    ])
    func `a listener on all addresses is asked on loopback`(host: String, addresses: [String]) {
        #expect(LoopbackRequest.addresses(ofListener: host) == addresses)
    }
}

extension Finding.Subject {
    /// Whether somebody outside has to be asked for it.
    fileprivate var isUpstream: Bool {
        switch self {
        case .apnsConnection, .apnsSandboxConnection, .oauthConnection, .fcmConnection, .apns, .apnsSandbox, .oauth,
            .fcm, .clock:
            true
        default: false
        }
    }
}
