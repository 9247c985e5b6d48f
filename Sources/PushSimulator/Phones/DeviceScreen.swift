/// What one phone shows and what its push service keeps for it while it is out of reach. Pure, the clock handed in.
///
/// APNs keeps one notification for each app ("usually the latest"), FCM a hundred for each device, of at most four
/// collapse keys; neither knows one `apns-id` or message from its repetition. FCM lets collapsible messages wait that come
/// too fast, and tells nobody.
struct DeviceScreen: Sendable {
    /// Whether the push service reaches the phone.
    private(set) var isOnline = true
    private(set) var shown: [DeliveredNotification] = []
    private var stored: [DeliveredNotification] = []
    private var allowance = CollapsibleAllowance()

    /// As many as an Android phone lets one app show at once; the oldest give way.
    private static let mostShown = 50
    /// FCM's bound, beyond which all that waits is dropped.
    private static let mostStored = 100
    /// Different collapse keys of which FCM keeps a message. Which of more it keeps is not said; here it is the latest.
    private static let mostCollapseKeys = 4

    /// A notification comes for the phone.
    mutating func take(_ notification: DeliveredNotification, now: Int64) {
        advance(to: now)
        guard !isOnline || notification.collapseKey != nil else {
            show(notification)
            return
        }
        guard isOnline || notification.expiry(now: now) > now else { return }
        store(notification)
        advance(to: now)
    }

    /// The phone comes within reach, or goes out of it.
    mutating func setOnline(_ isOnline: Bool, now: Int64) {
        advance(to: now)
        self.isOnline = isOnline
        advance(to: now)
    }

    /// Brings what has waited and may come by now.
    mutating func advance(to now: Int64) {
        stored.removeAll { $0.instant < now && $0.expiry(now: $0.instant) <= now }
        guard isOnline else { return }
        var waiting: [DeliveredNotification] = []
        for notification in stored {
            if notification.collapseKey == nil || allowance.take(now: now) {
                show(notification)
            } else {
                waiting.append(notification)
            }
        }
        stored = waiting
    }

    private mutating func store(_ notification: DeliveredNotification) {
        switch notification.platform {
        case .ios:
            stored.removeAll { $0.header("apns-topic") == notification.header("apns-topic") }
        case .android:
            if let key = notification.collapseKey {
                stored.removeAll { $0.collapseKey == key }
                let others = stored.filter { $0.collapseKey != nil }
                if others.count >= Self.mostCollapseKeys { stored.removeAll { $0.number == others[0].number } }
            }
            if stored.count >= Self.mostStored { stored.removeAll() }
        }
        stored.append(notification)
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
