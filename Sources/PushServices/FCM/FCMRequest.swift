package import HTTP2Client

/// The request by which FCM is asked to deliver. Google: "Method: projects.messages.send".
package enum FCMRequest {
    /// Composes it.
    ///
    /// - Parameters:
    ///   - message: as ``FCMMessage`` makes it.
    ///   - projectID: the Firebase project, as the service account names it.
    package static func compose(_ message: [UInt8], projectID: String, as token: AccessToken) -> HTTP2Request {
        HTTP2Request(
            method: "POST", path: "/v1/projects/\(projectID)/messages:send",
            headers: [
                HTTP2Header(name: "authorization", value: token.authorization, indexing: .incremental),
                HTTP2Header(name: "content-type", value: "application/json", indexing: .incremental),
                HTTP2Header(name: "x-goog-api-format-version", value: "2", indexing: .incremental),
            ],
            body: message)
    }
}
