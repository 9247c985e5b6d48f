import Glibc
import PushSimulator
import Testing

/// The relay where the system lets it have few files open, and more connections come than fit.
@Suite(.timeLimit(.minutes(2)))
struct DescriptorTests {
    /// Starts the program with a limit of open files, on one loop.
    private func start(
        openFiles: Int, _ settings: [String: String] = [:]
    ) async throws -> ChildProcess {
        let script = "ulimit -n \(openFiles); exec '\(try RelayUnderTest.programPath())'"
        let environment = RelayUnderTest.usual.merging(settings.merging(["WORKERS": "1"]) { $1 }) { $1 }
        return try await ChildProcess(
            "/bin/bash", arguments: ["-c", script], environment: environment, directory: ScratchDirectory())
    }

    @Test func `with as few files as it starts with, whoever is too many is told so, and all others go on`()
        async throws
    {
        try await Stage.run { stage in
            let relay = try await RelayUnderTest(
                try await start(openFiles: 64, stage.settings), in: ScratchDirectory())
            let port = relay.port
            let phone = SimulatedPhone(.ios)
            let first = try await onOwnThread { HeldClient(try RawClient(port: port)) }
            let capability = try await onOwnThread {
                try first.client.send(registrationRequest(phone))
                return try #require(try first.client.nextAnswer().json?["capability"]?.string)
            }
            let crowd = try await onOwnThread { HeldCrowd(try (0..<6).map { _ in try RawClient(port: port) }) }
            for _ in 0..<3 {
                // A connection to Apple is opened anew, for which there is still room.
                await stage.simulator.goAway(on: .apnsProduction)
                try await onOwnThread {
                    // These are seven. Each of the others hears at once that there is no more room.
                    for _ in 0..<20 { #expect(try RawClient(port: port).nextAnswer().summary == "503 overloaded") }
                    try first.client.send(pushRequest(capability))
                    #expect(try first.client.nextAnswer().status == 202)
                }
            }
            try await onOwnThread {
                crowd.clients.removeAll()
                // Whoever has been let in before the relay saw them go was still too many.
                var answer: Answer?
                while answer?.status != 200 {
                    let client = try RawClient(port: port)
                    try? client.send(request("GET", "/healthz"))
                    answer = try? client.nextAnswer()
                }
            }
            let record = await relay.end()
            #expect(record.status == 0)
            #expect(record.outputText.contains("7 connections in place of 10000"))
            #expect(!record.outputText.contains("event=accept_failed"))
            let shed = record.outputText.split(separator: "\n").filter { $0.contains("event=request_shed ") }
            // The first, and at the end how many more there were.
            #expect(shed.count == 2)
        }
    }

    @Test func `with fewer files than it needs it does not start, and says what to do`() async throws {
        let record = try await start(openFiles: 63).end()
        #expect(record.status == 1)
        #expect(record.errorText.hasPrefix("WORKERS: 1 loops need 64 open files, and no more than 63 may be open; "))
        #expect(record.errorText.split(separator: "\n").count == 1)
    }

    @Test func `when descriptors run out all the same, those that there are go on and the others wait their turn`()
        async throws
    {
        try await Stage.run(["WORKERS": "1"]) { stage in
            let relay = stage.relay
            let port = relay.port
            let (_, capability) = try await stage.newPhone()
            let began = ContinuousClock.now
            let first = try await onOwnThread { HeldClient(try RawClient(port: port)) }
            try await onOwnThread {
                try first.client.send(pushRequest(capability))
                #expect(try first.client.nextAnswer().status == 202)
            }
            // What only this can bring about: another program has taken the rest (ENFILE), or an operator lowers the limit.
            let directory = "/proc/\(relay.process.id)/fd"
            #expect(shell("prlimit --pid \(relay.process.id) --nofile=$(($(ls \(directory) | wc -l) + 2)):") == 0)
            let crowd = try await onOwnThread { HeldCrowd(try (0..<20).map { _ in try RawClient(port: port) }) }
            await relay.logged("level=error event=accept_failed ")
            try await onOwnThread {
                for client in crowd.clients { try client.send(request("GET", "/healthz")) }
                for _ in 0..<20 {
                    try first.client.send(pushRequest(capability))
                    #expect(try first.client.nextAnswer().status == 202)
                }
                // Each gets its turn as others leave.
                while !crowd.clients.isEmpty {
                    #expect(try crowd.clients.removeFirst().nextAnswer().status == 200)
                }
            }
            #expect(try await relay.health().status == 200)
            let record = await relay.end()
            let tries = (ContinuousClock.now - began) / .milliseconds(100)
            let lines = record.outputText.split(separator: "\n").filter { $0.contains("event=accept_failed ") }
            #expect(lines.first?.contains(#"reason="Too many open files""#) == true)
            // One line, and at the end how many times it was in vain: ten times a second and for each that left, and not as
            // often as it could.
            #expect((1...2).contains(lines.count))
            let heldBack = lines.dropFirst().first?.split(separator: "held_back=").last.flatMap { Int($0) } ?? 0
            #expect(Double(heldBack) < 1.1 * tries + 25)
        }
    }
}

/// Clients that one thread at a time uses, and lets go of.
private final class HeldCrowd: @unchecked Sendable {
    var clients: [RawClient]

    init(_ clients: [RawClient]) { self.clients = clients }
}
