import DeviceStore
import PushModel

extension Relay {
    /// What a look-up finds.
    enum LookUp {
        case found(StoredDevice)
        case unknown
        case overloaded
        case storeFailed
    }

    /// Finds a registration and opens its device token, which only the capability can do.
    func lookUp(_ capability: Capability) async -> LookUp {
        do throws(StoreError) {
            guard let stored = try await store.device(for: capability) else { return .unknown }
            return .found(stored)
        } catch {
            storeFailed(.lookUp, error)
            return error.isTransient ? .overloaded : .storeFailed
        }
    }
}
