package import Limits
package import PushModel

/// How many pushes may be under way to each push service at once. One that hangs uses up its own permits and leaves the
/// other's alone, for a push keeps its permit until its attempt has ended, also when its sender was answered before.
package struct PushPermits: Sendable {
    private let ios: InFlightPermits
    private let android: InFlightPermits

    /// - Parameter limit: for each push service.
    package init(limit: Int) {
        ios = InFlightPermits(limit: limit)
        android = InFlightPermits(limit: limit)
    }

    /// A permit for one push; nil when all of this service's are taken.
    package func take(for platform: Platform) -> Permit? {
        switch platform {
        case .ios: ios.take()
        case .android: android.take()
        }
    }

    /// How many there are, of both services.
    package var limit: Int { ios.limit + android.limit }

    /// How many are taken, of both services.
    package var inUse: Int { ios.inUse + android.inUse }
}
