package import PushModel

/// Composes what APNs is asked to deliver.
package enum APNsPayload {
    /// The most APNs takes, in bytes. A payload of ours is at most some 2,300.
    package static let maximumLength = 4096

    /// The JSON of a notification:
    /// `{"aps":{"alert":{"title","body"},"sound":"default","thread-id":<tag>[,"mutable-content":1]},"c":<tag>[,"p":…]}`.
    ///
    /// `mutable-content` starts the app's notification extension, which opens the preview; without a preview there is
    /// nothing to open and neither member is there.
    package static func compose(_ notification: PushNotification) -> [UInt8] {
        var json: [UInt8] = []
        json.reserveCapacity(200 + (notification.preview?.disclosed.utf8.count ?? 0))
        json.append(contentsOf: openings[notification.kind])
        json.appendPlain(notification.tag.disclosed)
        json.appendPlain("\"")
        if notification.preview != nil { json.appendPlain(#","mutable-content":1"#) }
        json.appendPlain(#"},"c":""#)
        json.appendPlain(notification.tag.disclosed)
        json.appendPlain("\"")
        if let preview = notification.preview {
            json.appendPlain(#","p":""#)
            json.appendPlain(preview.disclosed)
            json.appendPlain("\"")
        }
        json.appendPlain("}")
        return json
    }

    /// What comes before the thread's id, which the kind alone decides.
    private static let openings = PerKind { kind in
        Array(
            #"{"aps":{"alert":{"title":"\#(Kind.title)","body":"\#(kind.body)"},"sound":"default","thread-id":""#.utf8)
    }
}
