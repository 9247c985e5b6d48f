import PushSimulator
import Testing

/// The limits, as whoever meets them sees them.
@Suite(.timeLimit(.minutes(3)))
struct LimitTests {
    /// The settings of the limits as nothing, so that the defaults hold.
    private static let defaults = [
        "LIMIT_REGISTRATIONS_PER_HOUR_PER_IP": "", "LIMIT_PUSHES_PER_MINUTE_PER_DEVICE": "",
        "LIMIT_PUSHES_PER_MINUTE_PER_IP": "",
    ]

    private func expectLimited(
        _ answer: Answer, _ code: String, limit: String, within seconds: ClosedRange<Int64>
    ) {
        expectForm(of: answer)
        #expect(answer.summary == "429 \(code)")
        #expect(answer.json?["limit"]?.string == limit)
        #expect(answer.retryAfter.map { seconds.contains($0) } == true, "\(answer.body)")
    }

    @Test func `a capability has twenty pushes a minute, others go on, and a refused push reaches nobody`()
        async throws
    {
        try await Stage.run(Self.defaults) { stage in
            let (phone, capability) = try await stage.newPhone()
            let second = try await stage.relay.register(phone)
            for _ in 0..<20 { #expect(try await stage.relay.push(capability).status == 202) }
            for _ in 0..<3 {
                expectLimited(
                    try await stage.relay.push(capability), "too_many_pushes", limit: "capability", within: 1...60)
            }
            // What an earlier check refuses is recorded in no limit, and what a limit refuses not in that limit.
            #expect(try await stage.relay.push(capability, kind: "x").summary == "400 bad_kind")
            #expect(try await stage.relay.push(second).status == 202)
            #expect(stage.notifications(for: phone).count == 21)
        }
    }

    @Test func `an address has sixty registrations an hour`() async throws {
        try await Stage.run(Self.defaults) { stage in
            // Refused ones are recorded in no limit.
            for _ in 0..<70 {
                #expect(try await stage.relay.ask("POST", "/v1/devices", body: "{}").summary == "400 bad_platform")
            }
            for _ in 0..<60 { _ = try await stage.newPhone() }
            let answer = try await stage.relay.tryToRegister(SimulatedPhone(.android))
            expectLimited(answer, "too_many_registrations", limit: "registrations", within: 3000...3600)
            let bad = try await stage.relay.ask("POST", "/v1/devices", body: "{}")
            #expect(bad.summary == "400 bad_platform")
        }
    }

    @Test func `an address has so many pushes a minute, unknown capabilities among them`() async throws {
        try await Stage.run(["LIMIT_PUSHES_PER_MINUTE_PER_IP": "10"]) { stage in
            let (phone, capability) = try await stage.newPhone()
            for _ in 0..<20 {
                #expect(try await stage.relay.push("p_short").summary == "401 missing_capability")
                #expect(try await stage.relay.push(capability, preview: "x").summary == "400 bad_preview")
            }
            for _ in 0..<5 {
                #expect(try await stage.relay.push(capability).status == 202)
                #expect(try await stage.relay.push(unknownCapability()).summary == "404 unknown_capability")
            }
            for capability in [capability, unknownCapability()] {
                expectLimited(
                    try await stage.relay.push(capability), "too_many_pushes", limit: "address", within: 1...60)
            }
            #expect(try await stage.relay.push(capability, kind: "x").summary == "400 bad_kind")
            #expect(stage.notifications(for: phone).count == 5)
            // Neither registering nor taking back is a push.
            #expect(try await stage.relay.remove(try await stage.newPhone().capability).status == 204)
        }
    }

    @Test func `twelve hundred pushes a minute is what an address has by default`() async throws {
        try await Stage.run(Self.defaults) { stage in
            let port = stage.relay.port
            let capability = unknownCapability()
            let statuses = try await onOwnThread {
                let client = try RawClient(port: port)
                var statuses: [Int: Int] = [:]
                for _ in 0..<1250 {
                    try client.send(pushRequest(capability))
                    statuses[try client.nextAnswer().status, default: 0] += 1
                }
                return statuses
            }
            // More than a minute cannot have gone by: the suite's own limit would have ended it.
            #expect(statuses == [404: 1200, 429: 50])
        }
    }

    @Test func `a limit holds over all loops and connections together`() async throws {
        try await Stage.run(["LIMIT_PUSHES_PER_MINUTE_PER_DEVICE": "20", "WORKERS": "4"]) { stage in
            let (phone, capability) = try await stage.newPhone()
            let relay = stage.relay
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<60 { group.addTask { try await relay.push(capability).status } }
                return try await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
            }
            #expect(statuses == [202: 20, 429: 40])
            #expect(stage.notifications(for: phone).count == 20)
        }
    }

    @Test func `a server rings its five thousand users within a minute, given the limit that is said to fit`()
        async throws
    {
        let users = 5000
        let settings = ["LIMIT_PUSHES_PER_MINUTE_PER_DEVICE": "", "LIMIT_PUSHES_PER_MINUTE_PER_IP": String(users)]
        try await Stage.run(settings) { stage in
            let port = stage.relay.port
            let connections = 20
            let rung = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<connections {
                    group.addTask {
                        try await onOwnThread {
                            let client = try RawClient(port: port)
                            var accepted = 0
                            for number in 0..<(users / connections) {
                                try client.send(registrationRequest(SimulatedPhone(number % 2 == 0 ? .ios : .android)))
                                let answer = try client.nextAnswer()
                                let capability = try #require(answer.json?["capability"]?.string)
                                try client.send(pushRequest(capability))
                                accepted += try client.nextAnswer().status == 202 ? 1 : 0
                            }
                            return accepted
                        }
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(rung == users)
        }
    }

    @Test func `0 turns a limit off`() async throws {
        try await Stage.run { stage in
            let port = stage.relay.port
            let (phone, capability) = try await stage.newPhone()
            let body = Array(#"{"platform":"ios","token":"\#(phone.token)"}"#.utf8)
            try await onOwnThread {
                let client = try RawClient(port: port)
                for _ in 0..<100 {
                    try client.send(request("POST", "/v1/devices", body: body))
                    #expect(try client.nextAnswer().status == 201)
                    try client.send(pushRequest(capability))
                    #expect(try client.nextAnswer().status == 202)
                }
                for _ in 0..<1300 {
                    try client.send(pushRequest("p_" + String(repeating: "A", count: 43)))
                    #expect(try client.nextAnswer().status == 404)
                }
            }
        }
    }
}
