import Glibc
import PushSimulator
import Testing

/// What a relay finds at its start that it cannot go on with: one line, and nothing is changed.
@Suite(.timeLimit(.minutes(2)))
struct BadDataTests {
    /// What is done to `DATA_DIR`, in the shell, and what the line then says.
    struct Damage: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var script: String
        var says: String
        /// How the relay before it ended: a log stays when it was killed.
        var end = SIGTERM
    }

    private static let damages: [Damage] = [
        Damage(
            testDescription: "a file of garbage", script: "head -c 20000 /dev/urandom > push.db",
            says: "is not a database, or is damaged"),
        Damage(
            testDescription: "garbage, with the log of a crash", script: "head -c 20000 /dev/urandom > push.db",
            says: "damaged", end: SIGKILL),
        Damage(
            testDescription: "cut in the middle", script: "truncate -s $(($(stat -c %s push.db) / 2)) push.db",
            says: "push.db is"),
        Damage(
            testDescription: "cut within the header", script: "truncate -s 60 push.db",
            says: "is not a database, or is damaged"),
        Damage(
            testDescription: "a page overwritten",
            script: "dd if=/dev/urandom of=push.db bs=4096 seek=2 count=1 conv=notrunc 2>/dev/null",
            says: "push.db is damaged and was left as it is"),
        Damage(
            testDescription: "a directory in its place", script: "mkdir -p aside; mv push.db* aside/; mkdir push.db",
            says: "push.db is not a regular file"),
        Damage(
            testDescription: "a FIFO in its place", script: "mkdir -p aside; mv push.db* aside/; mkfifo push.db",
            says: "push.db is not a regular file"),
        Damage(
            testDescription: "gone, its log is not", script: "rm push.db", says: "push.db is missing or empty",
            end: SIGKILL
        ),
        Damage(
            testDescription: "empty, its log is not", script: ": > push.db", says: "push.db is missing or empty",
            end: SIGKILL),
        Damage(
            testDescription: "a log of garbage", script: "head -c 20000 /dev/urandom > push.db-wal",
            says: "push.db-wal is damaged", end: SIGKILL),
        Damage(
            testDescription: "the log's first sector overwritten",
            script: "dd if=/dev/urandom of=push.db-wal bs=512 count=1 conv=notrunc 2>/dev/null",
            says: "push.db-wal is damaged", end: SIGKILL),
        Damage(testDescription: "no secret", script: "rm secret.key", says: "is gone, but devices were registered"),
        Damage(testDescription: "half a secret", script: "truncate -s 30 secret.key", says: "has the wrong length"),
        Damage(testDescription: "an empty secret", script: ": > secret.key", says: "is empty"),
        Damage(
            testDescription: "another relay's secret", script: "head -c 32 /dev/urandom | xxd -p -c 64 > secret.key",
            says: "is not the one that push.db was made with"),
    ]

    @Test(arguments: damages)
    func `data that cannot be gone on with stop the start with one line, and stay as they are`(damage: Damage)
        async throws
    {
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            let first = try await RelayUnderTest(stage.settings, in: directory)
            for _ in 0..<20 { _ = try await first.register(SimulatedPhone(.android)) }
            await first.end()
            // What is registered now stands in the log until the end.
            let second = try await RelayUnderTest(stage.settings, in: directory)
            _ = try await second.register(SimulatedPhone(.ios))
            await second.end(by: damage.end)
            #expect(shell("cd '\(directory.path)/data' && \(damage.script)") == 0)
            let before = listing(directory)
            for _ in 0..<2 {
                let record = try await RelayUnderTest.spawn(stage.settings, in: directory).end()
                #expect(record.status == 1)
                let lines = record.errorText.split(separator: "\n")
                #expect(lines.count == 1, "\(lines)")
                #expect(lines.first?.hasPrefix("DATA_DIR: ") == true)
                #expect(lines.first?.contains(damage.says) == true, "\(lines)")
            }
            #expect(listing(directory) == before)
        }
    }

    @Test func `a directory that may not be written to stops the start with one line`() async throws {
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            let first = try await RelayUnderTest(stage.settings, in: directory)
            let capability = try await first.register(SimulatedPhone(.ios))
            await first.end()
            shell("chmod 500 '\(directory.path)/data'")
            let record = try await unprivileged(stage.settings, in: directory).end()
            #expect(record.status == 1)
            #expect(record.errorText.hasPrefix("DATA_DIR: push.db cannot be written to: check the owner"))
            #expect(record.errorText.split(separator: "\n").count == 1)
            shell("chmod 700 '\(directory.path)/data'")
            let last = try await RelayUnderTest(stage.settings, in: directory)
            #expect(try await last.push(capability).status == 202)
            await last.end()
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
    func `a database that belongs to another user stops the start with one line`() async throws {
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            await (try RelayUnderTest(stage.settings, in: directory)).end()
            shell("cd '\(directory.path)/data' && chown 65534 push.db && chmod 444 push.db")
            let record = try await unprivileged(stage.settings, in: directory).end()
            #expect(record.status == 1)
            #expect(record.errorText.hasPrefix("DATA_DIR: push.db cannot be written to: check the owner"))
        }
    }

    @Test func `a database that another process has for itself stops the start with one line`() async throws {
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            await (try RelayUnderTest(stage.settings, in: directory)).end()
            directory.write(
                "PRAGMA locking_mode=EXCLUSIVE;\nBEGIN EXCLUSIVE;\n.print held\n.shell while [ -e hold ]; do sleep 0.02; done\n",
                to: "holder.sql")
            directory.write("", to: "hold")
            let holder = try await ChildProcess(
                "/bin/bash", arguments: ["-c", "exec sqlite3 data/push.db < holder.sql"],
                environment: ["PATH": "/usr/bin:/bin"], directory: directory)
            await holder.wait { $0.outputText.contains("held") }
            let record = try await RelayUnderTest.spawn(stage.settings, in: directory).end()
            #expect(record.status == 1)
            #expect(
                record.errorText == "DATA_DIR: another process holds the database: end whatever else has push.db open\n"
            )
            shell("rm '\(directory.path)/hold'")
            await holder.end()
            let last = try await RelayUnderTest(stage.settings, in: directory)
            await last.end()
        }
    }

    /// Every file with its content, size and kind; not its mode, which the relay tightens.
    private func listing(_ directory: ScratchDirectory) -> String {
        let status = shell(
            """
            cd '\(directory.path)/data' && find . ! -name push.db-shm -printf '%p %y %s\\n' | sort > ../listing \
            && find . -type f ! -name push.db-shm -exec sha256sum {} + | sort >> ../listing
            """)
        #expect(status == 0)
        return directory.text("listing")
    }
}
