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
            method: "POST", path: "/3/device/" + segment(device.disclosed),
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
    /// A token as it stands in a path: as it is, but for one that an older relay let in and that has what no path may have.
    /// APNs then says that it is none, instead of ending the connection for everybody (RFC 3986 section 2.1).
    private static func segment(_ token: String) -> String {
        guard !token.utf8.allSatisfy(\.isUnreserved) else { return token }
        var segment = ""
        for byte in token.utf8 {
            if byte.isUnreserved {
                segment.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                segment += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return segment
    }
}

extension UInt8 {
    /// RFC 3986 section 2.3.
    fileprivate var isUnreserved: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
