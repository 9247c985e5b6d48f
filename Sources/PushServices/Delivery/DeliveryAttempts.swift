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
        /// Try again, on any connection.
        case again
        /// Try again on another connection. Where the first may be the cause, it makes way if the repeat goes well.
        case againElsewhere(mayBeConnection: Bool)
        /// Try again with another credential, and on another connection where a connection remembers them.
        case againWithNewCredential
    }

    /// Repeats of what was surely not processed; the number that established clients settle on.
    package static let atOnceLimit = 2

    /// The shortest time in which a repeat has a chance to be answered. With less than this left the outcome stands.
    package static let leastUsefulTime: Duration = .milliseconds(250)

    /// The number of the attempt that is made next, from 1 on.
    package private(set) var number = 1

    private var atOnce = 0
    private var unknown = 0
    private var elsewhere = 0
    private var withNewCredential = 0
    private let deadline: MonotonicInstant
    private let isReplaceable: Bool

    /// For a push whose sender waits until `deadline`. It is replaceable when the phone shows a repeat of it in the place
    /// of the first.
    package init(deadline: MonotonicInstant, isReplaceable: Bool) {
        self.deadline = deadline
        self.isReplaceable = isReplaceable
    }

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
            return .again
        case .onceIfReplaceable:
            guard isReplaceable, unknown == 0 else { return .conclude }
            unknown += 1
            return .again
        case .onceElsewhere(let mayBeConnection):
            guard elsewhere == 0 else { return .conclude }
            elsewhere += 1
            return .againElsewhere(mayBeConnection: mayBeConnection)
        case .onceWithNewCredential:
            guard withNewCredential == 0 else { return .conclude }
            withNewCredential += 1
            return .againWithNewCredential
        }
    }
}
