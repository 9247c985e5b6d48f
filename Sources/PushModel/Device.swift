/// A phone's app instance as the relay can reach it, token in hand. It exists only while somebody presents the
/// capability that opens it.
package struct Device: Sendable, Equatable {
    /// Its address at the push service, and which service that is.
    package var token: DeviceToken
    /// Which of Apple's environments issued the token. Always `production` on Android, where it means nothing.
    package var environment: APNsEnvironment
    /// Android only: the app opens previews itself, so a push that carries one goes to it data-only.
    package var opensPreviews: Bool
    /// When the phone registered. An Apple 410 that names an earlier instant does not concern this registration.
    package var registeredAt: WallInstant

    package init(token: DeviceToken, environment: APNsEnvironment, opensPreviews: Bool, registeredAt: WallInstant) {
        self.token = token
        self.environment = environment
        self.opensPreviews = opensPreviews
        self.registeredAt = registeredAt
    }
}
