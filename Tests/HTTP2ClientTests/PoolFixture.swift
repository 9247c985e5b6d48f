import EventLoops
import Synchronization
import Testing

@testable import HTTP2Client

/// A loop, a pool on it and the events it told, for the length of one test.
final class PoolFixture: Sendable {
    let loop: EventLoop
    let pool: HTTP2Pool
    private let told = Mutex<[HTTP2ConnectionEvent]>([])

    /// What the pool told so far.
    var events: [HTTP2ConnectionEvent] { told.withLock { $0 } }

    private init(
        _ origin: Origin, proxy: HTTPProxy?, rootFile: String?, _ configuration: HTTP2PoolConfiguration,
        resolve: @escaping Resolve
    ) throws {
        loop = try EventLoop(name: "test")
        try loop.start()
        let trust = try TLSTrust(additionalRootsFile: rootFile)
        let box = EventBox()
        pool = HTTP2Pool(
            on: loop, origin: origin, proxy: proxy, trust: trust, configuration: configuration, resolve: resolve,
            observer: { box.tell($0) })
        box.fixture = self
    }

    /// Lets the observer, which the pool wants before the fixture is whole, find the fixture.
    private final class EventBox: Sendable {
        private let target = Mutex<PoolFixture?>(nil)
        var fixture: PoolFixture? {
            get { target.withLock { $0 } }
            set { target.withLock { $0 = newValue } }
        }
        func tell(_ event: HTTP2ConnectionEvent) {
            guard let fixture else { return }
            fixture.told.withLock { $0.append(event) }
        }
    }

    /// Runs `body` with a pool for `https://host:port`, and ends everything after it. `resolve` stands in for the name
    /// servers.
    static func with<Result: Sendable>(
        port: UInt16, host: String = "localhost", proxy: HTTPProxy? = nil, rootFile: String?,
        _ configuration: HTTP2PoolConfiguration = HTTP2PoolConfiguration(),
        resolve: @escaping Resolve = SocketAddress.bySystem,
        body: @Sendable (PoolFixture) async throws -> Result
    ) async throws -> Result {
        let origin = try #require(Origin(url: "https://\(host):\(port)"))
        let fixture = try PoolFixture(
            origin, proxy: proxy, rootFile: rootFile, configuration, resolve: resolve)
        let result: Swift.Result<Result, any Error>
        do { result = .success(try await body(fixture)) } catch { result = .failure(error) }
        await fixture.pool.close()
        fixture.loop.stopAndJoin()
        return try result.get()
    }

    /// Sends a small request.
    func send(_ path: String = "/", body: String = "{}", timeout: Duration = .seconds(20)) async
        -> Result<HTTP2Response, HTTP2Failure>
    {
        do throws(HTTP2Failure) {
            return .success(
                try await pool.send(HTTP2Request(path: path, body: Array(body.utf8)), timeout: timeout))
        } catch {
            return .failure(error)
        }
    }

    /// Waits until the pool looks as wanted.
    func waitUntil(_ isSo: @Sendable (HTTP2PoolSnapshot) -> Bool) async {
        while !isSo(await pool.snapshot()) {
            guard (try? await Task.sleep(for: .milliseconds(2))) != nil else {
                Issue.record("the pool never looked as wanted: \(await pool.snapshot())")
                return
            }
        }
    }

    /// The statuses of so many requests sent at once; nil for those that failed.
    func sendAtOnce(_ count: Int, timeout: Duration = .seconds(20)) async -> [Int?] {
        await withTaskGroup(of: Int?.self) { group in
            for _ in 0..<count { group.addTask { try? await self.send(timeout: timeout).get().status } }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }
}

/// Runs a peer for the length of `body`.
func withPeer<Result: Sendable>(
    _ identity: TestAuthority.Identity, _ manner: ScriptedPeer.Manner = ScriptedPeer.Manner(),
    script: @escaping @Sendable (PeerConnection) throws -> Void,
    body: @Sendable (ScriptedPeer) async throws -> Result
) async throws -> Result {
    let peer = ScriptedPeer(identity, manner, script: script)
    let result: Swift.Result<Result, any Error>
    do { result = .success(try await body(peer)) } catch { result = .failure(error) }
    peer.stop()
    return try result.get()
}
