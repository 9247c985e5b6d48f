import HTTP2Client
package import PushModel
import Synchronization

/// The access token by which FCM knows the operator: asked for once, shared by every loop, renewed ahead of time.
///
/// A push that finds a token goes on at once, without leaving its loop. `AccessTokenCycle` decides; this asks.
package final class AccessTokenSource: Sendable {
    /// How long one token request may take.
    package static let requestTimeout: Duration = .seconds(15)

    private let account: ServiceAccount
    private let path: String
    private let endpoint: any UpstreamPool
    private let executor: any TaskExecutor
    private let clocks: Clocks
    private let observer: any AccessTokenObserver
    private let state = Mutex<State>(State())

    private struct State {
        var cycle = AccessTokenCycle()
        var waiters: [CheckedContinuation<Result<AccessToken, OAuthRefusal>, Never>] = []
    }

    /// Why there is none, and when to ask again.
    package struct OAuthRefusal: Error, Sendable, Equatable {
        /// Why.
        package var failure: OAuthFailure
        /// When to come back.
        package var retryAfter: Duration
    }

    /// - Parameters:
    ///   - path: of the account's `token_uri`, for `endpoint` is its host.
    ///   - executor: where the requests are made; the loop that `endpoint` lives on.
    package init(
        account: ServiceAccount, path: String, endpoint: any UpstreamPool, on executor: any TaskExecutor,
        clocks: Clocks,
        observer: any AccessTokenObserver
    ) {
        self.account = account
        self.path = path
        self.endpoint = endpoint
        self.executor = executor
        self.clocks = clocks
        self.observer = observer
    }

    /// The token to send now. Waits only when there is none.
    ///
    /// - Parameter refused: one that FCM did not take. It waits for another then, and gets the same again only where there
    ///   is no other to be had.
    package func current(insteadOf refused: AccessToken? = nil) async throws(OAuthRefusal) -> AccessToken {
        let now = clocks.monotonic()
        switch state.withLock({ $0.cycle.need(insteadOf: refused, at: now) }) {
        case .use(let token): return token
        case .useAndRequest(let token):
            startRequest()
            return token
        case .refused(let failure, let retryAfter):
            throw OAuthRefusal(failure: failure, retryAfter: retryAfter)
        case .requestAndWait:
            startRequest()
            return try await wait(insteadOf: refused)
        case .wait:
            return try await wait(insteadOf: refused)
        }
    }

    /// Why there is no newer token than one that FCM did not take; nil where nobody knows of any reason.
    package var trouble: OAuthRefusal? {
        let now = clocks.monotonic()
        return state.withLock { state in
            state.cycle.lastFailure.map { OAuthRefusal(failure: $0, retryAfter: state.cycle.wait(at: now)) }
        }
    }

    /// Asks the endpoint again at the next need, whatever it did, because somebody has acted.
    package func startAnew() {
        state.withLock { $0.cycle.startAnew() }
    }

    /// How old the token is that is sent now; nil when there is none.
    package var age: Duration? {
        let now = clocks.monotonic()
        return state.withLock { $0.cycle.age(at: now) }
    }

    private func wait(insteadOf refused: AccessToken?) async throws(OAuthRefusal) -> AccessToken {
        let result = await withCheckedContinuation { continuation in
            // The request may have ended between the advice and now, and then nobody would wake us.
            let advice: AccessTokenCycle.Advice? = state.withLock { state in
                let advice = state.cycle.need(insteadOf: refused, at: clocks.monotonic())
                switch advice {
                case .wait, .requestAndWait:
                    state.waiters.append(continuation)
                    return advice == .requestAndWait ? advice : nil
                case .use, .useAndRequest, .refused:
                    return advice
                }
            }
            switch advice {
            case nil, .wait: break
            case .requestAndWait: startRequest()
            case .use(let token): continuation.resume(returning: .success(token))
            case .useAndRequest(let token):
                startRequest()
                continuation.resume(returning: .success(token))
            case .refused(let failure, let retryAfter):
                continuation.resume(returning: .failure(OAuthRefusal(failure: failure, retryAfter: retryAfter)))
            }
        }
        return try result.get()
    }

    private func startRequest() {
        Task(executorPreference: executor) { await self.request() }
    }

    private func request() async {
        let (result, date) = await ask()
        let now = clocks.monotonic()
        let lot = Double.random(in: 0..<1)
        let (waiters, pause, usable) = state.withLock { state in
            switch result {
            case .success(let grant): state.cycle.received(grant.token, lifetime: grant.lifetime, at: now)
            case .failure(let failure): state.cycle.failed(failure, lot: lot, at: now)
            }
            defer { state.waiters = [] }
            return (state.waiters, state.cycle.wait(at: now), state.cycle.usable(at: now))
        }
        observer.requested(result.map { $0.lifetime }, date: date)
        // Of those who wait although there is one, FCM has refused it; they learn that there is no other.
        let told: Result<AccessToken, OAuthRefusal> =
            if let usable {
                .success(usable)
            } else {
                result.map { $0.token }.mapError { OAuthRefusal(failure: $0, retryAfter: pause) }
            }
        for waiter in waiters { waiter.resume(returning: told) }
    }

    private func ask() async -> (result: Result<OAuthExchange.Grant, OAuthFailure>, date: WallInstant?) {
        let request = OAuthExchange.request(for: account, path: path, at: clocks.wall())
        do throws(HTTP2Failure) {
            let response = try await endpoint.send(
                request, timeout: Self.requestTimeout, leavingWithin: nil, avoiding: nil)
            return (
                OAuthExchange.interpret(status: response.status, body: response.body),
                response.value(of: "date").flatMap(HTTPDate.instant(of:))
            )
        } catch {
            return (.failure(.unreachable), nil)
        }
    }
}

/// Hears how each request for an access token ended.
package protocol AccessTokenObserver: Sendable {
    /// A request brought a token that is good for so long, or failed. `date` is what Google's clock said, where it did.
    func requested(_ result: Result<Duration, OAuthFailure>, date: WallInstant?)
}
