import Glibc
import PushSimulator
import Testing

/// A running relay whose disk goes bad, and is mended again.
@Suite(.timeLimit(.minutes(2)))
struct BadDiskTests {
    /// Lets files of the relay grow no further: what a full disk is to it, without filling one.
    private func limitFiles(of relay: RelayUnderTest, to bytes: String) {
        #expect(shell("prlimit --pid \(relay.process.id) --fsize=\(bytes):") == 0)
    }

    @Test func `on a full disk pushes go on, nothing is acknowledged that is not written, and it mends by itself`()
        async throws
    {
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            let operated = try await OperatedRelay(stage.settings, in: directory)
            let relay = operated.relay
            let phones = (0..<4).map { _ in SimulatedPhone(.ios) }
            var capabilities: [String] = []
            for phone in phones { capabilities.append(try await relay.register(phone)) }
            #expect(try await operated.ask("/readyz").status == 200)

            limitFiles(of: relay, to: "0")
            for _ in 0..<20 {
                #expect(try await relay.tryToRegister(SimulatedPhone(.android)).summary == "500 internal")
            }
            #expect(try await relay.remove(capabilities[0]).summary == "500 internal")
            // Neither has happened.
            for capability in capabilities { #expect(try await relay.push(capability).status == 202) }
            // Apple calls it dead; it cannot be forgotten yet, and its sender must come again.
            stage.simulator.declareDead(phones[1].token, platform: .ios)
            #expect(try await relay.push(capabilities[1]).summary == "500 internal")
            let ready = try await operated.ask("/readyz")
            #expect(ready.status == 503)
            #expect(ready.body.contains(#"{"name":"store","ok":false,"#) && ready.body.contains("the disk is full"))
            #expect(try await relay.health().status == 200)
            #expect(try await operated.scrape()["gryt_push_store_up"] == 0)

            limitFiles(of: relay, to: "unlimited")
            // Nobody asks anything of the store.
            while try await operated.ask("/readyz").status != 200 { try await Task.sleep(for: .milliseconds(20)) }
            await relay.logged("event=store_recovered")
            let again = try await relay.register(SimulatedPhone(.android))
            #expect(try await relay.push(again).status == 202)
            #expect(try await relay.remove(capabilities[0]).status == 204)
            #expect(try await relay.push(capabilities[1]).summary == "410 gone")
            let record = await relay.end()
            #expect(record.status == 0)
            // One line when it began; the rest are counted.
            let lines = record.outputText.split(separator: "\n").filter { $0.contains("event=store_failed fault=full") }
            #expect((1...2).contains(lines.count), "\(lines)")
            #expect(lines.first?.contains("level=error") == true)
            #expect(lines.first?.contains("the disk is full") == true)

            let counts = directory.sqlite(
                "SELECT event, platform, sum(n) FROM daily_count GROUP BY 1, 2 ORDER BY 1, 2", in: "data/push.db")
            #expect(
                counts.split(separator: "\n").map { String($0) } == [
                    "failed|ios|1", "gone|ios|1", "registered|android|1", "registered|ios|4", "sent|android|1",
                    "sent|ios|4",
                ])
            #expect(directory.sqlite("SELECT n FROM device_count ORDER BY platform", in: "data/push.db") == "2\n1\n")
            #expect(directory.sqlite("PRAGMA integrity_check", in: "data/push.db") == "ok\n")
        }
    }

    @Test func `a relay that ends while its disk is full says how many counts are lost, and loses nothing else`()
        async throws
    {
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            let relay = try await RelayUnderTest(stage.settings, in: directory)
            let capability = try await relay.register(SimulatedPhone(.ios))
            // Written within a second, without which it would be among the lost.
            while directory.sqlite("SELECT count(*) FROM daily_count", in: "data/push.db") == "0\n" {
                try await Task.sleep(for: .milliseconds(20))
            }
            limitFiles(of: relay, to: "0")
            for _ in 0..<3 { #expect(try await relay.push(capability).status == 202) }
            let record = await relay.end()
            #expect(record.status == 0)
            #expect(record.outputText.contains("level=error event=counts_lost count=3"))
            let next = try await RelayUnderTest(stage.settings, in: directory)
            #expect(try await next.push(capability).status == 202)
            await next.end()
            let counts = directory.sqlite("SELECT event, sum(n) FROM daily_count GROUP BY 1", in: "data/push.db")
            #expect(counts == "registered|1\nsent|1\n")
        }
    }

    @Test func `a second signal ends a relay that waits for its disk, and says that counts are in doubt`() async throws
    {
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            let relay = try await RelayUnderTest(stage.settings, in: directory)
            let capability = try await relay.register(SimulatedPhone(.ios))
            while directory.sqlite("SELECT count(*) FROM daily_count", in: "data/push.db") == "0\n" {
                try await Task.sleep(for: .milliseconds(20))
            }
            let other = try await Holder(of: "data/push.db", in: directory, "BEGIN IMMEDIATE;")
            for _ in 0..<3 { #expect(try await relay.push(capability).status == 202) }
            let (port, process) = (relay.port, relay.process)
            try await onOwnThread {
                let idle = try RawClient(port: port)
                process.signal(SIGTERM)
                // Then nobody is left to be answered, and the counts are waited for, five seconds long.
                #expect(try idle.isAtEnd())
            }
            process.signal(SIGTERM)
            let record = await process.end()
            #expect(record.status == 0)
            #expect(record.outputText.contains("event=hurrying"))
            #expect(record.outputText.contains("level=error event=counts_in_doubt "))
            #expect(!record.outputText.contains("event=counts_lost"))
            #expect(record.outputText.contains("event=stopped cut_short=0"))
            await other.end()
            // Nothing else was lost.
            let next = try await RelayUnderTest(stage.settings, in: directory)
            #expect(try await next.push(capability).status == 202)
            await next.end()
            #expect(directory.sqlite("PRAGMA integrity_check", in: "data/push.db") == "ok\n")
        }
    }

    @Test func `while another process holds the database pushes go on, and whoever writes may come again`() async throws
    {
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            let operated = try await OperatedRelay(stage.settings, in: directory)
            let relay = operated.relay
            let capability = try await relay.register(SimulatedPhone(.ios))
            let other = try await Holder(of: "data/push.db", in: directory, "BEGIN IMMEDIATE;")
            for _ in 0..<20 { #expect(try await relay.push(capability).status == 202) }
            for answer in [
                try await relay.tryToRegister(SimulatedPhone(.ios)), try await relay.remove(capability),
            ] {
                #expect(answer.summary == "503 overloaded")
                #expect(answer["retry-after"] == "1")
            }
            #expect(try await relay.push(capability).status == 202)
            #expect(try await operated.ask("/readyz").status == 503)
            await relay.logged("event=store_failed fault=busy")
            await other.end()
            while try await operated.ask("/readyz").status != 200 { try await Task.sleep(for: .milliseconds(20)) }
            _ = try await relay.register(SimulatedPhone(.ios))
            #expect(try await relay.remove(capability).status == 204)
            await relay.end()
            let counts = directory.sqlite(
                "SELECT event, sum(n) FROM daily_count GROUP BY 1 ORDER BY 1", in: "data/push.db")
            #expect(counts == "registered|2\nsent|21\n")
        }
    }

    @Test func `whoever waits for the disk leaves half of the connections to pushes`() async throws {
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            let settings = stage.settings.merging(["MAX_CONNECTIONS": "8", "WORKERS": "1"]) { $1 }
            let relay = try await RelayUnderTest(settings, in: directory)
            let capability = try await relay.register(SimulatedPhone(.ios))
            let other = try await Holder(of: "data/push.db", in: directory, "BEGIN IMMEDIATE;")
            let summaries = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<7 {
                    group.addTask { try await relay.tryToRegister(SimulatedPhone(.ios)).summary }
                }
                #expect(try await relay.push(capability).status == 202)
                // Two are on their way to the disk at most, and two wait.
                await relay.logged("event=store_failed fault=overloaded")
                // What was never registered is told from what is, and waits for nobody.
                let nobodys = "p_" + String(repeating: "A", count: 43)
                #expect(try await relay.remove(nobodys).summary == "404 unknown_capability")
                #expect(try await relay.push(capability).status == 202)
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(summaries == Array(repeating: "503 overloaded", count: 7))
            await other.end()
        }
    }

    /// What an operator may do with the `sqlite3` program on a database in use.
    @Test(arguments: [
        "BEGIN EXCLUSIVE;", "PRAGMA locking_mode=EXCLUSIVE; BEGIN IMMEDIATE;", "BEGIN; SELECT count(*) FROM device;",
        "PRAGMA journal_mode=DELETE;", "PRAGMA wal_checkpoint(TRUNCATE);", "VACUUM;",
    ])
    func `whatever another process does with the database, no push waits for it or fails`(sql: String) async throws {
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            let relay = try await RelayUnderTest(stage.settings, in: directory)
            let capability = try await relay.register(SimulatedPhone(.ios))
            let other = try await Holder(of: "data/push.db", in: directory, sql)
            for _ in 0..<20 { #expect(try await relay.push(capability).status == 202) }
            await other.end()
            // It is the same database as before, and takes registrations.
            while try await relay.tryToRegister(SimulatedPhone(.ios)).status != 201 {
                try await Task.sleep(for: .milliseconds(20))
            }
            #expect(try await relay.push(capability).status == 202)
            await relay.end()
            #expect(directory.sqlite("PRAGMA journal_mode", in: "data/push.db") == "wal\n")
        }
    }

    @Test func `what was acknowledged before the process was killed in the middle of writes is there`() async throws {
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            var known: [String] = []
            for round in 1...4 {
                let relay = try await RelayUnderTest(stage.settings, in: directory)
                for capability in known { #expect(try await relay.push(capability).status == 202) }
                let acknowledged = await withTaskGroup(of: [String].self) { group in
                    for _ in 0..<4 {
                        group.addTask {
                            var mine: [String] = []
                            // Until the relay is gone.
                            while let capability = try? await relay.register(SimulatedPhone(.ios)) {
                                mine.append(capability)
                                if mine.count == 5 * round { relay.process.signal(SIGKILL) }
                            }
                            return mine
                        }
                    }
                    return await group.reduce(into: []) { $0 += $1 }
                }
                #expect(await relay.process.end().status == -SIGKILL)
                #expect(!directory.bytes("data/push.db-wal").isEmpty)
                known += acknowledged
                // The index of the log is made anew from the log itself, whatever became of it.
                switch round {
                case 1: shell("rm '\(directory.path)/data/push.db-shm'")
                case 2: directory.write(String(repeating: "garbage ", count: 4096), to: "data/push.db-shm")
                default: break
                }
            }
            let last = try await RelayUnderTest(stage.settings, in: directory)
            for capability in known { #expect(try await last.push(capability).status == 202) }
            await last.end()
            #expect(directory.sqlite("PRAGMA integrity_check", in: "data/push.db") == "ok\n")
            // A registration whose answer was lost may be there; none is there in half.
            let rows = directory.sqlite(
                "SELECT count(*) FROM device UNION ALL SELECT sum(n) FROM device_count", in: "data/push.db")
            let numbers = rows.split(separator: "\n").compactMap { Int($0) }
            #expect(numbers.count == 2 && numbers[0] == numbers[1] && numbers[0] >= known.count)
        }
    }
}

/// The `sqlite3` program with a database open, in a process of its own.
private final class Holder: Sendable {
    private let process: ChildProcess
    private let directory: ScratchDirectory

    /// Runs the statements, and keeps the connection, and what it holds, until ``end()``.
    init(of database: String, in directory: ScratchDirectory, _ sql: String) async throws {
        self.directory = directory
        directory.write("", to: "hold")
        directory.write(
            ".bail off\n\(sql)\n.print held\n.shell while [ -e hold ]; do sleep 0.02; done\n", to: "holder.sql")
        process = try await ChildProcess(
            "/bin/bash", arguments: ["-c", "exec sqlite3 '\(database)' < holder.sql"],
            environment: ["PATH": "/usr/bin:/bin"], directory: directory)
        await process.wait { $0.outputText.contains("held") }
    }

    func end() async {
        shell("rm '\(directory.path)/hold'")
        await process.end()
    }
}
