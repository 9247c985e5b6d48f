package import Limits
package import PushModel

/// A phone that registers, its request already checked.
package struct RegistrationRequest: Sendable {
    /// Who asks, for the limit.
    package var client: ClientAddress
    /// The phone's address at its push service.
    package var token: DeviceToken
    /// Which of Apple's environments issued it.
    package var environment: APNsEnvironment
    /// Whether the app opens previews itself.
    package var opensPreviews: Bool

    package init(client: ClientAddress, token: DeviceToken, environment: APNsEnvironment, opensPreviews: Bool) {
        self.client = client
        self.token = token
        self.environment = environment
        self.opensPreviews = opensPreviews
    }
}

/// A server that rings a phone, its request already checked.
package struct PushRequest: Sendable {
    /// Who asks, for the limit.
    package var client: ClientAddress
    /// Which phone.
    package var capability: Capability
    /// What happened.
    package var kind: Kind
    /// What only the phone reads.
    package var preview: SealedPreview?

    package init(client: ClientAddress, capability: Capability, kind: Kind, preview: SealedPreview?) {
        self.client = client
        self.capability = capability
        self.kind = kind
        self.preview = preview
    }
}
