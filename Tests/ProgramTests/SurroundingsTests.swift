import Glibc
import PushSimulator
import Testing

/// What the relay notices about its surroundings while it runs, or as it starts.
@Suite(.timeLimit(.minutes(3)))
struct SurroundingsTests {
    @Test(arguments: ["rm push.db", "cp push.db other; mv other push.db"])
    func `while the database is removed or replaced nothing is acknowledged, and pushes go on`(
        how: String
    ) async throws {
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            let operated = try await OperatedRelay(stage.settings, in: directory)
            let relay = operated.relay
            let capability = try await relay.register(SimulatedPhone(.ios))
            let dead = SimulatedPhone(.android)
            let deadCapability = try await relay.register(dead)
            #expect(try await operated.ask("/readyz").status == 200)
            #expect(try await operated.scrape()["gryt_push_database_replaced"] == 0)
            shell("cd '\(directory.path)/data' && ln push.db kept && \(how)")
            stage.simulator.declareDead(dead.token, platform: .android)
            for answer in [
                try await relay.tryToRegister(SimulatedPhone(.ios)), try await relay.remove(capability),
                try await relay.push(deadCapability),
            ] {
                #expect(answer.summary == "503 overloaded")
                #expect(answer["retry-after"] == "1")
            }
            for _ in 0..<20 { #expect(try await relay.push(capability).status == 202) }
            #expect(await relay.logged("level=error event=database_replaced "))
            let ready = try await operated.ask("/readyz")
            #expect(ready.status == 503)
            #expect(ready.body.contains("push.db was removed or replaced"))
            #expect(try await operated.scrape()["gryt_push_database_replaced"] == 1)
            shell("cd '\(directory.path)/data' && mv -f kept push.db")
            #expect(await relay.logged("event=database_back "))
            while try await operated.ask("/readyz").status != 200 { try await Task.sleep(for: .milliseconds(20)) }
            _ = try await relay.register(SimulatedPhone(.ios))
            #expect(try await relay.push(deadCapability).summary == "410 gone")
            #expect(try await relay.remove(capability).status == 204)
            await relay.end()
            let counts = directory.sqlite(
                "SELECT event, sum(n) FROM daily_count GROUP BY 1 ORDER BY 1", in: "data/push.db")
            #expect(counts == "failed|1\ngone|1\nregistered|3\nsent|20\n")
        }
    }

    @Test func `a relay on a restored database has what was restored, and nothing of what the one before refused`()
        async throws
    {
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            let old = try await RelayUnderTest(stage.settings, in: directory)
            let restored = try await old.register(SimulatedPhone(.ios))
            directory.sqlite(".backup '\(directory.path)/backup'", in: "data/push.db")
            let since = try await old.register(SimulatedPhone(.ios))
            shell("cd '\(directory.path)' && mv backup data/push.db")
            #expect(try await old.tryToRegister(SimulatedPhone(.ios)).summary == "503 overloaded")
            #expect(try await old.push(since).status == 202)
            // However it ends, for by then its log is empty.
            while !directory.bytes("data/push.db-wal").isEmpty { try await Task.sleep(for: .milliseconds(5)) }
            await old.end(by: SIGKILL)
            let next = try await RelayUnderTest(stage.settings, in: directory)
            #expect(try await next.push(restored).status == 202)
            #expect(try await next.push(since).status == 404)
            _ = try await next.register(SimulatedPhone(.ios))
            await next.end()
            #expect(directory.sqlite("PRAGMA integrity_check", in: "data/push.db") == "ok\n")
        }
    }

    @Test(.enabled(if: openFilesAllowed() > 10_500))
    func `ten thousand connections that say nothing keep nobody out, and end with the relay`() async throws {
        let settings = ["MAX_CONNECTIONS": "14000", "MAX_CONNECTIONS_PER_ADDRESS": "0", "WORKERS": "2"]
        try await Stage.run { stage in
            let relay = try await OperatedRelay(stage.settings.merging(settings) { $1 })
            let capability = try await relay.relay.register(SimulatedPhone(.ios))
            let port = relay.relay.port
            let idle = try await onOwnThread {
                raiseOpenFiles()
                return HeldClients(try (0..<10_000).map { _ in try RawClient(port: port) })
            }
            try await relay.scrape { $0["gryt_push_http_connections"] ?? 0 >= 10_000 }
            for _ in 0..<20 { #expect(try await relay.relay.push(capability).status == 202) }
            try await onOwnThread {
                try idle.clients[9_999].send(request("GET", "/healthz"))
                #expect(try idle.clients[9_999].nextAnswer().status == 200)
            }
            let record = await relay.relay.end()
            #expect(record.status == 0)
            #expect(record.outputText.contains("event=stopped cut_short=0"))
        }
    }

    @Test func `fewer connections are let in where the system lets fewer files be open, and that is told`() async throws
    {
        let directory = ScratchDirectory()
        let script = "ulimit -n 200; exec '\(try RelayUnderTest.programPath())'"
        let process = try await ChildProcess(
            "/bin/bash", arguments: ["-c", script], environment: RelayUnderTest.usual.merging(["WORKERS": "1"]) { $1 },
            directory: directory)
        let record = await process.wait { $0.outputText.contains("event=listening") }
        #expect(record.outputText.contains("level=warning event=setting name=MAX_CONNECTIONS detail="))
        #expect(record.outputText.contains("126 connections in place of 10000"))
        let port = try #require(
            record.outputText.split(separator: " ").last { $0.hasPrefix("port=") }
                .flatMap { UInt16($0.dropFirst(5).prefix { $0.isNumber }) })
        try await onOwnThread {
            let clients = try (0..<126).map { _ in try RawClient(port: port) }
            try clients[125].send(request("GET", "/healthz"))
            #expect(try clients[125].nextAnswer().status == 200)
            // The one that is too many hears so, in place of waiting.
            #expect(try RawClient(port: port).nextAnswer().error == "overloaded")
        }
        process.signal(SIGTERM)
        #expect(await process.end().status == 0)
    }
}

/// Clients that one thread at a time uses.
private final class HeldClients: @unchecked Sendable {
    let clients: [RawClient]

    init(_ clients: [RawClient]) { self.clients = clients }
}

/// How many files this process may have open, if it asks for it.
private func openFilesAllowed() -> Int {
    var limit = rlimit()
    unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return Int(clamping: limit.rlim_max)
}

/// Asks for it.
private func raiseOpenFiles() {
    var limit = rlimit()
    unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = limit.rlim_max
    unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
}
