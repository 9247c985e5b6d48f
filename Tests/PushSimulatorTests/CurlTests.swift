import PushSimulator
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// Runs curl, which nobody here wrote, and gives what it printed.
func curl(_ arguments: [String]) throws -> String {
    var ends: [Int32] = [0, 0]
    guard unsafe pipe(&ends) == 0 else { throw TestClientError(description: "no pipe") }
    // Nobody else's child is to hold this pipe open; the copy that curl gets is its own.
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
    let words = ["curl", "-sS", "--http2", "--max-time", "20"] + arguments
    var pointers: [UnsafeMutablePointer<CChar>?] = unsafe words.map { unsafe strdup($0) } + [nil]
    defer { unsafe pointers.forEach { unsafe free($0) } }
    var process = pid_t()
    let code = unsafe posix_spawnp(&process, "curl", &actions, nil, &pointers, environ)
    close(ends[1])
    defer { close(ends[0]) }
    guard code == 0 else { throw TestClientError(description: "curl cannot be run: \(code)") }
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = unsafe read(ends[0], &buffer, buffer.count)
        guard count > 0 else { break }
        text += buffer[..<count]
    }
    var status: Int32 = 0
    unsafe waitpid(process, &status, 0)
    #expect(status == 0, "curl ended with \(status >> 8)")
    return String(decoding: text, as: UTF8.self)
}

/// Each service once, by a client that shares no line with the simulator or its tests.
@Suite(.timeLimit(.minutes(1)))
struct CurlTests {
    private static func with(_ test: (Fixture, String) async throws -> Void) async throws {
        let directory = temporaryDirectory()
        let simulator = try PushSimulator(configuration: SimulatorConfiguration(directory: directory))
        defer { remove(simulator, directory) }
        try await simulator.start()
        let bare = Fixture(simulator: simulator, rootPEM: "", serviceAccountJSON: .null, usualToken: "")
        try await test(bare, simulator.certificateAuthorityFile)
        await simulator.stop()
    }

    @Test func `curl pushes to both of Apple's environments`() async throws {
        try await Self.with { fixture, root in
            for service in [SimulatedService.apnsProduction, .apnsSandbox] {
                let token = SimulatedPhone(.ios).token
                let answer = try curl([
                    "--cacert", root, "-w", " %{http_code} %{http_version}", "-H",
                    "authorization: bearer " + fixture.providerToken(), "-H", "apns-topic: chat.gryt.app", "-d",
                    #"{"aps":{"alert":"x"}}"#, fixture.simulator.origin(of: service) + "/3/device/" + token,
                ])
                #expect(answer == " 200 2")
                #expect(fixture.simulator.deliveredCount(to: token, platform: .ios) == 1)
            }
        }
    }

    @Test func `curl gets an access token and pushes to Google with it`() async throws {
        try await Self.with { fixture, root in
            let phone = SimulatedPhone(.android)
            let grant = "grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer"
            let answer = try curl([
                "--cacert", root, "--data-urlencode", grant, "--data-urlencode", "assertion=" + fixture.assertion(),
                fixture.simulator.serviceAccount.tokenURI,
            ])
            let access = try #require(JSON(text: answer)?["access_token"]?.string)
            let sent = try curl([
                "--cacert", root, "-w", " %{http_code} %{http_version}", "-H", "authorization: Bearer " + access, "-H",
                "content-type: application/json", "-d",
                #"{"message":{"token":"\#(phone.token)","data":{"c":"x"}}}"#,
                fixture.simulator.origin(of: .fcm) + "/v1/projects/gryt-simulated/messages:send",
            ])
            #expect(sent.hasPrefix(#"{"name":"projects/gryt-simulated/messages/"#))
            #expect(sent.hasSuffix(" 200 2"))
            #expect(fixture.simulator.deliveredCount(to: phone.token, platform: .android) == 1)
        }
    }

    @Test func `curl gives orders and reads the books`() async throws {
        try await Self.with { fixture, root in
            let control = fixture.simulator.origin(of: .control) + "/simulator/"
            func get(_ path: String) throws -> JSON? { JSON(text: try curl(["--cacert", root, control + path])) }
            func post(_ path: String) throws -> JSON? {
                JSON(text: try curl(["--cacert", root, "-X", "POST", control + path]))
            }
            let token = SimulatedPhone(.ios).token
            func push() throws -> String {
                try curl([
                    "--cacert", root, "-H", "authorization: bearer " + fixture.providerToken(), "-H",
                    "apns-topic: chat.gryt.app", "-d", #"{"aps":{}}"#,
                    fixture.simulator.origin(of: .apnsProduction) + "/3/device/" + token,
                ])
            }
            #expect(try post("dead?token=\(token)&since=12345") == ["ok": true])
            #expect(try push() == #"{"reason":"Unregistered","timestamp":12345}"#)
            #expect(try post("alive?token=\(token)&environment=sandbox") == ["ok": true])
            #expect(try push() == #"{"reason":"BadDeviceToken"}"#)
            #expect(try post("forget?token=\(token)") == ["ok": true])
            #expect(try post("force?token=\(token)&status=429&reason=TooManyRequests&times=1") == ["ok": true])
            #expect(try push() == #"{"reason":"TooManyRequests"}"#)
            #expect(try push() == "")
            #expect(try get("books")?["services"]?["apns-production"]?["delivered"] == 1)
            guard case .array(let shown) = try get("notifications?token=\(token)") else {
                Issue.record("no list")
                return
            }
            #expect(shown.count == 1 && shown[0]["token"]?.string == token)
            #expect(try post("latency?service=apns-production&ms=1") == ["ok": true])
            #expect(try post("clock?seconds=60") == ["ok": true])
            #expect(try post("goaway?service=fcm") == ["ok": true, "connections": 0])
            #expect(try post("dead")?["error"] == "token is missing")
            #expect(try post("nothing")?["error"] == "no such order")
        }
    }
}
