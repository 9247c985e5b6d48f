import HTTPServer
import PushModel

/// What a request asks for, as far as its head tells.
enum Route {
    case register
    case push(Capability)
    case remove(Capability)
    case health
    /// Nothing that there is, or not without a capability.
    case refused(Refusal)

    init(_ request: HTTPRequest) {
        switch request.path {
        case "/v1/push":
            switch request.method {
            case .post: self = BearerCapability.of(request).map { .push($0) } ?? .refused(.missingCapability)
            case .delete: self = BearerCapability.of(request).map { .remove($0) } ?? .refused(.missingCapability)
            case .get, .head, .put, .patch, .options, .other:
                self = .refused(.methodNotAllowed(allow: "POST, DELETE"))
            }
        case "/v1/devices":
            self = request.method == .post ? .register : .refused(.methodNotAllowed(allow: "POST"))
        case "/healthz":
            let isRead = request.method == .get || request.method == .head
            self = isRead ? .health : .refused(.methodNotAllowed(allow: "GET, HEAD"))
        default:
            self = .refused(.notFound)
        }
    }
}
