/// Where the relay listens.
struct ListenerSettings: Sendable, Equatable {
    /// Address of the public port: an IP address as text.
    let host: String
    /// The public port; 0 lets the system choose.
    let port: Int
    /// Address of the operator's port.
    let metricsHost: String
    /// The operator's port; nil when there is none.
    let metricsPort: Int?

    /// Reads them; what is wrong has its default, and is a fault.
    init(_ reader: inout SettingsReader) {
        let address = "an IPv4 or IPv6 address"
        host = reader.text(.host, default: "0.0.0.0", form: address, where: isIPAddress)
        port = reader.number(.port, default: 8080, in: 0...65_535)
        metricsHost = reader.text(.metricsHost, default: "127.0.0.1", form: address, where: isIPAddress)
        let metricsPort = reader.number(.metricsPort, default: 0, in: 0...65_535)
        self.metricsPort = metricsPort == 0 ? nil : metricsPort
        if metricsPort != 0, metricsPort == port {
            // Both listeners may share a port with others (SO_REUSEPORT), so the system would not refuse it.
            reader.fault(.metricsPort, "must differ from PORT")
        }
    }
}
