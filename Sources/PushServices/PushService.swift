package import PushModel

/// APNs or FCM, as something we ask to deliver a notification. One a platform and event loop.
package protocol PushService: Sendable {
    /// The phones it reaches.
    var platform: Platform { get }

    /// Asks the push service to deliver, and says what became of it.
    ///
    /// Repeats what is safe to repeat (``DeliveryAttempts``) as long as a repeat can still be answered by `deadline`. An
    /// attempt that is under way at the deadline is followed to its end all the same, so that a dead token is still
    /// learned of; the caller answers its own sender meanwhile. Every attempt has a time-out of its own.
    func deliver(
        _ notification: PushNotification, to device: Device, by deadline: MonotonicInstant
    ) async -> DeliveryOutcome
}
