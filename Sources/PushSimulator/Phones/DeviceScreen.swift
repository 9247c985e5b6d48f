/// What one phone shows and what its push service keeps for it while it is out of reach. Pure, the clock handed in.
///
/// APNs keeps one notification for each app ("usually the latest"), FCM a hundred for each device; neither knows one
/// `apns-id` or message from its repetition.
struct DeviceScreen: Sendable {
    /// Whether the push service reaches the phone.
    private(set) var isOnline = true
    private(set) var shown: [DeliveredNotification] = []
    private var stored: [DeliveredNotification] = []

    /// As many as an Android phone lets one app show at once; the oldest give way.
    private static let mostShown = 50
    /// FCM's bound, beyond which all that waits is dropped.
    private static let mostStored = 100

    /// A notification comes for the phone.
    mutating func take(_ notification: DeliveredNotification, now: Int64) {
        guard !isOnline else {
            show(notification)
            return
        }
        guard notification.expiry(now: now) > now else { return }
        switch notification.platform {
        case .ios:
            stored.removeAll { $0.header("apns-topic") == notification.header("apns-topic") }
        case .android:
            if let key = notification.collapseKey { stored.removeAll { $0.collapseKey == key } }
            if stored.count >= Self.mostStored { stored.removeAll() }
        }
        stored.append(notification)
    }

    /// The phone comes within reach, or goes out of it.
    mutating func setOnline(_ isOnline: Bool, now: Int64) {
        self.isOnline = isOnline
        guard isOnline else { return }
        for notification in stored where notification.expiry(now: notification.instant) > now { show(notification) }
        stored.removeAll()
    }

    private mutating func show(_ notification: DeliveredNotification) {
        if let key = notification.replacementKey { shown.removeAll { $0.replacementKey == key } }
        shown.append(notification)
        if shown.count > Self.mostShown { shown.removeFirst() }
    }
}

extension DeliveredNotification {
    /// `android.collapse_key`.
    fileprivate var collapseKey: String? { android?["collapse_key"]?.string ?? android?["collapseKey"]?.string }

    private var android: JSON? { platform == .android ? JSON(text: payload)?["android"] : nil }

    /// Until when the push service tries, in milliseconds since 1970: 30 days of APNs's, 28 of FCM's where nothing is said.
    fileprivate func expiry(now: Int64) -> Int64 {
        switch platform {
        case .ios:
            guard let text = header("apns-expiration"), let seconds = Int64(text) else { return now + 2_592_000_000 }
            return seconds * 1000
        case .android:
            guard let life = android?["ttl"]?.string.flatMap(FCMShapeCheck.duration) else { return now + 2_419_200_000 }
            return now + life.components.seconds * 1000
        }
    }
}
