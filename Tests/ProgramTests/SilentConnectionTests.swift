import PushSimulator
import Testing

/// Connections that confirm PINGs and answer no request. One loop, so that it is the same connection that all meet.
@Suite(.timeLimit(.minutes(2)))
struct SilentConnectionTests {
    /// Pushes to all of these at once; how often which answer came.
    private func push(to capabilities: [String], _ relay: RelayUnderTest) async throws -> [String: Int] {
        try await withThrowingTaskGroup(of: String.self) { group in
            for capability in capabilities { group.addTask { try await relay.push(capability).summary } }
            return try await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
    }

    private func phones(_ count: Int, _ platforms: [PhonePlatform], _ stage: Stage) async throws -> [String] {
        var capabilities: [String] = []
        for _ in 0..<count {
            for platform in platforms { capabilities.append(try await stage.newPhone(platform).capability) }
        }
        return capabilities
    }

    @Test func `one among healthy ones costs those that it meets their budget, and nobody who comes after`()
        async throws
    {
        try await Stage.run(["WORKERS": "1", "PUSH_BUDGET_MS": "3000"]) { stage in
            let phones = try await phones(12, PhonePlatform.allCases, stage)
            let all = phones.count
            #expect(try await push(to: phones, stage.relay) == ["202": all])
            let services: [SimulatedService] = [.apnsProduction, .fcm]
            let opened = services.map { stage.simulator.books()[$0].connectionsOpened }
            for service in services { await stage.simulator.perform(.fallSilent(.pingsOnly), on: service) }
            #expect(try await push(to: phones, stage.relay) == ["502 upstream_failed timeout": all])
            #expect(try await push(to: phones, stage.relay) == ["202": all])
            for (service, before) in zip(services, opened) {
                // One more, or two where the machine is slow and the line to the first grows long.
                #expect((1...2).contains(stage.simulator.books()[service].connectionsOpened - before))
            }
            #expect(!stage.relay.process.record.outputText.contains("breaker_opened"))
        }
    }

    @Test func `while every connection of a service is silent, few are opened`() async throws {
        try await Stage.run(["WORKERS": "1", "PUSH_BUDGET_MS": "1000"]) { stage in
            let phones = try await phones(12, [.android], stage)
            var silent = ConnectionBehaviour.usual(of: .fcm)
            silent.plan = [PlannedAct(at: .opened, [.fallSilent(.pingsOnly)])]
            stage.simulator.setBehaviour(silent, of: .fcm)
            // Until it is left alone, and once more for the probe.
            while !stage.relay.process.record.outputText.contains("breaker_opened") {
                #expect(try await push(to: phones, stage.relay) == ["502 upstream_failed timeout": phones.count])
            }
            _ = try await push(to: phones, stage.relay)
            // The first, and one in its place; the next would be five seconds later.
            #expect(stage.simulator.books()[.fcm].connectionsOpened <= 2)
        }
    }
}
