import HTTPServer
import PushModel

/// The paths of the public port. Raw values are wire names.
package enum PublicPath: String, CaseIterable, Sendable {
    /// Where a phone registers.
    case devices = "/v1/devices"
    /// Where a server rings, and a phone takes a capability back.
    case push = "/v1/push"
    /// Whether the relay is up.
    case health = "/healthz"
    /// What this API is, for programs.
    case openAPI = "/openapi.json"

    /// The methods that it has, as `Allow` lists them.
    package var methods: String {
        switch self {
        case .devices: "POST"
        case .push: "POST, DELETE"
        case .health, .openAPI: "GET, HEAD"
        }
    }
}

/// What a request asks for, as far as its head tells.
enum Route {
    case register
    case push(Capability)
    case remove(Capability)
    case health
    /// What there is to ask for, as an OpenAPI document.
    case openAPI
    /// Nothing that there is, or not without a capability.
    case refused(Refusal)

    /// The route of a request.
    static func of(_ request: HTTPRequest) -> Route {
        guard let path = PublicPath(rawValue: request.path) else { return .refused(.notFound) }
        switch (path, request.method) {
        case (.push, .post): return BearerCapability.of(request).map { .push($0) } ?? .refused(.missingCapability)
        case (.push, .delete): return BearerCapability.of(request).map { .remove($0) } ?? .refused(.missingCapability)
        case (.devices, .post): return .register
        case (.health, .get), (.health, .head): return .health
        case (.openAPI, .get), (.openAPI, .head): return .openAPI
        case (.devices, _), (.push, _), (.health, _), (.openAPI, _):
            return .refused(.methodNotAllowed(allow: path.methods))
        }
    }
}
