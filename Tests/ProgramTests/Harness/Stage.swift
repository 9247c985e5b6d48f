import Glibc
import PushSimulator
import Testing

/// A simulator and a relay that sends to it.
struct Stage: Sendable {
    let simulator: PushSimulator
    let relay: RelayUnderTest
    /// Where the simulator's files are.
    let files: ScratchDirectory
    /// With these the relay was started.
    let settings: [String: String]

    @TaskLocal static var shared: Stage?

    /// The one that the suite's ``StageTrait`` has set up.
    static var current: Stage {
        get throws { try #require(shared) }
    }

    /// Sets one up, lends it, and takes it down. The relay must live to the end, stop when it is told to, and write
    /// nothing to its standard error.
    static func run<Result: Sendable>(
        _ settings: [String: String] = [:], _ body: @Sendable (Stage) async throws -> Result
    ) async throws -> Result {
        let files = ScratchDirectory()
        let simulator = try PushSimulator(configuration: SimulatorConfiguration(directory: files.path + "/simulator"))
        try await simulator.start()
        do {
            let settings = simulator.settings.merging(settings) { $1 }
            let stage = Stage(
                simulator: simulator, relay: try await RelayUnderTest(settings), files: files, settings: settings)
            let result = try await body(stage)
            let record = await stage.relay.end()
            #expect(record.status == 0, "\(record.outputText)")
            #expect(record.errorText == "")
            await simulator.stop()
            return result
        } catch {
            // The relay that is let go of here is killed.
            await simulator.stop()
            throw error
        }
    }

    /// Registers a new phone.
    func newPhone(
        _ platform: PhonePlatform = .ios, env: String? = nil, opens: Bool? = nil
    ) async throws -> (phone: SimulatedPhone, capability: String) {
        let phone = SimulatedPhone(platform)
        return (phone, try await relay.register(phone, env: env, opens: opens))
    }

    /// What the phone got so far.
    func notifications(for phone: SimulatedPhone) -> [DeliveredNotification] {
        simulator.notifications(for: phone.token, platform: phone.platform)
    }

    /// Makes the next pushes to a phone meet a fault.
    func force(_ fault: Fault, on phone: SimulatedPhone) {
        simulator.force(fault, on: phone.token, platform: phone.platform)
    }
}

extension PushSimulator {
    /// The settings that point a relay here.
    var settings: [String: String] {
        var settings: [String: String] = [:]
        for line in relaySettings.split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1)
            settings[String(parts[0])] = String(parts[1])
        }
        return settings
    }
}

/// Gives all tests of a suite one stage, for tests that leave nothing behind but phones of their own.
struct StageTrait: SuiteTrait, TestScoping {
    var settings: [String: String]

    @concurrent func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await Stage.run(settings) { stage in
            try await Stage.$shared.withValue(stage) { try await function() }
        }
    }
}

extension Trait where Self == StageTrait {
    /// One stage for the whole suite, its relay with these settings.
    static func stage(_ settings: [String: String] = [:]) -> StageTrait { StageTrait(settings: settings) }
}
