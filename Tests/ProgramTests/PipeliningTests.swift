import PushSimulator
import Testing

/// Requests that stand behind one another in one segment: the relay has read each before it answers the one before.
@Suite(.timeLimit(.minutes(3)))
struct PipeliningTests {
    /// On one loop, so that the look-ups of all connections share its read transactions.
    @Test func `a capability that is taken back is unknown to the push behind that`() async throws {
        try await Stage.run(["WORKERS": "1"]) { stage in
            let port = stage.relay.port
            var phones: [SimulatedPhone] = []
            try await withThrowingTaskGroup { group in
                for _ in 0..<8 {
                    var capabilities: [String] = []
                    for _ in 0..<10 {
                        let (phone, capability) = try await stage.newPhone()
                        phones.append(phone)
                        capabilities.append(capability)
                    }
                    group.addTask { [capabilities] in
                        try await onOwnThread {
                            let client = try RawClient(port: port)
                            for capability in capabilities {
                                let removal = request("DELETE", "/v1/push", headers: [bearer(capability)])
                                try client.send(
                                    pushRequest(unknownCapability()) + removal + pushRequest(capability) + removal)
                                let answers = try (0..<4).map { _ in try client.nextAnswer().summary }
                                #expect(
                                    answers == [
                                        "404 unknown_capability", "204", "404 unknown_capability",
                                        "404 unknown_capability",
                                    ])
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(phones.allSatisfy { stage.notifications(for: $0).isEmpty })
        }
    }
}
