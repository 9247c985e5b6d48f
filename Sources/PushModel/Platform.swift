/// The system a phone runs, and with it the push service that reaches it. Raw values are wire names.
package enum Platform: String, CaseIterable, Sendable {
    /// Reached by APNs.
    case ios
    /// Reached by FCM.
    case android
}

/// Which of Apple's two push environments issued a device token. Raw values are wire names.
package enum APNsEnvironment: String, CaseIterable, Sendable {
    /// Apps from the App Store or TestFlight.
    case production
    /// Apps built by a developer.
    case sandbox
}
