package import PushModel

/// What a phone registers: the address it wants to be rung at, under a capability made for it.
package struct Registration: Sendable {
    /// Fresh from the random generator; the only thing that opens the token again.
    package var capability: Capability
    /// The address at the push service.
    package var token: DeviceToken
    /// Which of Apple's environments issued the token; `production` on Android.
    package var environment: APNsEnvironment
    /// Android only: the app opens previews itself.
    package var opensPreviews: Bool
    /// Now. Stored to the millisecond, for Apple says since when a token is dead.
    package var registeredAt: WallInstant

    package init(
        capability: Capability, token: DeviceToken, environment: APNsEnvironment, opensPreviews: Bool,
        registeredAt: WallInstant
    ) {
        self.capability = capability
        self.token = token
        self.environment = environment
        self.opensPreviews = opensPreviews
        self.registeredAt = registeredAt
    }
}

/// What a look-up finds.
package struct StoredDevice: Sendable, Equatable {
    /// The hash it was found by, already computed; its tag goes into the payload.
    package var hash: CapabilityHash
    /// The device, token in hand.
    package var device: Device
    /// The day of the last push, or of the registration where there was none. While it is today, nothing needs marking.
    package var lastUsed: UTCDay

    package init(hash: CapabilityHash, device: Device, lastUsed: UTCDay) {
        self.hash = hash
        self.device = device
        self.lastUsed = lastUsed
    }
}
