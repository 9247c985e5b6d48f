package import PushModel

/// How often one push has been tried, and whether it is tried again. A value without I/O: each failed attempt goes in,
/// the next step comes out.
///
/// A repeat carries the same ids as the first attempt, so that a phone shows the push once even where a push service
/// had already taken it.
package struct DeliveryAttempts: Sendable {
    /// What to do after an attempt.
    package enum Step: Sendable, Equatable {
        /// This outcome stands.
        case conclude
        /// Try again; the connection or the credential is to be changed first where it says so.
        case again(newConnection: Bool, newCredential: Bool)
    }

    /// Repeats of what was surely not processed; the number that established clients settle on.
    package static let atOnceLimit = 2

    /// The shortest time in which a repeat has a chance to be answered. With less than this left the outcome stands.
    package static let leastUsefulTime: Duration = .milliseconds(250)

    /// The number of the attempt that is made next, from 1 on.
    package private(set) var number = 1

    private var atOnce = 0
    private var onNewConnection = 0
    private var withNewCredential = 0
    private let deadline: MonotonicInstant

    /// For a push whose sender waits until `deadline`.
    package init(deadline: MonotonicInstant) { self.deadline = deadline }

    /// Takes the advice that came with a failed attempt.
    package mutating func next(after advice: RetryAdvice, at now: MonotonicInstant) -> Step {
        let step = step(after: advice, at: now)
        if step != .conclude { number += 1 }
        return step
    }

    private mutating func step(after advice: RetryAdvice, at now: MonotonicInstant) -> Step {
        guard deadline.duration(since: now) >= Self.leastUsefulTime else { return .conclude }
        switch advice {
        case .never:
            return .conclude
        case .atOnce:
            guard atOnce < Self.atOnceLimit else { return .conclude }
            atOnce += 1
            return .again(newConnection: false, newCredential: false)
        case .onceOnNewConnection:
            guard onNewConnection == 0 else { return .conclude }
            onNewConnection += 1
            return .again(newConnection: true, newCredential: false)
        case .onceWithNewCredential:
            guard withNewCredential == 0 else { return .conclude }
            withNewCredential += 1
            return .again(newConnection: true, newCredential: true)
        }
    }
}
