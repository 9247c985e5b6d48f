import Cryptography
import Glibc
import PushModel
import PushSimulator
import Testing

/// One run of `gryt-push check --json`.
struct CheckRun: Sendable {
    struct Line: Sendable, CustomStringConvertible {
        var check: String
        var about: String?
        var verdict: String
        var seen: String
        var advice: String?

        var description: String { "\(verdict) \(check) \(about ?? ""): \(seen) -> \(advice ?? "")" }
    }

    let status: Int32?
    let lines: [Line]

    /// Runs it with these settings. Whatever it prints holds none of the secrets, and a line that is wrong says what to do.
    init(
        _ settings: [String: String], in directory: ScratchDirectory, arguments: [String] = [],
        by start: (_ settings: [String: String], _ arguments: [String]) async throws -> ChildProcess
    ) async throws {
        let record = try await start(settings, ["check", "--json"] + arguments).end()
        status = record.status
        lines = try record.outputText.split(separator: "\n").map { line in
            let json = try #require(JSON(text: String(line)), "\(line)")
            return Line(
                check: json["check"]?.string ?? "", about: json["about"]?.string,
                verdict: json["verdict"]?.string ?? "", seen: json["seen"]?.string ?? "",
                advice: json["advice"]?.string)
        }
        #expect(record.errorText == "")
        for line in lines where line.verdict == "wrong" || line.verdict == "warning" {
            #expect(line.advice?.isEmpty == false, "\(line)")
        }
        for needle in secrets(of: settings) { #expect(!record.outputText.contains(needle), "a secret was printed") }
    }

    init(
        _ settings: [String: String], in directory: ScratchDirectory = ScratchDirectory(), arguments: [String] = []
    ) async throws {
        try await self.init(settings, in: directory, arguments: arguments) { settings, arguments in
            try await RelayUnderTest.spawn(settings, in: directory, arguments: arguments)
        }
    }

    /// What was found about one thing.
    subscript(_ check: String) -> [Line] { lines.filter { $0.check == check } }

    /// What has this verdict, without repetitions.
    func checks(_ verdict: String) -> Set<String> {
        Set(lines.filter { $0.verdict == verdict }.map(\.check))
    }
}

/// What must never be printed: values that are secret, what the files with keys hold, the paths of these files, and how
/// every token begins that is made with them.
private func secrets(of settings: [String: String]) -> [String] {
    var secrets = ["eyJ", "ya29", "-----BEGIN", "geheim"]
    for name in ["APNS_KEY_PATH", "FCM_SERVICE_ACCOUNT_PATH"] {
        guard let path = settings[name], !path.isEmpty else { continue }
        secrets.append(path)
        let text = fileText(path)
        secrets += text.split(whereSeparator: { "\n\"\\".contains($0) }).map(String.init).filter { $0.utf8.count >= 40 }
    }
    for name in ["APNS_KEY", "FCM_SERVICE_ACCOUNT", "RELAY_SECRET"] {
        if let value = settings[name] { secrets.append(value) }
    }
    return secrets
}

/// What is in a text file; nothing where there is none.
func fileText(_ path: String?) -> String { String(decoding: fileBytes(path ?? ""), as: UTF8.self) }

/// A simulator that tests share, and take one after the other.
struct CheckedSimulator: Sendable {
    let simulator: PushSimulator

    @TaskLocal static var shared: CheckedSimulator?

    /// Lends the simulator, a directory, and settings with which everything is right: ports that are free among them. A
    /// check must have delivered nothing.
    static func lend(
        _ body: @Sendable (PushSimulator, ScratchDirectory, [String: String]) async throws -> Void
    ) async throws {
        let simulator = try #require(shared).simulator
        let directory = ScratchDirectory()
        shell("mkdir -m 700 '\(directory.path)/data'")
        let ports = ["PORT": String(try freePort()), "METRICS_PORT": String(try freePort())]
        do {
            try await body(simulator, directory, simulator.settings.merging(ports) { $1 })
        } catch {
            try await restore(simulator)
            throw error
        }
        #expect(simulator.books().notifications.isEmpty, "a check has delivered something")
        try await restore(simulator)
    }

    /// Takes back whatever a test may have told it.
    private static func restore(_ simulator: PushSimulator) async throws {
        for service in [SimulatedService.apnsProduction, .apnsSandbox, .fcm, .oauth] {
            simulator.clearFaults(of: service)
            simulator.setBehaviour(.usual(of: service), of: service)
            await simulator.receiveAsUsual(service)
            await simulator.setListening(.usual, of: service)
        }
        simulator.setServiceAccount(.usual)
        simulator.proxyAsUsual()
        simulator.requireProxyCredentials(nil)
        simulator.addAppleKey(
            AppleKey(
                keyID: simulator.apnsKeyID, teamID: simulator.apnsTeamID,
                key: try ES256VerifyingKey(pem: simulator.apnsKey.publicKeyPEM)))
        let now = Clocks.system.wall().milliseconds
        simulator.advanceClock(by: .milliseconds(now - simulator.now))
    }
}

/// Gives all tests of a suite one simulator.
struct CheckedSimulatorTrait: SuiteTrait, TestScoping {
    @concurrent func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let directory = ScratchDirectory()
        let simulator = try PushSimulator(configuration: SimulatorConfiguration(directory: directory.path))
        try await simulator.start()
        do {
            try await CheckedSimulator.$shared.withValue(CheckedSimulator(simulator: simulator)) {
                try await function()
            }
            await simulator.stop()
        } catch {
            await simulator.stop()
            throw error
        }
    }
}

extension Trait where Self == CheckedSimulatorTrait {
    /// One simulator for the whole suite, whose tests follow one another.
    static var simulator: CheckedSimulatorTrait { CheckedSimulatorTrait() }
}
