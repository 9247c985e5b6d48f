import DeviceStore
import Limits
import PushModel

extension Relay {
    /// Whether an address may register once more. An attempt that is refused is not recorded.
    func admitRegistration(from client: ClientAddress) -> RateDecision {
        shared.registrationsByAddress.admit(client.bucket, at: shared.clocks.monotonic())
    }

    /// Whether an address may push once more. Recorded before the look-up, so that a flood of capabilities that nobody
    /// has costs the flooder's own budget.
    func admitPush(from client: ClientAddress, at now: MonotonicInstant) -> RateDecision {
        shared.pushesByAddress.admit(client.bucket, at: now)
    }

    /// Whether a capability may be pushed to once more. Only capabilities that exist are recorded.
    func admitPush(to capability: CapabilityHash, at now: MonotonicInstant) -> RateDecision {
        let (high, low) = capability.firstHalf
        return shared.pushesByCapability.admit(CapabilityKey(high: high, low: low), at: now)
    }
}
