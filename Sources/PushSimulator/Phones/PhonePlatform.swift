/// The system a simulated phone runs.
package enum PhonePlatform: String, Sendable, CaseIterable {
    /// Reached through APNs.
    case ios
    /// Reached through FCM.
    case android
}

/// Apple's environments, as a phone's token belongs to one of them.
package enum PhoneEnvironment: String, Sendable, CaseIterable {
    case production
    case sandbox
}

/// What the simulator knows a phone by. Apple's tokens compare without regard to case.
struct PhoneAddress: Hashable, Sendable {
    /// The phone's system.
    let platform: PhonePlatform
    /// The token; Apple's in lower case.
    let token: String

    init(_ token: String, _ platform: PhonePlatform) {
        self.platform = platform
        self.token = platform == .ios ? token.lowercased() : token
    }
}
