import Glibc
import PushSimulator
import Testing

/// The relay under a service manager that hands it sockets and wants to hear from it, as systemd does.
@Suite(.timeLimit(.minutes(3)))
struct ServiceManagerTests {
    @Test func `no request fails while relays follow one another on a socket that the manager keeps`() async throws {
        let directory = ScratchDirectory()
        let (descriptor, port) = try loopbackListener()
        defer { close(descriptor) }
        try await Stage.run { stage in
            // PORT says otherwise, and the socket counts.
            let settings = stage.settings.merging(["LISTEN_FDS": "1", "LISTEN_PID": "$$", "PORT": "1"]) { $1 }
            var relay = try await RelayUnderTest(settings, in: directory, handing: [descriptor])
            #expect(relay.port == port)
            let capability = try await relay.register(SimulatedPhone(.ios))
            let senders = Senders(port: port, capability: capability, fresh: 4, keeping: 4)
            for _ in 0..<3 {
                try await senders.accept(more: 200)
                #expect(await relay.end().status == 0)
                relay = try await RelayUnderTest(settings, in: directory, handing: [descriptor])
            }
            try await senders.accept(more: 200)
            #expect(try await senders.stop() == [])
            await relay.end()
            let sum = directory.sqlite("SELECT sum(n) FROM daily_count WHERE event = 'sent'", in: "data/push.db")
            #expect(sum == "\(senders.accepted)\n")
        }
    }

    @Test func `sockets are told apart by name, and those of another process are not looked at`() async throws {
        let (first, publicPort) = try loopbackListener()
        let (second, operatorPort) = try loopbackListener()
        defer {
            close(first)
            close(second)
        }
        let settings = ["LISTEN_FDS": "2", "LISTEN_PID": "$$", "LISTEN_FDNAMES": "web:operator"]
        let relay = try await RelayUnderTest(settings, handing: [first, second])
        #expect(relay.port == publicPort)
        await relay.logged("event=operator_listening")
        let answer = try await onOwnThread {
            let client = try RawClient(port: operatorPort)
            try client.send(request("GET", "/livez"))
            return try client.nextAnswer()
        }
        #expect(answer.status == 200)
        await relay.end()
        let other = try await RelayUnderTest(["LISTEN_FDS": "2", "LISTEN_PID": "1"], handing: [first, second])
        #expect(other.port != publicPort)
        await other.end()
    }

    @Test(arguments: [false, true])
    func `the manager hears when the relay is ready, reloads and stops`(isAbstract: Bool) async throws {
        let directory = ScratchDirectory()
        let path = isAbstract ? "@gryt-test-\(getpid())" : directory.path + "/notify"
        let manager = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(manager) }
        try #require(bindUnix(manager, path))
        let relay = try await RelayUnderTest(["NOTIFY_SOCKET": path], in: directory)
        #expect(try await onOwnThread { nextMessage(manager) } == "READY=1")
        relay.process.signal(SIGHUP)
        let reloading = try await onOwnThread { nextMessage(manager) }.split(separator: "\n")
        #expect(reloading.first == "RELOADING=1")
        #expect(reloading.last.map { Int($0.dropFirst("MONOTONIC_USEC=".count)) ?? 0 > 0 } == true)
        #expect(try await onOwnThread { nextMessage(manager) } == "READY=1")
        relay.process.signal(SIGTERM)
        #expect(try await onOwnThread { nextMessage(manager) } == "STOPPING=1")
        await relay.process.end()
    }

    /// What a machine shows that was suspended for a million seconds, which systemd does not count.
    @Test(.enabled("no time name space without root") { shell("unshare --time true 2> /dev/null") == 0 })
    func `the moment of a reload is on the manager's clock, which stood still in a suspension`() async throws {
        let directory = ScratchDirectory()
        let manager = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(manager) }
        try #require(bindUnix(manager, directory.path + "/notify"))
        let relay = try await ChildProcess(
            "/usr/bin/unshare", arguments: ["--time", "--boottime", "1000000", try RelayUnderTest.programPath()],
            environment: RelayUnderTest.usual.merging(["NOTIFY_SOCKET": directory.path + "/notify"]) { $1 },
            directory: directory)
        #expect(try await onOwnThread { nextMessage(manager) } == "READY=1")
        let before = microsecondsNow()
        relay.signal(SIGHUP)
        let reloading = try await onOwnThread { nextMessage(manager) }.split(separator: "=")
        let moment = try #require(reloading.last.flatMap { Int($0) })
        #expect((before...microsecondsNow()).contains(moment))
        relay.signal(SIGTERM)
        #expect(await relay.end().status == 0)
    }

    private func bindUnix(_ descriptor: Int32, _ path: String) -> Bool {
        var bytes = Array(path.utf8)
        let isAbstract = bytes.first == UInt8(ascii: "@")
        if isAbstract { bytes[0] = 0 }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        return unsafe withUnsafeBytes(of: address) { raw in
            unsafe bind(
                descriptor, raw.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                socklen_t(2 + bytes.count + (isAbstract ? 0 : 1))) == 0
        }
    }
}

/// The clock that sd_notify(3) speaks of.
private func microsecondsNow() -> Int {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1_000_000 + time.tv_nsec / 1000
}

/// Waits for one datagram.
private func nextMessage(_ descriptor: Int32) -> String {
    var buffer = [UInt8](repeating: 0, count: 512)
    let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
    return String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self)
}
