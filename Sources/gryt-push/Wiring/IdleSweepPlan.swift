import PushModel

/// When idle capabilities may be looked for. A value without I/O; the clocks are handed in.
///
/// A machine whose clock is a year ahead, as one without a battery may be before it has found a time server, would find
/// every capability idle and drop them all. So the clock has to be proven: Apple and Google take only credentials that were
/// signed within the last hour by theirs. As long as nobody sets the clock, one push that was accepted proves it for good.
struct IdleSweepPlan: Sendable {
    /// How often they are looked for. They are kept by the day, so more often would find nothing new.
    static let interval: Duration = .seconds(3600)
    /// A clock that moves by more than this against the one that nobody sets has been set.
    static let notableStep: Duration = .seconds(6 * 3600)
    /// So long after they were signed credentials are accepted at most: an hour, and some time on the way.
    static let credentialLife: Duration = .seconds(5400)

    private var lead: Duration?
    private var provenFrom = MonotonicInstant(nanoseconds: .min)
    private var sweptAt: MonotonicInstant?

    /// Whether to look now. To be asked every few seconds, also while nothing is ever idle: a step of the clock that nobody
    /// has seen would leave it proven by what was before. At a yes the next is an hour away.
    ///
    /// - Parameters:
    ///   - idleDays: after so many days a capability is idle; 0 is never.
    ///   - lastAccepted: when a push service last accepted a push of this process's.
    mutating func isDue(
        idleDays: Int, wall: WallInstant, lastAccepted: MonotonicInstant?, at now: MonotonicInstant
    ) -> Bool {
        let lead = Duration.milliseconds(wall.milliseconds) - .nanoseconds(now.nanoseconds)
        if let before = self.lead, lead - before > Self.notableStep || before - lead > Self.notableStep {
            provenFrom = now.advanced(by: Self.credentialLife)
        }
        self.lead = lead
        guard idleDays > 0, let lastAccepted, lastAccepted >= provenFrom else { return false }
        if let sweptAt, now.duration(since: sweptAt) < Self.interval { return false }
        sweptAt = now
        return true
    }
}
