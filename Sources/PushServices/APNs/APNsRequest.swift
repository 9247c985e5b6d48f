package import HTTP2Client
package import PushModel

/// The request by which APNs is asked to deliver. Apple: "Sending notification requests to APNs".
package enum APNsRequest {
    /// Composes it.
    ///
    /// - Parameters:
    ///   - payload: as ``APNsPayload`` makes it.
    ///   - id: a lower-case UUID, the same on every repeat of a push.
    ///   - topic: the app's bundle id.
    package static func compose(
        payload: [UInt8], id: String, topic: String, to device: DeviceToken, as token: ProviderToken
    ) -> HTTP2Request {
        HTTP2Request(
            method: "POST", path: "/3/device/" + device.disclosed,
            headers: [
                HTTP2Header(name: "authorization", value: token.authorization, indexing: .incremental),
                HTTP2Header(name: "apns-topic", value: topic, indexing: .incremental),
                HTTP2Header(name: "apns-push-type", value: "alert", indexing: .incremental),
                HTTP2Header(name: "apns-priority", value: "10", indexing: .incremental),
                HTTP2Header(name: "apns-id", value: id, indexing: .incrementalFirstThenNever),
                HTTP2Header(name: "apns-collapse-id", value: id, indexing: .incrementalFirstThenNever),
            ],
            body: payload)
    }
}
