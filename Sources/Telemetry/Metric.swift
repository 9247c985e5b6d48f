/// Every metric there is, by its name on the wire: this file is the dashboard's index.
package enum Metric: String, Sendable, CaseIterable {
    /// Pushes that a push service accepted. All-time, from the table of counts.
    case sent = "gryt_push_sent_total"
    /// Registrations. All-time, from the table of counts.
    case registrations = "gryt_push_registrations_total"
    /// Devices that a push service said are gone. All-time, from the table of counts.
    case gone = "gryt_push_gone_total"
    /// Pushes that failed for any other reason. All-time, from the table of counts.
    case failed = "gryt_push_failed_total"
    /// Registrations held at this moment.
    case devices = "gryt_push_devices"
    /// Requests refused, by the code of the answer. Since the start of the process.
    case refusals = "gryt_push_refusals_total"
    /// From a request's arrival to its answer. Since the start of the process.
    case pushDuration = "gryt_push_duration_seconds"
    /// From a push's hand-over to the push service to its answer. Since the start of the process.
    case upstreamDuration = "gryt_push_upstream_duration_seconds"
    /// Pushes under way at this moment.
    case inFlight = "gryt_push_in_flight"

    /// What the text format calls a type.
    package enum Form: String, Sendable {
        /// Only grows.
        case counter
        /// Goes up and down.
        case gauge
        /// Counts by size.
        case histogram
    }

    /// The type that the text format states.
    package var form: Form {
        switch self {
        case .sent, .registrations, .gone, .failed, .refusals: .counter
        case .devices, .inFlight: .gauge
        case .pushDuration, .upstreamDuration: .histogram
        }
    }

    /// One line for whoever reads the page.
    package var help: String {
        switch self {
        case .sent: "Pushes that a push service accepted, all-time."
        case .registrations: "Registrations, all-time."
        case .gone: "Devices that a push service said are gone, all-time."
        case .failed: "Pushes that failed for another reason, all-time."
        case .devices: "Registrations held."
        case .refusals: "Requests refused since the start, by the code of the answer."
        case .pushDuration: "Seconds from a push's arrival to its answer, since the start."
        case .upstreamDuration: "Seconds until a push service answered, since the start."
        case .inFlight: "Pushes under way."
        }
    }

    /// The names of its labels, in the order in which values are given.
    package var labels: [MetricLabel] {
        switch self {
        case .sent: [.platform, .kind]
        case .registrations, .gone, .failed, .devices, .upstreamDuration: [.platform]
        case .refusals: [.code]
        case .pushDuration, .inFlight: []
        }
    }
}

/// Every label there is. Values come from enums, so that their number is bounded and none names a device, a server or an
/// address.
package enum MetricLabel: String, Sendable, CaseIterable {
    /// `ios` or `android`.
    case platform
    /// `mention`, `dm` or `message`.
    case kind
    /// The code of a refusal.
    case code
}

/// An enum whose cases are the values of a label, by their raw values.
package protocol MetricLabelValue: RawRepresentable<String>, CaseIterable, Sendable, Equatable
where AllCases == [Self] {}

extension MetricLabelValue {
    /// The place of the case among all of them.
    var ordinal: Int {
        guard let ordinal = Self.allCases.firstIndex(of: self) else {
            preconditionFailure("a case that is not among all cases")
        }
        return ordinal
    }
}
