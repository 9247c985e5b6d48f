import Cryptography
package import GrytPushPreview

/// A phone with the app on it: it has a token and the key of its previews, and shows what a notification would show.
///
/// The key is a secret of the phone and its chat server; the simulator plays both.
package struct SimulatedPhone: Sendable {
    /// The phone's system.
    package let platform: PhonePlatform
    /// What the push service knows the phone by: 64 hex digits, or 152 characters in the manner of Google's.
    package let token: String
    /// 32 bytes.
    package let previewKey: [UInt8]

    /// What stands on the screen.
    package struct Shown: Sendable, Equatable {
        package var title: String
        package var subtitle: String?
        package var body: String
        /// `c`: which of its servers rang.
        package var tag: String?
        /// Whether this is the sealed preview, not the fixed text.
        package var isPreview: Bool

        package init(title: String, subtitle: String?, body: String, tag: String?, isPreview: Bool) {
            self.title = title
            self.subtitle = subtitle
            self.body = body
            self.tag = tag
            self.isPreview = isPreview
        }
    }

    /// Draws a token and a key.
    package init(_ platform: PhonePlatform) {
        self.platform = platform
        previewKey = SecureRandom.bytes(PreviewKey.length)
        switch platform {
        case .ios:
            token = SecureRandom.bytes(32).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        case .android:
            token = Base64URL.encode(SecureRandom.bytes(16)) + ":APA91b" + Base64URL.encode(SecureRandom.bytes(92))
        }
    }

    /// A phone whose token and key are known already.
    package init(_ platform: PhonePlatform, token: String, previewKey: [UInt8]) {
        precondition(previewKey.count == PreviewKey.length, "a preview key has 32 bytes")
        self.platform = platform
        self.token = token
        self.previewKey = previewKey
    }

    private var key: PreviewKey {
        guard let key = PreviewKey(bytes: previewKey) else { preconditionFailure("a preview key has 32 bytes") }
        return key
    }

    // MARK: As its server would

    /// Seals a preview for this phone. Traps unless it fits and `tag` is 16 hex digits.
    package func seal(_ preview: Preview, tag: String) -> String {
        guard let tag = PreviewTag(tag), let sealed = try? preview.seal(with: key, for: tag) else {
            preconditionFailure("no tag, or a preview that is too long")
        }
        return sealed
    }

    // MARK: As the app would

    /// What the phone shows for this notification; nil when it shows nothing at all.
    package func show(_ notification: DeliveredNotification) -> Shown? { show(payload: notification.payload) }

    /// What the phone shows for this payload: APNs's body, or FCM's `message`; nil when it shows nothing at all.
    package func show(payload: String) -> Shown? {
        guard let payload = JSON(text: payload) else { return nil }
        return switch platform {
        case .ios: showOnIOS(payload)
        case .android: showOnAndroid(payload)
        }
    }

    /// iOS shows the alert; with `mutable-content` the app's extension is asked first, and may put the preview in its
    /// place.
    private func showOnIOS(_ payload: JSON) -> Shown? {
        guard let alert = payload["aps"]?["alert"] else { return nil }
        let tag = payload["c"]?.string
        let fixed = Shown(
            title: alert["title"]?.string ?? "", subtitle: alert["subtitle"]?.string,
            body: alert["body"]?.string ?? alert.string ?? "", tag: tag, isPreview: false)
        guard payload["aps"]?["mutable-content"]?.integer == 1 else { return fixed }
        return openedPreview(payload["p"], tag: tag) ?? fixed
    }

    /// Android shows `notification` by itself and asks nobody. Only a message of nothing but data reaches the app.
    private func showOnAndroid(_ message: JSON) -> Shown? {
        let data = message["data"]
        let tag = data?["c"]?.string
        let android = message["android"]?["notification"]
        if message["notification"] != nil || android != nil {
            let common = message["notification"]
            return Shown(
                title: android?["title"]?.string ?? common?["title"]?.string ?? "", subtitle: nil,
                body: android?["body"]?.string ?? common?["body"]?.string ?? "", tag: tag, isPreview: false)
        }
        if let preview = openedPreview(data?["p"], tag: tag) { return preview }
        guard let title = data?["t"]?.string, let body = data?["b"]?.string else { return nil }
        return Shown(title: title, subtitle: nil, body: body, tag: tag, isPreview: false)
    }

    private func openedPreview(_ sealed: JSON?, tag: String?) -> Shown? {
        guard let text = sealed?.string, let tag, let preview = open(text, tag: tag) else { return nil }
        return Shown(
            title: preview.title, subtitle: preview.subtitle, body: preview.body, tag: tag, isPreview: true)
    }

    /// Opens what ``seal(_:tag:)`` made; nil for anything else, and for another phone's or another tag's.
    package func open(_ sealed: String, tag: String) -> Preview? {
        guard let tag = PreviewTag(tag) else { return nil }
        return try? Preview.open(sealed, with: key, for: tag)
    }
}
