import Glibc
import PushSimulator
import Testing

/// `DATA_DIR` on a disk of its own, which is full or may not be written to. The mounts are the relay's alone and gone with it.
@Suite(
    .enabled("mounting takes root") { shell("unshare --mount true 2> /dev/null") == 0 }, .timeLimit(.minutes(2)))
struct MountTests {
    /// Starts the program after a script has mounted what it is to see.
    private func spawn(
        _ mounting: String, _ settings: [String: String], in directory: ScratchDirectory
    ) async throws -> ChildProcess {
        let script = "set -e; mkdir -p data; \(mounting); exec '\(try RelayUnderTest.programPath())'"
        return try await ChildProcess(
            "/usr/bin/unshare", arguments: ["--mount", "/bin/bash", "-c", script],
            environment: RelayUnderTest.usual.merging(settings) { $1 }, directory: directory)
    }

    private static let readOnly = "mount --bind data data; mount -o remount,bind,ro data"

    @Test func `a disk that is mounted for reading only stops the start with one line, and nothing is changed`()
        async throws
    {
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            for says in [
                "DATA_DIR: cannot be used: Read-only file system; ", "DATA_DIR: push.db cannot be written to: ",
            ] {
                let record = try await spawn(Self.readOnly, stage.settings, in: directory).end()
                #expect(record.status == 1)
                #expect(record.errorText.hasPrefix(says), "\(record.errorText)")
                #expect(record.errorText.contains("mount"))
                #expect(record.errorText.split(separator: "\n").count == 1)
                let relay = try await RelayUnderTest(stage.settings, in: directory)
                _ = try await relay.register(SimulatedPhone(.ios))
                await relay.end()
            }
            #expect(directory.sqlite("SELECT n FROM device_count WHERE n > 0", in: "data/push.db") == "2\n")
        }
    }

    @Test func `a disk that has no room for the database stops the start with one line`() async throws {
        let directory = ScratchDirectory()
        let full = "mount -t tmpfs -o size=64k tmpfs data; head -c 64k /dev/zero > data/filler"
        let record = try await spawn(full, [:], in: directory).end()
        #expect(record.status == 1)
        #expect(record.errorText.hasPrefix("DATA_DIR: "), "\(record.errorText)")
        #expect(record.errorText.contains("make room"))
        #expect(record.errorText.split(separator: "\n").count == 1)
    }

    @Test func `a disk that fills up while the relay runs refuses registrations until there is room`() async throws {
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            let process = try await spawn("mount -t tmpfs -o size=4m tmpfs data", stage.settings, in: directory)
            let relay = try await RelayUnderTest(process, in: directory)
            let capability = try await relay.register(SimulatedPhone(.ios))
            // What the relay sees of the disk, from outside.
            let data = "/proc/\(process.id)/root\(directory.path)/data"
            #expect(shell("cat /dev/zero > '\(data)/filler' 2> /dev/null") != 0)
            var answer = try await relay.tryToRegister(SimulatedPhone(.ios))
            // The log may have room that was given to it before.
            while answer.status == 201 { answer = try await relay.tryToRegister(SimulatedPhone(.ios)) }
            #expect(answer.summary == "500 internal")
            await relay.logged("event=store_failed fault=full")
            for _ in 0..<20 { #expect(try await relay.push(capability).status == 202) }
            #expect(shell("rm '\(data)/filler'") == 0)
            await relay.logged("event=store_recovered")
            let other = try await relay.register(SimulatedPhone(.android))
            #expect(try await relay.push(other).status == 202)
            #expect(await relay.end().status == 0)
        }
    }
}
