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
        json.appendText(#"{"aps":{"alert":{"title":""#)
        json.appendPlain(Kind.title)
        json.appendText(#"","body":""#)
        json.appendPlain(notification.kind.body)
        json.appendText(#""},"sound":"default","thread-id":""#)
        json.appendPlain(notification.tag.disclosed)
        json.appendText("\"")
        if notification.preview != nil { json.appendText(#","mutable-content":1"#) }
        json.appendText(#"},"c":""#)
        json.appendPlain(notification.tag.disclosed)
        json.appendText("\"")
        if let preview = notification.preview {
            json.appendText(#","p":""#)
            json.appendPlain(preview.disclosed)
            json.appendText("\"")
        }
        json.appendText("}")
        return json
    }
}
