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

    init(_ request: HTTPRequest) {
        guard let path = PublicPath(rawValue: request.path) else {
            self = .refused(.notFound)
            return
        }
        switch (path, request.method) {
        case (.push, .post): self = BearerCapability.of(request).map { .push($0) } ?? .refused(.missingCapability)
        case (.push, .delete): self = BearerCapability.of(request).map { .remove($0) } ?? .refused(.missingCapability)
        case (.devices, .post): self = .register
        case (.health, .get), (.health, .head): self = .health
        case (.openAPI, .get), (.openAPI, .head): self = .openAPI
        case (.devices, _), (.push, _), (.health, _), (.openAPI, _):
            self = .refused(.methodNotAllowed(allow: path.methods))
        }
    }
}
