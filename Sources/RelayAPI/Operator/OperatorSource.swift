/// What the operator's port asks for. Implemented where the program is wired, because only there everything is known.
///
/// Nothing here waits for a push: whoever answers asks each loop, and does without one that is busy for too long.
package protocol OperatorSource: Sendable {
    /// The whole relay at this moment, with the counts of so many days; `days` is within ``DailyStatistics/days``.
    func snapshot(days: Int) async -> OperatorSnapshot

    /// The counts alone; nil when the store does not answer.
    func statistics(days: Int) async -> DailyStatistics?

    /// What readiness depends on, alone; in a fixed order.
    func checks() async -> [ReadinessCheck]

    /// Whether every event loop goes round. If not, only a restart helps.
    func isAlive() async -> Bool

    /// Every metric in Prometheus' text format (``MetricsText/contentType``). Without the all-time counts when the store
    /// does not answer.
    func metrics() async -> [UInt8]
}
