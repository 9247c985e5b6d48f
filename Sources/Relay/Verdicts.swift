package import PushModel

/// How a registration ended.
package enum RegistrationVerdict: Sendable {
    /// It is on disk, and this leads to it.
    case registered(Capability)
    /// No credentials for this platform.
    case platformUnavailable(Platform)
    /// This address registers too much.
    case limited(retryAfter: Duration)
    /// Too much at once.
    case overloaded
    /// It could not be written.
    case storeFailed
}

/// How a push ended.
package enum PushVerdict: Sendable, Equatable {
    /// The push service took it.
    case accepted
    /// This address pushes too much.
    case addressLimited(retryAfter: Duration)
    /// This phone is pushed to too much.
    case capabilityLimited(retryAfter: Duration)
    /// Nothing is registered under this capability.
    case unknownCapability
    /// No credentials for this platform.
    case platformUnavailable(Platform)
    /// Too much at once.
    case overloaded
    /// The phone is gone, and forgotten.
    case gone
    /// The push service throttles this phone.
    case phoneThrottled(retryAfter: Duration)
    /// The push service did not take it. With `retryAfter` it may come again.
    case upstreamFailed(UpstreamReason, retryAfter: Duration?)
    /// The store did not answer.
    case storeFailed
}

extension PushVerdict {
    /// What an outcome comes to for the sender, as it stands. Whether a phone is believed to be gone is decided elsewhere.
    package init(_ outcome: DeliveryOutcome) {
        self =
            switch outcome {
            case .accepted: .accepted
            case .unregistered: .gone
            case .rejected(.malformed), .rejected(.foreignDevice), .rejected(.unknown):
                .upstreamFailed(.rejected, retryAfter: nil)
            case .deferred(.phoneThrottled, let wait): .phoneThrottled(retryAfter: wait)
            case .deferred(.serviceThrottled, let wait): .upstreamFailed(.throttled, retryAfter: wait)
            case .deferred(.serviceUnavailable, let wait): .upstreamFailed(.unavailable, retryAfter: wait)
            case .deferred(.credentials, let wait): .upstreamFailed(.credentials, retryAfter: wait)
            case .failed(.timeout, let wait): .upstreamFailed(.timeout, retryAfter: wait)
            case .failed(.unreachable, let wait): .upstreamFailed(.unreachable, retryAfter: wait)
            case .failed(.overloaded, _): .overloaded
            }
    }
}

/// Whose fault a failed push is: the `reason` of a 502. Raw values are wire names.
package enum UpstreamReason: String, Sendable, CaseIterable {
    /// No answer in time.
    case timeout
    /// No connection to the push service.
    case unreachable
    /// The push service has a fault of its own.
    case unavailable = "provider_unavailable"
    /// The push service asks the relay to slow down.
    case throttled = "provider_throttled"
    /// The push service does not accept the relay's credentials.
    case credentials
    /// The push service did not accept this push.
    case rejected
}

/// How the removal of a capability ended.
package enum RemovalVerdict: Sendable {
    /// It is gone from the disk.
    case removed
    /// Nothing was registered under it.
    case unknownCapability
    /// Too much at once.
    case overloaded
    /// It could not be written.
    case storeFailed
}
