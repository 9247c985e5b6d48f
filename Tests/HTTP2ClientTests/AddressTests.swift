import Glibc
import Synchronization
import Testing

@testable import HTTP2Client

/// Names, addresses and what becomes of those that are dead, with name servers of the test's own.
@Suite(.timeLimit(.minutes(1)))
struct AddressTests {
    private let authority = TestAuthority()
    /// A name that no name server knows (RFC 6761), and that certificates here are for.
    private static let name = "origin.invalid"

    private func with(
        _ change: (inout HTTP2PoolConfiguration) -> Void = { _ in }, resolve: @escaping Resolve,
        body: @Sendable (PoolFixture) async throws -> Void
    ) async throws {
        var configuration = HTTP2PoolConfiguration()
        configuration.openingInterval = .milliseconds(1)
        change(&configuration)
        let settings = configuration
        try await PoolFixture.with(
            port: 443, host: Self.name, rootFile: authority.rootFile, settings, resolve: resolve, body: body)
    }

    private func identity() -> TestAuthority.Identity { authority.issue(names: "DNS:\(Self.name)") }

    /// A peer that answers everything with 200 and the number of the connection.
    private func peer(_ manner: ScriptedPeer.Manner = .init()) -> ScriptedPeer {
        ScriptedPeer(identity(), manner) { peer in
            try peer.begin()
            while true { try peer.answer(peer.nextRequest(), status: 200 + peer.number) }
        }
    }

    @Test func `the name servers are asked anew for each connection, and their new answer is followed`() async throws {
        let (old, new) = (peer(), peer())
        defer { for peer in [old, new] { peer.stop() } }
        let asked = Mutex(0)
        try await with(resolve: { endpoint in
            #expect(endpoint.host == Self.name)
            let count = asked.withLock { count in
                count += 1
                return count
            }
            return addresses(("127.0.0.1", count == 1 ? old.port : new.port))
        }) { fixture in
            for _ in 0..<2 {
                let response = try await fixture.send().get()
                #expect(response.status == 201)
                #expect(await fixture.send().map(\.status) == .success(201))
                await fixture.pool.retire(response.connection)
                await fixture.waitUntil { $0.open + $0.draining == 0 }
            }
            #expect(old.accepted == 1 && new.accepted == 1)
            #expect(asked.withLock { $0 } == 2)
        }
    }

    @Test func `a first address that swallows everything costs no more than its head start`() async throws {
        let hole = try BlackHole()
        let peer = peer()
        defer { peer.stop() }
        try await with(resolve: { _ in addresses(("::1", hole.port), ("127.0.0.1", peer.port)) }) { fixture in
            #expect(await fixture.send(timeout: .seconds(5)).map(\.status) == .success(201))
        }
    }

    @Test(arguments: [false, true])
    func `a first address that is dead gives way to the next, and is not tried first again for a while`(
        listensAgain: Bool
    ) async throws {
        let (dead, alive) = (peer(.init(isIPv6: true, listensLater: true)), peer())
        defer { for peer in [dead, alive] { peer.stop() } }
        try await with(resolve: { _ in addresses(("::1", dead.port), ("127.0.0.1", alive.port)) }) { fixture in
            let response = try await fixture.send().get()
            #expect(response.status == 201)
            if listensAgain { dead.beginToListen() }
            await fixture.pool.retire(response.connection)
            #expect(await fixture.send().map(\.status) == .success(202))
            #expect(dead.accepted == 0 && alive.accepted == 2)
        }
        if !listensAgain { dead.beginToListen() }
    }

    @Test func `an address by which TLS never stands gives way to the next`() async throws {
        let (mute, alive) = (peer(.init(shakesHands: false, isIPv6: true)), peer())
        defer { for peer in [mute, alive] { peer.stop() } }
        let resolve: Resolve = { _ in addresses(("::1", mute.port), ("127.0.0.1", alive.port)) }
        try await with(
            {
                $0.tlsTimeout = .milliseconds(200)
                $0.backoffFirst = .milliseconds(1)
                $0.attemptsAtOnce = 1
            }, resolve: resolve
        ) { fixture in
            #expect(await fixture.send().map(\.status) == .failure(.unreachable(.tlsTimeout)))
            // By the next attempt, or one after it where this machine is slow: never by the first address again and again.
            while (try? await fixture.send().get()) == nil {}
            #expect(alive.accepted > 0 && mute.accepted > 0)
        }
    }

