import Glibc
import PushSimulator
import Testing

/// `gryt-push health`.
@Suite(.timeLimit(.minutes(1)))
struct HealthTests {
    private func ask(
        _ settings: [String: String], _ arguments: [String] = [], in directory: ScratchDirectory = ScratchDirectory()
    ) async throws -> ChildProcess.Record {
        try await RelayUnderTest.spawn(settings, in: directory, arguments: ["health"] + arguments).end()
    }

    @Test(arguments: ["127.0.0.1", "0.0.0.0", "::", "::1"])
    func `a relay that runs is well, wherever it listens`(host: String) async throws {
        let relay = try await RelayUnderTest(["HOST": host, "WORKERS": "1"])
        let settings = ["HOST": host, "PORT": String(relay.port)]
        let record = try await ask(settings)
        #expect(record.status == 0)
        #expect(record.outputText == "the relay answers on port \(relay.port) (version 1.2.3-test)\n")
        #expect(record.errorText == "")
        await relay.end()
        let after = try await ask(settings)
        #expect(after.status == 1)
        #expect(after.outputText == "")
        #expect(after.errorText == "no relay answers on port \(relay.port): Connection refused\n")
    }

    @Test func `it reads .env, and no other setting has to be right`() async throws {
        let relay = try await RelayUnderTest(["WORKERS": "1"])
        let directory = ScratchDirectory()
        directory.write("HOST=127.0.0.1\nPORT=\(relay.port)\nthis line is none\n", to: ".env")
        let wrong = ["APNS_KEY": "none", "DATA_DIR": "/nowhere", "IDLE_DAYS": "-1"]
        let process = try await ChildProcess(
            RelayUnderTest.programPath(), arguments: ["health"], environment: wrong, directory: directory)
        let record = await process.end()
        #expect(record.status == 0)
        #expect(record.errorText == "")
        await relay.end()
    }

    @Test func `on a socket that a service manager has handed over it asks where PORT says`() async throws {
        let (descriptor, port) = try loopbackListener()
        defer { close(descriptor) }
        let settings = ["LISTEN_FDS": "1", "LISTEN_PID": "$$", "PORT": String(port), "WORKERS": "1"]
        let relay = try await RelayUnderTest(settings, handing: [descriptor])
        #expect(try await ask(["PORT": String(port)]).status == 0)
        await relay.end()
    }

    @Test func `a relay that is not ready says why, and one that is says so`() async throws {
        try await Stage.run(["WORKERS": "1"]) { stage in
            let ready = try await OperatedRelay(stage.settings)
            let settings = ["METRICS_PORT": String(ready.operatorPort)]
            #expect(try await ask(settings, ["--ready"]).outputText == "the relay is ready\n")
            await ready.relay.end()
        }
        let empty = try await OperatedRelay(["WORKERS": "1"])
        let settings = ["METRICS_PORT": String(empty.operatorPort), "PORT": String(empty.relay.port)]
        #expect(try await ask(settings).status == 0)
        let record = try await ask(settings, ["--ready"])
        #expect(record.status == 1)
        #expect(record.errorText == "the relay is not ready: credentials: there are no credentials for any platform\n")
        await empty.relay.end()
    }

    @Test func `one that does not answer is waited for no longer than is asked for`() async throws {
        let (descriptor, port) = try loopbackListener()
        defer { close(descriptor) }
        let record = try await ask(["PORT": String(port)], ["--timeout", "1"])
        #expect(record.status == 1)
        #expect(
            record.errorText
                == "no relay answers on port \(port): it took the connection and did not answer in time\n")
    }

    @Test func `another program is not taken for a relay`() async throws {
        let directory = ScratchDirectory()
        let simulator = try PushSimulator(
            configuration: SimulatorConfiguration(directory: directory.path + "/simulator"))
        try await simulator.start()
        // The proxy speaks HTTP/1.1 and has nothing at this path.
        let record = try await ask(["PORT": String(simulator.port(of: .proxy))])
        #expect(record.status == 1)
        #expect(record.errorText.contains("is no relay (status "))
        await simulator.stop()
    }

    @Test(
        arguments: [
            (["PORT": "http"], [], "PORT: must be a number"), (["PORT": "0"], [], "PORT: 0 lets the system choose"),
            (["HOST": "geheim"], [], "HOST: must be an IPv4 or IPv6 address"),
            (["METRICS_PORT": ""], ["--ready"], "METRICS_PORT: not set"),
            ([:], ["--fast"], "gryt-push: what is --fast?"),
            ([:], ["--timeout", "0"], "gryt-push: what is --timeout"),
            ([:], ["--timeout"], "gryt-push: what is --timeout"),
        ] as [([String: String], [String], String)])
    func `what does not say where to ask is told apart from a relay that is not well`(
        settings: [String: String], arguments: [String], says: String
    ) async throws {
        let record = try await ask(settings, arguments)
        #expect(record.status == 2)
        #expect(record.errorText.hasPrefix(says), "\(record.errorText)")
        #expect(!record.errorText.contains("geheim"))
        #expect(record.outputText == "")
    }

    @Test func `a .env that cannot be read is told`() async throws {
        let directory = ScratchDirectory()
        shell("mkdir '\(directory.path)/.env'")
        let record = try await ask([:], in: directory)
        #expect(record.status == 2)
        #expect(record.errorText == ".env: cannot be read: Is a directory\n")
    }
}
