import Glibc
import PushSimulator
import Testing

/// One relay takes another's place while senders push.
@Suite(.timeLimit(.minutes(3)))
struct SuccessionTests {
    private func counted(_ directory: ScratchDirectory) -> Int? {
        let text = directory.sqlite("SELECT sum(n) FROM daily_count WHERE event = 'sent'", in: "data/push.db")
        return Int(text.filter(\.isNumber))
    }

    /// The number of the process that the log names behind this.
    private func process(in record: ChildProcess.Record, _ words: String) -> Substring? {
        record.outputText.split(separator: "\n").first { $0.contains(words) }?.split(separator: "=").last
    }

    @Test(arguments: [["2", "2", "2"], ["1", "3", "1"]])
    func `no request fails while relays take over from one another, whatever their number of loops`(
        workers: [String]
    ) async throws {
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            var settings = stage.settings
            settings["TAKE_OVER_PORT"] = "true"
            settings["PORT"] = String(try freePort())
            settings["WORKERS"] = "2"
            // A sender that the machine keeps waiting is not to find its connection closed.
            settings["SHUTDOWN_TIMEOUT_MS"] = "60000"
            var successor: Substring?
            var relay = try await RelayUnderTest(settings, in: directory)
            let capability = try await relay.register(SimulatedPhone(.ios))
            let senders = Senders(port: relay.port, capability: capability, fresh: 4, keeping: 4)
            for number in workers {
                try await senders.accept(more: 200)
                settings["WORKERS"] = number
                let next = try await RelayUnderTest(settings, in: directory)
                #expect(next.port == relay.port)
                let record = await relay.process.end()
                #expect(record.status == 0)
                #expect(record.outputText.contains("event=handed_over "))
                #expect(record.outputText.contains("event=stopped cut_short=0"))
                let predecessor = process(in: next.process.record, "event=took_over process=")
                #expect(predecessor != nil)
                #expect(successor == nil || predecessor == successor)
                successor = process(in: record, "event=handed_over process=")
                relay = next
            }
            try await senders.accept(more: 200)
            #expect(try await senders.stop() == [])
            #expect(await relay.end().status == 0)
            #expect(counted(directory) == senders.accepted)
        }
    }

    @Test func `pushes under way in the old relay are answered by it, and a connection is kept for one request more`()
        async throws
    {
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            let old = try await RelayUnderTest(stage.settings, in: directory)
            let phone = SimulatedPhone(.ios)
            let capability = try await old.register(phone)
            #expect(try await old.push(capability).status == 202)
            let slow = Fault(
                .answer(SimulatedAnswer(status: 200)), delivers: true, times: 1, delay: .milliseconds(1500))
            stage.force(slow, on: phone)
            let port = old.port
            let idle = try await onOwnThread {
                let client = try RawClient(port: port)
                try client.send(request("GET", "/healthz"))
                #expect(try client.nextAnswer()["connection"] == nil)
                return HeldClient(client)
            }
            async let underWay = old.push(capability)
            while stage.simulator.attemptedCount(on: phone.token, platform: .ios) < 2 { await Task.yield() }
            let settings = stage.settings.merging(["TAKE_OVER_PORT": "true", "PORT": String(port)]) { $1 }
            let next = try await RelayUnderTest(settings, in: directory)
            await old.logged("event=draining")
            let answered = try await onOwnThread {
                // The line is written before the last loop has heard of it.
                var answered = 0
                var isLast = false
                while !isLast {
                    try idle.client.send(pushRequest(capability))
                    let answer = try idle.client.nextAnswer()
                    #expect(answer.status == 202)
                    answered += 1
                    isLast = answer["connection"]?.lowercased() == "close"
                }
                #expect(try idle.client.isAtEnd())
                return answered
            }
            #expect(try await underWay.status == 202)
            #expect(await old.process.end().status == 0)
            #expect(try await next.push(capability).status == 202)
            #expect(stage.simulator.deliveredCount(to: phone.token, platform: .ios) == 3 + answered)
            await next.end()
        }
    }

    @Test func `a second relay on a data directory is refused unless it is to take over`() async throws {
        let directory = ScratchDirectory()
        let first = try await RelayUnderTest([:], in: directory)
        let second = try await RelayUnderTest.spawn([:], in: directory).end()
        #expect(second.status == 1)
        #expect(second.errorText.hasPrefix("DATA_DIR: another relay runs on it"))
        #expect(second.errorText.split(separator: "\n").count == 1)
        #expect(try await first.health().status == 200)
        first.process.signal(SIGKILL)
        await first.process.end()
        // However one ends, the next one finds the directory free.
        let third = try await RelayUnderTest([:], in: directory)
        let last = try await RelayUnderTest(["TAKE_OVER_PORT": "true"], in: directory)
        #expect(last.port == third.port)
        #expect(await third.process.end().status == 0)
        #expect(await last.end().status == 0)
        #expect(try await RelayUnderTest(["TAKE_OVER_PORT": "true"], in: directory).end().status == 0)
    }

    @Test func `a relay that took over lets go of port and directory as it drains, like any other`() async throws {
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            let settings = stage.settings.merging(["PUSH_BUDGET_MS": "20000", "SHUTDOWN_TIMEOUT_MS": "20000"]) { $1 }
            let first = try await RelayUnderTest(settings, in: directory)
            let second = try await RelayUnderTest(settings.merging(["TAKE_OVER_PORT": "true"]) { $1 }, in: directory)
            #expect(await first.process.end().status == 0)
            let phone = SimulatedPhone(.ios)
            let capability = try await second.register(phone)
            stage.force(Fault(.silence, times: 1), on: phone)
            async let underWay = second.push(capability)
            try await stage.simulator.attempted(on: phone.token, platform: .ios)
            second.process.signal(SIGTERM)
            await second.logged("event=draining")
            while (try? await second.health()) != nil {}
            let third = try await RelayUnderTest(settings.merging(["PORT": String(second.port)]) { $1 }, in: directory)
            #expect(try await third.push(capability).status == 202)
            #expect(second.process.record.status == nil)
            second.process.signal(SIGTERM)
            #expect(try await underWay.summary == "503 shutting_down")
            #expect(await second.process.end().status == 0)
            await third.end()
        }
    }

    @Test func `of several that would take over at once, one is left`() async throws {
        let directory = ScratchDirectory()
        let old = try await RelayUnderTest([:], in: directory)
        let settings = ["TAKE_OVER_PORT": "true", "PORT": String(old.port)]
        let heirs = try await withThrowingTaskGroup(of: ChildProcess.self) { group in
            for _ in 0..<4 { group.addTask { try await RelayUnderTest.spawn(settings, in: directory) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(await old.process.end().status == 0)
        // Each has taken over from the one before it, or was told that somebody else does.
        for heir in heirs {
            await heir.wait { $0.outputText.contains("event=took_over ") }
        }
        func running() -> [ChildProcess] { heirs.filter { $0.record.status == nil } }
        while running().count > 1 { await Task.yield() }
        #expect(running().count == 1)
        #expect(try await old.health().status == 200)
        for heir in heirs where heir.record.status != nil {
            let record = heir.record
            #expect(record.status == 0 || record.errorText.hasPrefix("TAKE_OVER_PORT: another relay runs"))
        }
        for heir in running() {
            heir.signal(SIGTERM)
            #expect(await heir.end().status == 0)
        }
    }

    @Test func `a successor that cannot start leaves the old relay as it was`() async throws {
        let directory = ScratchDirectory()
        let taken = try await OperatedRelay([:])
        let old = try await RelayUnderTest([:], in: directory)
        let settings = ["TAKE_OVER_PORT": "true", "METRICS_PORT": String(taken.operatorPort)]
        let failed = try await RelayUnderTest.spawn(settings, in: directory).end()
        #expect(failed.status == 1)
        #expect(failed.errorText.hasPrefix("METRICS_HOST, METRICS_PORT: "))
        #expect(await old.logged("event=handover_abandoned "))
        for _ in 0..<20 { #expect(try await old.health().status == 200) }
        #expect(try await RelayUnderTest.spawn([:], in: directory).end().errorText.hasPrefix("DATA_DIR: "))
        let next = try await RelayUnderTest(["TAKE_OVER_PORT": "true"], in: directory)
        #expect(await old.process.end().status == 0)
        await next.end()
        await taken.relay.end()
    }

    @Test(arguments: ["1", "8"])
    func `a successor that is told to stop before it serves leaves the old relay as it was`(
        workers: String
    ) async throws {
        let directory = ScratchDirectory()
        let old = try await RelayUnderTest([:], in: directory)
        let settings = ["TAKE_OVER_PORT": "true", "WORKERS": workers]
        let record = try await toldToStop(settings, in: directory).end()
        #expect(record.status == 0)
        #expect(!record.outputText.contains("event=took_over"))
        #expect(await old.logged("event=handover_abandoned "))
        for _ in 0..<20 { #expect(try await old.health().status == 200) }
        let next = try await RelayUnderTest(["TAKE_OVER_PORT": "true"], in: directory)
        #expect(await old.process.end().status == 0)
        await next.end()
    }

    @Test func `a successor may listen at another address of the same port`() async throws {
        let directory = ScratchDirectory()
        let old = try await RelayUnderTest([:], in: directory)
        let settings = ["TAKE_OVER_PORT": "true", "PORT": String(old.port), "HOST": "0.0.0.0"]
        let next = try await RelayUnderTest(settings, in: directory)
        #expect(await old.process.end().status == 0)
        #expect(next.port == old.port)
        for _ in 0..<20 { #expect(try await next.health().status == 200) }
        #expect(await next.end().status == 0)
    }

    @Test func `a relay whose database was removed is not succeeded by one with an empty database`() async throws {
        let directory = ScratchDirectory()
        let old = try await RelayUnderTest([:], in: directory)
        let data = directory.path + "/data"
        #expect(unsafe unlink(data + "/push.db") == 0)
        let failed = try await RelayUnderTest.spawn(["TAKE_OVER_PORT": "true"], in: directory).end()
        #expect(failed.status == 1)
        #expect(failed.errorText.hasPrefix("TAKE_OVER_PORT: another relay runs on DATA_DIR, but push.db is not there"))
        #expect(unsafe access(data + "/push.db", F_OK) != 0)
        for _ in 0..<20 { #expect(try await old.health().status == 200) }
        await old.end()
    }

    @Test func `one that is halted is waited for in words, given up, and left as it was`() async throws {
        let directory = ScratchDirectory()
        let old = try await RelayUnderTest([:], in: directory)
        let number = old.process.id
        old.process.signal(SIGSTOP)
        let failed = try await RelayUnderTest.spawn(["TAKE_OVER_PORT": "true"], in: directory).end()
        #expect(failed.status == 1)
        let lines = failed.outputText.split(separator: "\n").filter { $0.contains("event=takeover_waiting ") }
        #expect(lines.count == 1)
        #expect(lines.first?.contains("level=warning event=takeover_waiting process=\(number) detail=") == true)
        #expect(failed.errorText.hasPrefix("TAKE_OVER_PORT: another relay runs on DATA_DIR, but it does not answer"))
        #expect(failed.errorText.contains("(process \(number))"))
        #expect(failed.errorText.split(separator: "\n").count == 1)
        old.process.signal(SIGCONT)
        for _ in 0..<20 { #expect(try await old.health().status == 200) }
        // It hands over to the next one, and has said nothing of the one that gave up.
        let next = try await RelayUnderTest(["TAKE_OVER_PORT": "true"], in: directory)
        let record = await old.process.end()
        #expect(record.status == 0)
        #expect(record.outputText.split(separator: "\n").count { $0.contains("event=handed_over ") } == 1)
        #expect(!record.outputText.contains("event=handover_abandoned"))
        await next.end()
    }

    @Test func `one that has no descriptor left for its successor waits for one, and does not spin`() async throws {
        let directory = ScratchDirectory()
        let old = try await RelayUnderTest([:], in: directory)
        #expect(shell("prlimit --pid \(old.process.id) --nofile=3:") == 0)
        let began = ContinuousClock.now
        async let next = RelayUnderTest(["TAKE_OVER_PORT": "true"], in: directory)
        await old.logged("level=error event=accept_failed ")
        // Less long than a successor waits.
        try await Task.sleep(for: .seconds(1))
        #expect(shell("prlimit --pid \(old.process.id) --nofile=1000:") == 0)
        let tries = (ContinuousClock.now - began) / .milliseconds(100)
        let record = await old.process.end()
        #expect(record.status == 0)
        let lines = record.outputText.split(separator: "\n").filter { $0.contains("event=accept_failed ") }
        #expect(lines.first?.contains(#"reason="Too many open files""#) == true)
        // At the end, how many times it was in vain.
        let heldBack = lines.last?.split(separator: "held_back=").last.flatMap { Int($0) } ?? 0
        #expect((1..<Int(1.1 * tries + 5)).contains(heldBack))
        await (try next).end()
    }

    @Test func `the operator's port changes hands too`() async throws {
        let directory = ScratchDirectory()
        let old = try await OperatedRelay([:], in: directory)
        let settings = ["TAKE_OVER_PORT": "true", "METRICS_PORT": String(old.operatorPort)]
        let next = try await RelayUnderTest(settings, in: directory)
        #expect(await old.relay.process.end().status == 0)
        #expect(try await old.scrape()["gryt_push_draining"] == 0)
        await next.end()
    }
}

/// A client that one thread at a time uses.
final class HeldClient: @unchecked Sendable {
    let client: RawClient

    init(_ client: RawClient) { self.client = client }
}
