import Cryptography
import PushModel
import PushServices
import Synchronization
import Testing

@testable import HTTP2Client

/// Who is told what of token requests of which several are under way.
@Suite(.timeLimit(.minutes(1)))
struct AccessTokenSourceTests {
    private let time = SetClocks()
    private let endpoint = HeldPool()
    private static let key = RS256SigningKey.generate()

    private func source() -> AccessTokenSource {
        AccessTokenSource(
            account: ServiceAccount(
                projectID: "p", clientEmail: "relay@p.example", privateKeyID: "", key: Self.key,
                tokenURI: "https://oauth2.example/token"),
            path: "/token", endpoint: endpoint, on: globalConcurrentExecutor, clocks: time.clocks,
            observer: NoObserver())
    }

    /// What one who needs a token comes to.
    private func need(of source: AccessTokenSource) async -> Result<AccessToken, AccessTokenSource.OAuthRefusal> {
        do throws(AccessTokenSource.OAuthRefusal) {
            return .success(try await source.current())
        } catch {
            return .failure(error)
        }
    }

    private let granted = answer(200, #"{"access_token":"t","expires_in":3600}"#)

    @Test func `of a request that hung those are told who came before the next one, and nobody else`() async {
        let source = source()
        async let early = need(of: source)
        await endpoint.hold(1)
        time.advance(by: .seconds(3))
        async let late = need(of: source)
        await endpoint.hold(2)
        time.advance(by: .seconds(12))
        endpoint.end(1, with: .failure(.unknownOutcome(.timeout)))
        let told = await early
        let trouble = source.trouble
        endpoint.end(2, with: granted)
        #expect(await late == .success(AccessToken("t")))
        #expect(trouble?.failure == .unreachable)
        #expect(told == trouble.map { .failure($0) })
        #expect(source.trouble == nil)
    }

    @Test func `nobody waits for a request that has ended already`() async {
        let source = source()
        async let first = need(of: source)
        await endpoint.hold(1)
        time.advance(by: .seconds(3))
        async let second = need(of: source)
        await endpoint.hold(2)
        endpoint.end(2, with: answer(503))
        #expect(await second == .failure(.init(failure: .unavailable, retryAfter: source.trouble?.retryAfter ?? .zero)))
        _ = await first
        // The one that hangs is what there is to wait for, in the pause after the other.
        async let third = need(of: source)
        while source.waiting == 0 { await Task.yield() }
        endpoint.end(1, with: .failure(.unknownOutcome(.timeout)))
        guard case .failure = await third else {
            Issue.record("a token that nobody gave")
            return
        }
        #expect(source.waiting == 0)
    }

    @Test func `a token is for all who wait, whichever request brings it`() async {
        let source = source()
        async let early = need(of: source)
        await endpoint.hold(1)
        time.advance(by: .seconds(3))
        async let late = need(of: source)
        await endpoint.hold(2)
        endpoint.end(2, with: granted)
        #expect(await early == .success(AccessToken("t")))
        #expect(await late == .success(AccessToken("t")))
        endpoint.end(1, with: .failure(.unknownOutcome(.timeout)))
        #expect(await need(of: source) == .success(AccessToken("t")))
        #expect(endpoint.count == 2)
    }
}

/// Connections that answer when they are told to.
private final class HeldPool: UpstreamPool {
    private typealias Waiting = CheckedContinuation<Result<HTTP2Response, HTTP2Failure>, Never>
    private let held = Mutex<[Int: Waiting]>([:])
    private let sent = Mutex(0)

    /// How many requests have come.
    var count: Int { sent.withLock { $0 } }

    /// Waits until the request of that number, from 1 on, has come.
    func hold(_ number: Int) async {
        while !held.withLock({ $0.keys.contains(number) }) { await Task.yield() }
    }

    /// Ends that request.
    func end(_ number: Int, with result: Result<HTTP2Response, HTTP2Failure>) {
        held.withLock { $0.removeValue(forKey: number) }?.resume(returning: result)
    }

    func send(
        _ request: HTTP2Request, timeout: Duration, leavingWithin: Duration?, avoiding avoided: HTTP2ConnectionID?
    ) async throws(HTTP2Failure) -> HTTP2Response {
        let number = sent.withLock { count in
            count += 1
            return count
        }
        return try await withCheckedContinuation { waiting in
            held.withLock { $0[number] = waiting }
        }.get()
    }

    func retire(_ connection: HTTP2ConnectionID) async {}
    func replace(_ connection: HTTP2ConnectionID) async {}
}
