package import Relay

extension Refusal {
    /// What a sender is told of a push; nil when the push service took it.
    package init?(_ verdict: PushVerdict) {
        switch verdict {
        case .accepted: return nil
        case .addressLimited(let wait): self = .tooManyPushes(.address, retryAfter: wait)
        case .capabilityLimited(let wait): self = .tooManyPushes(.capability, retryAfter: wait)
        case .unknownCapability: self = .unknownCapability
        case .platformUnavailable(let platform): self = .platformUnavailable(platform)
        case .overloaded: self = .overloaded
        case .gone: self = .gone
        case .phoneThrottled(let wait): self = .phoneThrottled(retryAfter: wait)
        case .upstreamFailed(let reason, let wait): self = .upstreamFailed(reason, retryAfter: wait)
        case .storeFailed: self = .internalFault
        }
    }
}
