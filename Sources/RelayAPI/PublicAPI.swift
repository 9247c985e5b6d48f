package import HTTPServer
package import Limits
import PushModel
package import Relay

/// The public port: routes, decoding, and verdicts put into status and code. One a loop.
package struct PublicAPI: HTTPRequestHandler {
    /// The headers that this API reads; no other is ever copied.
    package static func retainedHeaders(of proxies: TrustedProxies) -> [String] {
        ["authorization"] + (proxies.isTrusting ? proxies.headers.map(\.rawValue) : [])
    }

    private let relay: Relay
    private let proxies: TrustedProxies
    private let healthy: HTTPResponse
    private let observer: any RefusalObserver

    /// - Parameter version: shown by `/healthz`.
    package init(relay: Relay, proxies: TrustedProxies, version: String, observer: any RefusalObserver) {
        self.relay = relay
        self.proxies = proxies
        self.healthy = Answers.healthy(version: version)
        self.observer = observer
    }

    package func respond(to request: HTTPRequest, exchange: HTTPExchange) async -> HTTPResponse {
        do throws(Refusal) {
            switch request.path {
            case "/v1/push": return try await push(request, exchange)
            case "/v1/devices": return try await register(request)
            case "/healthz": return try health(request)
            default: throw .notFound
            }
        } catch {
            return refused(error)
        }
    }

    package func refusal(_ refusal: HTTPRefusal) -> HTTPResponse {
        refused(Refusal(refusal))
    }

    private func refused(_ refusal: Refusal) -> HTTPResponse {
        observer.refused(refusal)
        return Answers.refused(refusal)
    }

    // MARK: Routes

    private func register(_ request: HTTPRequest) async throws(Refusal) -> HTTPResponse {
        guard request.method == .post else { throw .methodNotAllowed(allow: "POST") }
        let body = try DeviceBody.decode(request.body)
        let verdict = await relay.register(
            RegistrationRequest(
                client: client(of: request), token: body.token, environment: body.environment,
                opensPreviews: body.opensPreviews))
        switch verdict {
        case .registered(let capability): return Answers.registered(capability)
        case .platformUnavailable(let platform): throw .platformUnavailable(platform)
        case .limited(let wait): throw .tooManyRegistrations(retryAfter: wait)
        case .overloaded: throw .overloaded
        case .storeFailed: throw .internalFault
        }
    }

    private func push(_ request: HTTPRequest, _ exchange: HTTPExchange) async throws(Refusal) -> HTTPResponse {
        switch request.method {
        case .post: return try await ring(request, exchange)
        case .delete: return try await remove(request)
        default: throw .methodNotAllowed(allow: "POST, DELETE")
        }
    }

    private func ring(_ request: HTTPRequest, _ exchange: HTTPExchange) async throws(Refusal) -> HTTPResponse {
        guard let capability = BearerCapability.of(request) else { throw .missingCapability }
        let body = try PushBody.decode(request.body)
        // Whatever happens on the way: the sender is answered within its budget, and the push goes on to its end.
        exchange.answer(with: Self.outOfTime, after: relay.shared.budget)
        let verdict = await relay.push(
            PushRequest(
                client: client(of: request), capability: capability, kind: body.kind, preview: body.preview))
        switch verdict {
        case .accepted: return Answers.accepted
        case .addressLimited(let wait): throw .tooManyPushes(.address, retryAfter: wait)
        case .capabilityLimited(let wait): throw .tooManyPushes(.capability, retryAfter: wait)
        case .unknownCapability: throw .unknownCapability
        case .platformUnavailable(let platform): throw .platformUnavailable(platform)
        case .overloaded: throw .overloaded
        case .gone: throw .gone
        case .phoneThrottled(let wait): throw .phoneThrottled(retryAfter: wait)
        case .upstreamFailed(let reason, let wait): throw .upstreamFailed(reason, retryAfter: wait)
        case .storeFailed: throw .internalFault
        }
    }

    private static let outOfTime = Answers.refused(.upstreamFailed(.timeout, retryAfter: .seconds(10)))

    private func remove(_ request: HTTPRequest) async throws(Refusal) -> HTTPResponse {
        guard let capability = BearerCapability.of(request) else { throw .missingCapability }
        switch await relay.remove(capability) {
        case .removed: return Answers.removed
        case .unknownCapability: throw .unknownCapability
        case .overloaded: throw .overloaded
        case .storeFailed: throw .internalFault
        }
    }

    private func health(_ request: HTTPRequest) throws(Refusal) -> HTTPResponse {
        guard request.method == .get || request.method == .head else { throw .methodNotAllowed(allow: "GET, HEAD") }
        return healthy
    }

    private func client(of request: HTTPRequest) -> ClientAddress {
        proxies.client(peer: ClientAddress(high: request.peer.high, low: request.peer.low)) {
            request.values(of: $0)
        }
    }
}

/// Hears of every refusal, to count it. Called on the loop; must be quick.
package protocol RefusalObserver: Sendable {
    /// A request was refused.
    func refused(_ refusal: Refusal)
}
