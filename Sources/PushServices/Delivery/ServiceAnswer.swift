package import PushModel

/// What one answer of a push service means, whichever service gave it. `APNsAnswer` and `FCMAnswer` are its two makers;
/// every question about an answer is put here, in one shape for both.
package protocol ServiceAnswer: Sendable {
    /// What the sender is told and what happens to the registration.
    var outcome: DeliveryOutcome { get }
    /// Whether, and how, the same push may be tried again inside its budget.
    var retry: RetryAdvice { get }
    /// What it says about the push service as a whole.
    var health: Health { get }
    /// Whether the connection that gave it is to make way for another.
    var condemnsConnection: Bool { get }
    /// How loudly the operator is told.
    var alarm: Alarm { get }
    /// A word out of a closed set, for the log. It names no device.
    var label: String { get }
    /// The same for counting; what the relay does not know is `other`.
    var reason: AnswerReason { get }
}

extension ServiceAnswer {
    /// Hardly any does.
    package var condemnsConnection: Bool { false }
}

/// Whether a push that failed may be tried again inside its sender's budget.
package enum RetryAdvice: Sendable, Equatable {
    /// The same push would fail the same way, or only a later one has a chance.
    case never
    /// It was surely not processed: at once, at most twice (RFC 9113 section 8.7).
    case atOnce
    /// Nobody knows whether it was processed: once, and only if the phone shows a repeat in the place of the first.
    case onceIfReplaceable
    /// Once, on another connection than the one that gave the answer. Where the connection may be the cause, it makes
    /// way for another as soon as the repeat has shown that others do better.
    case onceElsewhere(mayBeConnection: Bool)
    /// Once, with a fresh credential, and on another connection where a connection remembers them.
    case onceWithNewCredential
}

/// How loudly an answer concerns the operator.
package enum Alarm: Sendable, Equatable {
    /// The ordinary course of things.
    case none
    /// Worth a look when there are many.
    case count
    /// Wrong until somebody acts.
    case page
}
