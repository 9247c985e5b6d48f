import HTTP2Client
import PushServices
import Telemetry

extension HTTPSOrigin {
    /// The same as the HTTP/2 room names it.
    var origin: Origin {
        guard let origin = Origin(url: description) else {
            preconditionFailure("an origin that was checked at the door is none")
        }
        return origin
    }
}

extension ForwardProxy {
    /// The same as the HTTP/2 room names it, for connections to this origin; nil when these go out directly.
    func proxy(towards origin: Origin) -> HTTPProxy? {
        guard isUsed(forHost: origin.host, port: Int(origin.port)) else { return nil }
        let credentials = login.map { ProxyCredentials(user: $0.disclosed.user, password: $0.disclosed.password) }
        guard let proxy = HTTPProxy(host: host, port: UInt16(port), credentials: credentials) else {
            preconditionFailure("a proxy that was checked at the door is none")
        }
        return proxy
    }
}

extension ServiceAccountFile {
    /// The same as the FCM service names it.
    var account: ServiceAccount {
        ServiceAccount(
            projectID: projectID, clientEmail: clientEmail, privateKeyID: keyID, key: key, tokenURI: tokenURI.text)
    }
}
