import PushSimulator
import Testing

/// What nobody has pushed to for `IDLE_DAYS` is dropped.
@Suite(.timeLimit(.minutes(2)))
struct IdleTests {
    @Test func `who is idle is dropped once a push has shown that the clock is right, and nobody else`() async throws {
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            let before = try await RelayUnderTest(stage.settings, in: directory)
            let rung = try await before.register(SimulatedPhone(.ios))
            for _ in 0..<700 { _ = try await before.register(SimulatedPhone(.android)) }
            await before.end()
            directory.sqlite(
                """
                UPDATE device SET last_used = last_used - 119 WHERE platform = 1;
                UPDATE device SET last_used = last_used - 122 WHERE platform = 2;
                UPDATE device SET last_used = last_used + 3 WHERE id IN
                    (SELECT id FROM device WHERE platform = 2 ORDER BY id LIMIT 100);
                """, in: "data/push.db")
            func held(_ operated: OperatedRelay) async throws -> [Int?] {
                let scrape = try await operated.scrape()
                return ["ios", "android"].map { scrape[#"gryt_push_devices{platform="\#($0)"}"#] }
            }
            // One that pushes to nobody drops nobody.
            let quiet = try await OperatedRelay(stage.settings, in: directory)
            for _ in 0..<20 { #expect(try await held(quiet) == [1, 700]) }
            await quiet.relay.end()
            let operated = try await OperatedRelay(stage.settings, in: directory)
            #expect(try await held(operated) == [1, 700])
            #expect(try await operated.relay.push(rung).status == 202)
            await operated.relay.logged("event=idle_capabilities_dropped count=600")
            #expect(try await held(operated) == [1, 100])
            let log = await operated.relay.end().outputText
            #expect(log.components("event=idle_capabilities_dropped") == 1)
        }
    }
}
