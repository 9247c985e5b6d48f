package import HTTPServer
package import Limits
import PushModel
package import Relay

/// The public port: routes, decoding, and verdicts put into status and code. One a loop.
package final class PublicAPI: HTTPRequestHandler {
    /// The headers that this API reads; no other is ever copied.
    package static func retainedHeaders(of proxies: TrustedProxies) -> [String] {
        ["authorization"] + (proxies.isTrusting ? proxies.headers.map(\.rawValue) : [])
    }

    /// The headers of which it only wants to know whether they come: those that would count if a proxy were believed.
    package static func notedHeaders(of proxies: TrustedProxies) -> [String] {
        proxies.isTrusting ? [] : ForwardingHeader.allCases.map(\.rawValue)
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

    package func handle(_ request: HTTPRequest) -> HTTPHandling {
        do throws(Refusal) {
            switch Route.of(request) {
            case .push(let capability):
                let push = try push(capability, request)
                return .awaited { exchange in await self.ring(push, exchange) }
            case .remove(let capability): return .awaited { _ in await self.remove(capability) }
            case .register:
                let registration = try registration(request)
                return .awaited { _ in await self.register(registration) }
            case .health: return .answered(healthy)
            case .openAPI: return .answered(Answers.openAPI)
            case .refused(let refusal): throw refusal
            }
        } catch {
            return .answered(refused(error))
        }
    }

    package func refusal(_ refusal: HTTPRefusal, of request: HTTPRequest?) -> HTTPResponse {
        // What is wrong with the head of a request counts before the size of its body.
        if let request, case .refused(let earlier) = Route.of(request) { return refused(earlier) }
        return refused(Refusal(refusal))
    }

    /// Only a registration and a push have a body that says something.
    package func ignoresBody(of request: HTTPRequest) -> Bool {
        switch Route.of(request) {
        case .remove, .health, .openAPI: true
        case .register, .push, .refused: false
        }
    }

    package func couldNotAccept(_ errno: Int32) { observer.couldNotAccept(errno) }

    private func refused(_ refusal: Refusal) -> HTTPResponse {
        observer.refused(refusal)
        return Answers.refused(refusal)
    }

    // MARK: What is asked for

    private func push(_ capability: Capability, _ request: HTTPRequest) throws(Refusal) -> PushRequest {
        let body = try PushBody.decode(request.body)
        return PushRequest(
            client: client(of: request), capability: capability, kind: body.kind, preview: body.preview)
    }

    private func registration(_ request: HTTPRequest) throws(Refusal) -> RegistrationRequest {
        let body = try DeviceBody.decode(request.body)
        return RegistrationRequest(
            client: client(of: request), token: body.token, environment: body.environment,
            opensPreviews: body.opensPreviews)
    }

    private func client(of request: HTTPRequest) -> ClientAddress {
        let peer = ClientAddress(high: request.peer.high, low: request.peer.low)
        if isForwardedInVain(request, by: peer) { observer.ignoredForwarding() }
        return proxies.client(peer: peer) { request.values(of: $0) }
    }

    /// Whether a header says whose request it is, and nobody believes it: because no proxy is trusted, or not this one.
    private func isForwardedInVain(_ request: HTTPRequest, by peer: ClientAddress) -> Bool {
        guard proxies.isTrusting, !proxies.believes(peer) else { return request.hasNotedHeader }
        return proxies.headers.contains { !request.values(of: $0.rawValue).isEmpty }
    }

    // MARK: The three that wait

    private func ring(_ push: PushRequest, _ exchange: HTTPExchange) async -> HTTPResponse {
        // Whatever happens on the way: the sender is answered within its budget, and the push goes on to its end.
        exchange.answer(with: Self.outOfTime, after: relay.shared.budget.duration)
        let verdict = await relay.push(push)
        // What the sender was told counts; nobody gets what comes after it.
        if exchange.isAnswered { return refused(Self.outOfTimeRefusal) }
        if let refusal = Refusal(verdict) { return refused(refusal) }
        return Answers.accepted
    }

    private static let outOfTimeRefusal = Refusal.upstreamFailed(.timeout, retryAfter: .seconds(10))
    private static let outOfTime = Answers.refused(outOfTimeRefusal).prepared()

    private func register(_ registration: RegistrationRequest) async -> HTTPResponse {
        switch await relay.register(registration) {
        case .registered(let capability): Answers.registered(capability)
        case .platformUnavailable(let platform): refused(.platformUnavailable(platform))
        case .limited(let wait): refused(.tooManyRegistrations(retryAfter: wait))
        case .overloaded: refused(.overloaded)
        case .storeFailed: refused(.internalFault)
        }
    }

    private func remove(_ capability: Capability) async -> HTTPResponse {
        switch await relay.remove(capability) {
        case .removed: Answers.removed
        case .unknownCapability: refused(.unknownCapability)
        case .overloaded: refused(.overloaded)
        case .storeFailed: refused(.internalFault)
        }
    }
}

/// Hears of every refusal, to count it, and of connections that could not even be refused. Called on the loop; must be quick.
package protocol RefusalObserver: Sendable {
    /// A request was refused.
    func refused(_ refusal: Refusal)
    /// The system gave no descriptor, or no memory, for another connection.
    func couldNotAccept(_ errno: Int32)
    /// A request says that a proxy passed it on, and whoever sent it is not believed. Called for each such request.
    func ignoredForwarding()
}
