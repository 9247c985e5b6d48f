import Glibc
import PushSimulator
import Testing

/// Senders that do not wait for their answer.
@Suite(.stage(["WORKERS": "1"]), .timeLimit(.minutes(3)))
struct HangUpTests {
    @Test(arguments: [false, true], PhonePlatform.allCases)
    func `who hangs up while its push is under way has pushed once`(
        resets: Bool, platform: PhonePlatform
    ) async throws {
        let stage = try Stage.current
        let (phone, capability) = try await stage.newPhone(platform)
        stage.force(
            Fault(.answer(SimulatedAnswer(status: 200)), delivers: true, times: 1, delay: .milliseconds(300)), on: phone
        )
        let port = stage.relay.port
        try await onOwnThread {
            let client = try RawClient(port: port)
            try client.send(pushRequest(capability))
            while stage.simulator.attemptedCount(on: phone.token, platform: platform) == 0 { usleep(1000) }
            if resets { client.willReset() }
        }
        try await stage.simulator.delivered(to: phone.token, platform: platform)
        #expect(try await stage.relay.push(capability).status == 202)
        #expect(stage.notifications(for: phone).count == 2)
        #expect(!stage.notifications(for: phone).contains { $0.isDouble })
    }

    @Test func `who hangs up at once, without a reset, has pushed once`() async throws {
        let stage = try Stage.current
        let (phone, capability) = try await stage.newPhone()
        let port = stage.relay.port
        try await onOwnThread { try RawClient(port: port).send(pushRequest(capability)) }
        try await stage.simulator.delivered(to: phone.token, platform: .ios)
        #expect(try await stage.relay.push(capability).status == 202)
        #expect(stage.notifications(for: phone).count == 2)
    }

    @Test(arguments: [1, 20, 60, 150])
    func `who hangs up before the end of its request has pushed nothing`(missing: Int) async throws {
        let stage = try Stage.current
        let (phone, capability) = try await stage.newPhone()
        let port = stage.relay.port
        try await onOwnThread {
            for resets in [false, true] {
                let client = try RawClient(port: port)
                try client.send(Array(pushRequest(capability).dropLast(missing)))
                if resets { client.willReset() }
            }
        }
        // One loop: what came before this is done when this is answered.
        #expect(try await stage.relay.push(capability).status == 202)
        #expect(stage.simulator.attemptedCount(on: phone.token, platform: .ios) == 1)
    }

    @Test func `what was pushed by those who hung up is counted`() async throws {
        let directory = ScratchDirectory()
        let settings = try Stage.current.settings
        let simulator = try Stage.current.simulator
        let relay = try await RelayUnderTest(settings, in: directory)
        let phone = SimulatedPhone(.ios)
        let capability = try await relay.register(phone)
        let port = relay.port
        try await onOwnThread {
            for _ in 0..<10 {
                let client = try RawClient(port: port)
                try client.send(pushRequest(capability))
            }
        }
        try await simulator.delivered(to: phone.token, platform: .ios, count: 10)
        await relay.end()
        #expect(directory.sqlite("SELECT sum(n) FROM daily_count WHERE event = 'sent'", in: "data/push.db") == "10\n")
        #expect(simulator.deliveredCount(to: phone.token, platform: .ios) == 10)
    }
}
