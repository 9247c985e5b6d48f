package import PushModel

/// How many registrations there are.
package struct DeviceCounts: Sendable, Equatable {
    /// Reached by APNs.
    package var ios: Int
    /// Reached by FCM.
    package var android: Int

    package init(ios: Int, android: Int) {
        self.ios = ios
        self.android = android
    }
}

/// What is counted. Raw values are stored and stand in `/stats`.
package enum CountedEvent: String, CaseIterable, Sendable {
    /// A push service took a push.
    case sent
    /// A phone registered.
    case registered
    /// A push service said that a token is dead.
    case gone
    /// A push could not be handed to its push service.
    case failed
}

/// One line of the daily statistics. Nothing in it belongs to a device, a server or an address.
package struct DailyCount: Sendable, Hashable, Comparable {
    /// The UTC day.
    package var day: UTCDay
    /// What happened.
    package var event: CountedEvent
    /// To which kind of phone.
    package var platform: Platform
    /// Of what kind the push was; nil except for `sent`.
    package var kind: Kind?

    package init(day: UTCDay, event: CountedEvent, platform: Platform, kind: Kind? = nil) {
        self.day = day
        self.event = event
        self.platform = platform
        self.kind = kind
    }

    /// One number for all: by themselves the words would be hashed letter by letter, with every push.
    package func hash(into hasher: inout Hasher) {
        let event: Int32 =
            switch event {
            case .sent: 0
            case .registered: 1
            case .gone: 2
            case .failed: 3
            }
        let platform: Int32 =
            switch platform {
            case .ios: 0
            case .android: 4
            }
        let kind: Int32 =
            switch kind {
            case nil: 0
            case .mention: 8
            case .dm: 16
            case .message: 24
            }
        hasher.combine(Int64(day.number) << 32 | Int64(event | platform | kind))
    }

    /// By day, event, platform and kind, the latter three by the alphabet; no kind comes first. The order of `/stats`.
    package static func < (left: DailyCount, right: DailyCount) -> Bool {
        (left.day, left.event.rawValue, left.platform.rawValue, left.kind?.rawValue ?? "")
            < (right.day, right.event.rawValue, right.platform.rawValue, right.kind?.rawValue ?? "")
    }
}

/// How often it happened on that day.
package struct DailyTotal: Sendable, Equatable {
    /// What.
    package var count: DailyCount
    /// How often, at least once.
    package var n: Int

    package init(count: DailyCount, n: Int) {
        self.count = count
        self.n = n
    }
}

/// How often it happened since the first day, forgotten devices included. It never sinks.
package struct AllTimeTotal: Sendable, Equatable {
    /// What happened.
    package var event: CountedEvent
    /// To which kind of phone.
    package var platform: Platform
    /// Of what kind the push was; nil except for `sent`.
    package var kind: Kind?
    /// How often.
    package var n: Int

    package init(event: CountedEvent, platform: Platform, kind: Kind?, n: Int) {
        self.event = event
        self.platform = platform
        self.kind = kind
        self.n = n
    }
}