    @Test func `where TLS hangs by one address the next attempt goes by another, in time for the request`() async throws
    {
        let (mute, alive) = (peer(.init(shakesHands: false, isIPv6: true)), peer())
        defer { for peer in [mute, alive] { peer.stop() } }
        try await with(
            { $0.besideAfter = .milliseconds(200) },
            resolve: { _ in addresses(("::1", mute.port), ("127.0.0.1", alive.port)) }
        ) { fixture in
            #expect(await fixture.send(timeout: .seconds(5)).map(\.status) == .success(201))
        }
    }

    @Test func `when every address swallows everything the attempt ends with its time`() async throws {
        let hole = try BlackHole()
        try await with({ $0.connectTimeout = .milliseconds(50) }, resolve: { _ in addresses(("::1", hole.port)) }) {
            fixture in
            #expect(await fixture.send().map(\.status) == .failure(.unreachable(.connectTimeout)))
        }
    }

    @Test func `name servers that do not answer end with their time, and whatever they say later is forgotten`()
        async throws
    {
        let mayAnswer = Mutex(false)
        let hasAnswered = Mutex(false)
        try await with({ $0.resolveTimeout = .milliseconds(50) }) { _ in
            while !mayAnswer.withLock({ $0 }) { usleep(1000) }
            hasAnswered.withLock { $0 = true }
            return addresses(("127.0.0.1", 1))
        } body: { fixture in
            #expect(await fixture.send().map(\.status) == .failure(.unreachable(.nameTimeout)))
            mayAnswer.withLock { $0 = true }
            while !hasAnswered.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(2)) }
            #expect(await fixture.pool.snapshot().lastFault == .nameTimeout)
        }
    }

    @Test func `a socket is told to notice a peer that has vanished, and not to gather small writes`() throws {
        let port = try #require(LoopbackPort(isIPv6: false))
        #expect(listen(port.socket, 1) == 0)
        let address = try #require(
            try SocketAddress.all(of: "127.0.0.1", port: port.port, onlyLiteral: true).get().first)
        let socket = try address.startConnecting()
        func option(_ level: Int32, _ name: Int32) -> Int32 {
            var value: Int32 = -1
            var length = socklen_t(MemoryLayout<Int32>.size)
            unsafe getsockopt(socket, level, name, &value, &length)
            return value
        }
        let tcp = Int32(IPPROTO_TCP)
        #expect(option(SOL_SOCKET, SO_KEEPALIVE) == 1)
        #expect(option(tcp, TCP_KEEPIDLE) == 60)
        #expect(option(tcp, TCP_KEEPINTVL) == 15)
        #expect(option(tcp, TCP_KEEPCNT) == 4)
        #expect(option(tcp, TCP_USER_TIMEOUT) == 25_000)
        #expect(option(tcp, TCP_NODELAY) != 0)
        #expect(fcntl(socket, F_GETFD) & FD_CLOEXEC != 0)
        close(socket)
        close(port.socket)
    }
}

/// A port of `::1` that lets connections hang: its line of unaccepted ones is full, and stays so.
private final class BlackHole: Sendable {
    let port: UInt16
    private let sockets: [Int32]

    init() throws {
        let hanging = try #require(LoopbackPort(isIPv6: true))
        #expect(listen(hanging.socket, 0) == 0)
        port = hanging.port
        let address = try #require(try SocketAddress.all(of: "::1", port: port, onlyLiteral: true).get().first)
        sockets = try [hanging.socket] + (0..<4).map { _ in try address.startConnecting() }
    }

    deinit { for socket in sockets { close(socket) } }
}

@Suite(.timeLimit(.minutes(1)))
struct AddressMemoryTests {
    private let start = Moment(nanoseconds: 1_000_000_000)

    private func address(_ number: UInt8) -> SocketAddress { SocketAddress(placeholder: number, isIPv6: false) }

    @Test func `an address is behind the others for a minute after it was of no use, or until it is of use again`() {
        var memory = AddressMemory()
        memory.found(address(1), isUseful: false, now: start)
        memory.found(address(2), isUseful: false, now: start + .seconds(30))
        #expect(memory.useless(now: start + .milliseconds(59_999)) == [address(1), address(2)])
        #expect(memory.useless(now: start + .seconds(60)) == [address(2)])
        memory.found(address(2), isUseful: true, now: start + .seconds(60))
        #expect(memory.useless(now: start + .seconds(60)).isEmpty)
    }

    @Test func `no more addresses are remembered than the bound, the latest of them`() {
        var memory = AddressMemory()
        for number in 0..<200 {
            memory.found(address(UInt8(number)), isUseful: false, now: start + .milliseconds(number))
        }
        let kept = memory.useless(now: start + .seconds(1))
        #expect(kept.count == AddressMemory.limit)
        #expect(kept.contains(address(199)) && !kept.contains(address(135)))
    }
}
