import DeviceStore
import PushModel
import PushServices

extension Relay {
    /// Draws a capability and writes the registration under it. It is on disk before the phone hears of it.
    func enroll(_ request: RegistrationRequest) async -> RegistrationVerdict {
        let capability = Capability.random()
        let now = shared.clocks.wall()
        let registration = Registration(
            capability: capability, token: request.token, environment: request.environment,
            opensPreviews: request.opensPreviews, registeredAt: now)
        do throws(StoreError) {
            try await store.register(registration)
        } catch {
            storeFailed(.register, error)
            return error.isTransient ? .overloaded : .storeFailed
        }
        shared.guardian.noteRegistration(of: request.token, in: request.environment)
        shared.tally.count(.registered, request.token.platform, on: now.day)
        return .registered(capability)
    }

    /// Removes a registration. It is gone from the disk before the caller hears of it.
    func withdraw(_ capability: Capability) async -> RemovalVerdict {
        do throws(StoreError) {
            return try await store.remove(CapabilityHash(of: capability)) ? .removed : .unknownCapability
        } catch {
            storeFailed(.remove, error)
            return error.isTransient ? .overloaded : .storeFailed
        }
    }
}
