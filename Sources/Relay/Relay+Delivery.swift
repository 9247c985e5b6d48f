import DeviceStore
import PushModel
import PushServices

extension Relay {
    /// Composes the notification and has the push service asked to deliver it.
    func deliver(
        _ request: PushRequest, to stored: StoredDevice, through service: any PushService, at now: MonotonicInstant
    ) async -> DeliveryOutcome {
        let notification = PushNotification(
            kind: request.kind, tag: stored.hash.tag, preview: request.preview, id: ids.next())
        let deadline = now.advanced(by: shared.budget.duration)
        return await service.deliver(notification, to: stored.device, by: deadline)
    }
}
