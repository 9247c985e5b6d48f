import Glibc
import PushSimulator
import Testing

/// `gryt-push stats`.
@Suite(.timeLimit(.minutes(1)))
struct OperatorStatsCommandTests {
    private func run(
        _ arguments: [String], _ settings: [String: String] = [:], in directory: ScratchDirectory
    ) async throws -> ChildProcess.Record {
        try await RelayUnderTest.spawn(settings, in: directory, arguments: ["stats"] + arguments).end()
    }

    @Test func `it shows what is on disk, whether the relay runs or not, and needs no credentials`() async throws {
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            let operated = try await OperatedRelay(stage.settings, in: directory)
            let capability = try await operated.relay.register(SimulatedPhone(.ios))
            _ = try await operated.relay.register(SimulatedPhone(.android))
            for _ in 0..<12 { #expect(try await operated.relay.push(capability, kind: "dm").status == 202) }
            // Written within a second.
            var record = try await run(["--json"], in: directory)
            while !record.outputText.contains(#""kind":"dm","n":12}"#) {
                record = try await run(["--json"], in: directory)
            }
            #expect(record.status == 0)
            #expect(record.errorText == "")
            let whileRunning = try await operated.ask("/stats").body
            #expect(record.outputText == whileRunning + "\n")
            await operated.relay.end()

            let wrong = ["APNS_KEY": "none", "PORT": "http", "LIMIT_PUSHES_PER_MINUTE_PER_IP": "-1"]
            #expect(try await run(["--json"], wrong, in: directory).outputText == whileRunning + "\n")
            let table = try await run([], wrong, in: directory).outputText.split(separator: "\n")
            #expect(table.count == 5)
            #expect(table.first?.contains("ios") == true)
            #expect(table.dropFirst(3).first?.hasPrefix("sum             12        0  12        0           1") == true)
            #expect(table.last == "1 iOS and 1 Android devices are registered. Days are UTC.")
        }
    }

    @Test func `without a database it says so`() async throws {
        let directory = ScratchDirectory()
        let record = try await run([], in: directory)
        #expect(record.status == 1)
        #expect(record.outputText == "")
        #expect(record.errorText == "gryt-push: data: there is no push.db yet; a relay makes one at its first start\n")
        #expect(shell("test -e '\(directory.path)/data'") != 0)
    }

    @Test func `it touches neither another program's database nor an older relay's`() async throws {
        let directory = ScratchDirectory()
        directory.write("not a database at all, and long enough to be looked at as one", to: "data/push.db")
        #expect(try await run([], in: directory).errorText.contains("push.db is not a database"))
        #expect(directory.text("data/push.db").hasPrefix("not a database"))

        let older = ScratchDirectory()
        older.write("", to: "data/none")
        older.sqlite(
            """
            CREATE TABLE devices (cap_hash TEXT PRIMARY KEY, platform TEXT NOT NULL, token TEXT NOT NULL,
                env TEXT NOT NULL, created_at INTEGER NOT NULL, last_used_at INTEGER NOT NULL);
            CREATE TABLE daily_counts (day TEXT, event TEXT, platform TEXT, kind TEXT, n INTEGER,
                PRIMARY KEY (day, event, platform, kind));
            """, in: "data/push.db")
        let before = older.bytes("data/push.db")
        let record = try await run([], in: older)
        #expect(record.status == 1)
        #expect(record.errorText.contains("an older relay's"))
        #expect(older.bytes("data/push.db") == before)
    }

    @Test(arguments: [
        ("mkdir data; mkfifo data/push.db", "push.db is not a regular file"),
        ("mkdir data; ln -s push.db data/push.db", "push.db is a link that leads nowhere: Too many levels"),
        ("mkdir data; echo log > data/push.db-wal", "push.db is missing or empty, but push.db-wal is there"),
        ("mkdir data; : > data/secret.key", "push.db is missing or empty, but secret.key is there"),
        ("mkdir data; echo x > data/push.db; chmod 0 data/push.db", "push.db cannot be read: Permission denied"),
        ("mkdir -m 0 data", "cannot be used: Permission denied"), ("touch data", "cannot be used: Not a directory"),
    ])
    func `what a start would refuse is told in its words, and waited for by nobody`(
        script: String, says: String
    ) async throws {
        let directory = ScratchDirectory()
        try #require(shell("cd '\(directory.path)' && \(script)") == 0)
        let record = try await unprivileged([:], in: directory, arguments: ["stats"]).end()
        #expect(record.status == 1)
        #expect(record.outputText == "")
        #expect(record.errorText.hasPrefix("gryt-push: data: \(says)"), "\(record.errorText)")
    }

    @Test(arguments: ["stats", "--help", "--version"])
    func `what cannot be printed is not told as printed`(command: String) async throws {
        let directory = ScratchDirectory()
        try await RelayUnderTest([:], in: directory).end()
        let record = try await ChildProcess(
            "/bin/sh", arguments: ["-c", "exec \"$0\" \(command) >/dev/full", try RelayUnderTest.programPath()],
            environment: RelayUnderTest.usual, directory: directory
        ).end()
        #expect(record.status == 1)
        #expect(record.errorText == "gryt-push: the output cannot be written: No space left on device\n")
    }

    @Test(arguments: [["--days"], ["--days", "0"], ["--days", "3661"], ["--days", "x"], ["--weekly"]])
    func `what it does not understand it says`(arguments: [String]) async throws {
        let record = try await run(arguments, in: ScratchDirectory())
        #expect(record.status == 64)
        #expect(record.errorText.hasPrefix("gryt-push: what is --"))
    }
}
