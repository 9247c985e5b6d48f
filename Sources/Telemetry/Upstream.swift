/// What the relay connects to. Raw values are values of the label `upstream`.
package enum Upstream: String, MetricLabelValue {
    /// APNs, for apps from the App Store and TestFlight.
    case apns
    /// APNs, for apps built by a developer.
    case apnsSandbox = "apns_sandbox"
    /// FCM.
    case fcm
    /// The token endpoint of the Firebase service account.
    case oauth
}
