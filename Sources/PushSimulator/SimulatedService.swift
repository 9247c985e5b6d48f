/// A service that the simulator stands for, each on a port of its own.
package enum SimulatedService: String, Sendable, CaseIterable {
    /// Apple's production environment.
    case apnsProduction = "apns-production"
    /// Apple's development environment.
    case apnsSandbox = "apns-sandbox"
    /// Google's FCM HTTP v1.
    case fcm
    /// Google's endpoint for access tokens.
    case oauth
    /// The simulator's own questions and orders, for scripts.
    case control
    /// An HTTP proxy that knows CONNECT and leads to the others. It speaks HTTP/1.1 in clear.
    case proxy
}
