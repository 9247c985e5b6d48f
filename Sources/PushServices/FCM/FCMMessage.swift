package import PushModel

/// Composes what FCM is asked to deliver. Google: "REST Resource: projects.messages".
package enum FCMMessage {
    /// Whether the message has no notification for Android to show, and so no tag by which a repeat would replace it.
    package static func isDataOnly(_ notification: PushNotification, to device: Device) -> Bool {
        notification.preview != nil && device.opensPreviews
    }

    /// The JSON of a `messages:send` request.
    ///
    /// Where the app opens previews itself and there is one, the message is data-only, so that the app is started and
    /// shows what it opened, with the fixed text in `t` and `b` to fall back on. In every other case Android itself shows
    /// the fixed text, under a tag chosen per push so that a repeat replaces it. All `data` values are strings.
    ///
    /// - Parameter validateOnly: has Google judge the message and deliver it to nobody.
    package static func compose(
        _ notification: PushNotification, to device: Device, validateOnly: Bool = false
    ) -> [UInt8] {
        var json: [UInt8] = []
        json.reserveCapacity(512 + (notification.preview?.disclosed.utf8.count ?? 0))
        json.appendPlain(validateOnly ? #"{"validate_only":true,"message":{"token":"# : #"{"message":{"token":"#)
        json.appendJSONString(device.token.disclosed)
        if isDataOnly(notification, to: device), let preview = notification.preview {
            json.appendPlain(#","android":{"priority":"high"},"data":{"c":""#)
            json.appendPlain(notification.tag.disclosed)
            json.appendPlain(#"","p":""#)
            json.appendPlain(preview.disclosed)
            json.appendPlain(#"","t":""#)
            json.appendPlain(Kind.title)
            json.appendPlain(#"","b":""#)
            json.appendPlain(notification.kind.body)
            json.appendPlain(#""}}}"#)
            return json
        }
        json.append(contentsOf: fixedTexts[notification.kind])
        json.appendPlain(notification.id.description)
        json.appendPlain(#""}},"data":{"c":""#)
        json.appendPlain(notification.tag.disclosed)
        json.appendPlain("\"")
        if let preview = notification.preview {
            json.appendPlain(#","p":""#)
            json.appendPlain(preview.disclosed)
            json.appendPlain("\"")
        }
        json.appendPlain("}}}")
        return json
    }

    /// What Android shows, up to the tag, which the kind alone decides.
    private static let fixedTexts = PerKind { kind in
        Array(
            (#","notification":{"title":"\#(Kind.title)","body":"\#(kind.body)"},"#
                + #""android":{"priority":"high","notification":{"channel_id":"messages","sound":"default","tag":""#)
                .utf8)
    }
}
