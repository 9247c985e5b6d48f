import Cryptography
import EventLoops
import Glibc
import PushModel
import PushServices
import PushSimulator
import Synchronization
import Telemetry
import Testing

@testable import HTTP2Client

/// A provider token that is renewed, as the connections see it: Apple counts the time between two tokens for each.
@Suite(.timeLimit(.minutes(1)))
struct TokenRenewalTests {
    @Test func `young connections make way before the first push that shows another token, and for no other`() async {
        let apple = ScriptedService.apple { _, _ in answer(200) }
        for phone in 1...3 { #expect(await apple.push(to: phone) == .accepted) }
        #expect(apple.pool.renewals.isEmpty)
        apple.time.advance(by: .seconds(50 * 60))
        for phone in 1...3 { #expect(await apple.push(to: phone) == .accepted) }
        // Those of both environments, which are one pool here.
        #expect(apple.pool.renewals == [3, 3])
        apple.time.advance(by: .seconds(50 * 60))
        #expect(await apple.push() == .accepted)
        #expect(apple.pool.renewals == [3, 3, 6, 6])
    }

    @Test func `a repeat after a renewal shows the new token`() async {
        let apple = ScriptedService.apple { _, _ in answer(200) }
        apple.pool.follow { [time = apple.time] number, _ in
            guard number == 1 else { return answer(200) }
            time.advance(by: .seconds(50 * 60))
            return .failure(.notSent(.refusedStream))
        }
        #expect(await apple.push(budget: .seconds(2 * 3600)) == .accepted)
        let tokens = apple.pool.calls.compactMap { $0.header("authorization") }
        #expect(tokens.count == 2 && tokens[0] != tokens[1])
        #expect(apple.pool.renewals == [1, 1])
    }

    @Test func `a token that Apple calls too old is renewed for all connections`() async {
        let apple = ScriptedService.apple { _, _ in answer(200) }
        #expect(await apple.push() == .accepted)
        apple.time.advance(by: .seconds(30 * 60))
        apple.pool.follow { number, _ in number == 2 ? refusal(403, "ExpiredProviderToken") : answer(200, by: 2) }
        #expect(await apple.push() == .accepted)
        #expect(apple.pool.renewals == [2, 2])
    }

    // MARK: Against the simulator, which counts for each connection

    /// With one stream at a time all others wait, and those that came before the renewal show the token before.
    @Test(arguments: [0, 1, 30], [100, 1])
    func `a renewal costs no push, however young the connection is`(pending: Int, streams: Int) async throws {
        try await withApple(streams: streams) { service, time, simulator in
            let push: @Sendable (Int) async -> DeliveryOutcome = { phone in
                let token = String(repeating: "0", count: 60) + String(1000 + phone)
                simulator.declareLive(token, platform: .ios, environment: .production)
                let device = Device(
                    token: DeviceToken(unchecked: token, for: .ios), environment: .production, opensPreviews: false,
                    registeredAt: WallInstant(milliseconds: 0))
                return await service.deliver(
                    ComposingTests.notification(.dm, nil), to: device,
                    by: time.clocks.monotonic().advanced(by: .seconds(2 * 3600)))
            }
            #expect(await push(0) == .accepted)
            // Pushes that show the token before, while the others come with the new one.
            let inFlight = min(pending, streams)
            if inFlight > 0 {
                simulator.force(Fault(.proceed, times: inFlight, delay: .milliseconds(300)), on: .apnsProduction)
            }
            let outcomes = await withTaskGroup(of: DeliveryOutcome.self) { group in
                for phone in 0..<pending { group.addTask { await push(phone) } }
                while simulator.books()[.apnsProduction].requests < 1 + inFlight {
                    try? await Task.sleep(for: .milliseconds(2))
                }
                time.advance(by: .seconds(50 * 60))
                for phone in 100..<150 { group.addTask { await push(phone) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.count == 50 + pending && outcomes.allSatisfy { $0 == .accepted }, "\(outcomes)")
            let books = simulator.books()
            #expect(books.providerTokens == 2)
            #expect(books[.apnsProduction].refusals.isEmpty)
            #expect(books[.apnsProduction].connectionsOpened >= 2)
        }
    }

    /// A service over a real pool and a simulator, with clocks that a test may set forward.
    private func withApple(
        streams: Int, _ body: @Sendable (APNsService, ShiftedClocks, PushSimulator) async throws -> Void
    ) async throws {
        let directory = "/tmp/token-renewal-test-\(getpid())-\(UInt64.random(in: 0 ... .max))"
        let simulator = try PushSimulator(configuration: SimulatorConfiguration(directory: directory))
        let key = try ES256SigningKey(pem: text(of: simulator.apnsKeyFile))
        let trust = try TLSTrust(additionalRootsFile: simulator.certificateAuthorityFile)
        for file in [
            simulator.certificateAuthorityFile, simulator.apnsKeyFile, simulator.serviceAccountFile,
            simulator.relaySettingsFile,
        ] { unsafe _ = unlink(file) }
        unsafe _ = rmdir(directory)
        try await simulator.start()
        let loop = try EventLoop(name: "test")
        try loop.start()
        let time = ShiftedClocks()
        let log = BreakerLog()
        var settings = HTTP2PoolConfiguration()
        settings.maximumStreamsPerConnection = streams
        if streams == 1 { settings.maximumConnections = 1 }
        let pool = HTTP2Pool(
            on: loop, origin: try #require(Origin(url: simulator.origin(of: .apnsProduction))),
            trust: trust, configuration: settings)
        let route = APNsService.Route(pool: pool, breaker: ServiceBreaker(.apns, observer: log))
        let service = APNsService(
            topic: simulator.topic,
            tokens: ProviderTokenSource(
                key: key, keyID: simulator.apnsKeyID, teamID: simulator.apnsTeamID, clocks: time.clocks),
            production: route, sandbox: route, clocks: time.clocks, observer: NoObserver())
        let result: Result<Void, any Error>
        do { result = .success(try await body(service, time, simulator)) } catch { result = .failure(error) }
        await pool.close()
        await Task(executorPreference: loop) {}.value
        loop.stopAndJoin()
        await simulator.stop()
        #expect(log.changes.isEmpty)
        try result.get()
    }
}

/// The machine's clocks, and what a test has added to the one that nobody sets.
private final class ShiftedClocks: Sendable {
    private let shift = Mutex(Duration.zero)

    var clocks: Clocks {
        Clocks(
            wall: Clocks.system.wall,
            monotonic: { Clocks.system.monotonic().advanced(by: self.shift.withLock { $0 }) })
    }

    func advance(by duration: Duration) { shift.withLock { $0 += duration } }
}

private func text(of path: String) throws -> String {
    let file = unsafe open(path, O_RDONLY)
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = unsafe read(file, &bytes, bytes.count)
    try #require(count > 0)
    return String(decoding: bytes.prefix(count), as: UTF8.self)
}
