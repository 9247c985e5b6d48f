import Glibc
import PushSimulator
import Testing

/// What the log says to whoever runs the relay, and what it does not.
@Suite(.timeLimit(.minutes(1)))
struct OperatorLogTests {
    @Test func `at the default level no push, no refusal and no health check has a line`() async throws {
        try await Stage.run { stage in
            let operated = try await OperatedRelay(stage.settings.merging(["LOG_LEVEL": "info"]) { $1 })
            let relay = operated.relay
            let capabilities = [
                try await relay.register(SimulatedPhone(.ios)), try await relay.register(SimulatedPhone(.android)),
            ]
            for capability in capabilities { #expect(try await relay.push(capability).status == 202) }
            await relay.logged("event=credentials_accepted platform=ios")
            await relay.logged("event=credentials_accepted platform=android")
            let before = relay.process.record.outputText
            for _ in 0..<20 {
                for capability in capabilities { #expect(try await relay.push(capability).status == 202) }
                #expect(try await relay.health().status == 200)
                #expect(try await operated.ask("/livez").status == 200)
                #expect(try await operated.ask("/readyz").status == 200)
                #expect(try await operated.ask("/metrics").status == 200)
                #expect(try await relay.push(unknownCapability()).status == 404)
                #expect(try await relay.ask("POST", "/v1/push", body: "{").status == 401)
            }
            // Connections may still open on the other loop; nothing else is worth a line.
            let written = relay.process.record.outputText.dropFirst(before.count)
            for line in written.split(separator: "\n") { #expect(line.contains("event=connection_opened"), "\(line)") }
            await relay.end()
        }
    }

    @Test func `a storm of failures leaves the first line of its kind and a count`() async throws {
        try await Stage.run { stage in
            let operated = try await OperatedRelay(stage.settings.merging(["LOG_LEVEL": "info"]) { $1 })
            let relay = operated.relay
            let phone = SimulatedPhone(.ios)
            let capability = try await relay.register(phone)
            stage.force(Fault(.refuse(status: 400, reason: "PayloadEmpty")), on: phone)
            for _ in 0..<100 { #expect(try await relay.push(capability).status == 502) }
            let log = await relay.end().outputText
            let lines = log.split(separator: "\n").filter {
                $0.contains(#"event=push_service_refused about="ios malformed""#)
            }
            #expect(lines.count == 2)
            #expect(lines.last?.hasSuffix(" held_back=99") == true, "\(lines)")
        }
    }

    @Test func `in JSON every line is an object with time, level and event, from start to stop`() async throws {
        try await Stage.run { stage in
            let directory = ScratchDirectory()
            let settings = stage.settings.merging(["LOG_FORMAT": "json"]) { $1 }
            let process = try await RelayUnderTest.spawn(settings, in: directory)
            await process.wait { $0.outputText.contains(#""event":"listening""#) }
            process.signal(SIGHUP)
            await process.wait { $0.outputText.contains(#""event":"reloaded""#) }
            process.signal(SIGTERM)
            let record = await process.end()
            #expect(record.status == 0)
            let lines = record.outputText.split(separator: "\n").map { JSON(text: String($0)) }
            var events: [String] = []
            for line in lines {
                #expect(line?["time"]?.string?.hasSuffix("Z") == true)
                #expect(["debug", "info", "warning", "error"].contains(line?["level"]?.string))
                events.append(line?["event"]?.string ?? "?")
            }
            #expect(events == ["starting", "secret_made", "listening", "reloaded", "draining", "stopped"])
            // Settings are told, secrets only as being set.
            #expect(lines.first??["apns"]?.string == "set")
            #expect(lines.first??["fcm"]?.string == "set")
            #expect(!record.outputText.contains("SIMKEY0001"))
            #expect(!record.outputText.contains("PRIVATE KEY"))
        }
    }
}
