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

    @Test func `lines that nobody read are told of in the form of all others`() async throws {
        let directory = ScratchDirectory()
        let path = directory.path + "/log"
        try #require(unsafe mkfifo(path, 0o600) == 0)
        let log = unsafe open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        defer { close(log) }
        // F_SETPIPE_SZ: one page, which holds some thirty lines.
        try #require(fcntl(log, 1031, 4096) == 4096)
        let port = try freePort()
        let process = try await ChildProcess(
            "/bin/bash", arguments: ["-c", "exec '\(try RelayUnderTest.programPath())' > log"],
            environment: RelayUnderTest.usual.merging(["LOG_FORMAT": "json", "PORT": String(port)]) { $1 },
            directory: directory)
        while (try? RawClient(port: port)) == nil { try await Task.sleep(for: .milliseconds(10)) }
        // Each tells of itself, also where nothing has changed. Signals that meet are one.
        var text = ""
        while !text.contains("log_lines_lost") {
            for _ in 0..<100 {
                process.signal(SIGHUP)
                try await Task.sleep(for: .milliseconds(1))
            }
            text += try await onOwnThread { readAll(log) }
        }
        process.signal(SIGTERM)
        await process.end()
        let lines = text.split(separator: "\n").map { JSON(text: String($0)) }
        #expect(!lines.contains { $0 == nil })
        let lost = lines.first { $0?["event"]?.string == "log_lines_lost" }
        #expect(lost??["level"]?.string == "warning")
        #expect(lost??["count"] != nil)
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

/// What is in a pipe by now.
private func readAll(_ descriptor: Int32) -> String {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = unsafe read(descriptor, &bytes, bytes.count)
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
}
