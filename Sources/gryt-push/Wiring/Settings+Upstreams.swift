import HTTP2Client
import PushServices

extension HTTPSOrigin {
    /// The same as the HTTP/2 room names it.
    var origin: Origin {
        guard let origin = Origin(url: description) else {
            preconditionFailure("an origin that was checked at the door is none")
        }
        return origin
    }
}

extension ServiceAccountFile {
    /// The same as the FCM service names it.
    var account: ServiceAccount {
        ServiceAccount(
            projectID: projectID, clientEmail: clientEmail, privateKeyID: keyID, key: key, tokenURI: tokenURI.text)
    }
}
