package import PushModel
import Synchronization

/// Keeps a wrong topic, environment or project from emptying the store.
///
/// A push service that does not take a token (``DeliveryOutcome/DeathEvidence/inferred``) is believed as long as that is
/// rare. It is not when 20 of the last 50 answers were of that kind, which a wrong setting brings about at once however
/// much went well before; nor when at least 20 answers of the last ten minutes were and they are more than a fifth of
/// all. Then no such token is forgotten any more until the share has fallen.
package final class MassDeathGuard: Sendable {
    private let windows = Mutex<(ios: DeathWindow, android: DeathWindow)>((DeathWindow(), DeathWindow()))

    package init() {}

    /// Notes that a push was accepted.
    package func noteLiving(_ platform: Platform, at now: MonotonicInstant) {
        withWindow(platform) { $0.note(isDeath: false, at: now) }
    }

    /// Notes that a push service did not take a token, and says whether it may be forgotten for that.
    package func allowsForgetting(_ platform: Platform, at now: MonotonicInstant) -> Bool {
        withWindow(platform) { window in
            window.note(isDeath: true, at: now)
            return !window.isSuspicious
        }
    }

    /// Whether deaths of this platform are disbelieved now.
    package func isSuspicious(_ platform: Platform, at now: MonotonicInstant) -> Bool {
        withWindow(platform) { window in
            window.advance(to: now)
            return window.isSuspicious
        }
    }

    private func withWindow<Result: Sendable>(_ platform: Platform, _ body: (inout DeathWindow) -> Result) -> Result {
        windows.withLock { windows in
            switch platform {
            case .ios: body(&windows.ios)
            case .android: body(&windows.android)
            }
        }
    }
}

/// Living and dead answers: of the last ten minutes in slots of a minute, and the last 50 one by one. A value; the clock
/// is handed in.
package struct DeathWindow: Sendable {
    /// Fewer deaths than this are never suspicious.
    package static let leastDeaths = 20
    /// More deaths than one in this many answers are.
    package static let suspiciousShare = 5

    /// So many answers are looked at one by one.
    package static let recentAnswers = 50

    private static let slotCount: Int64 = 10
    private static let slotLength: Int64 = 60_000_000_000

    private var living = [Int](repeating: 0, count: Int(slotCount))
    private var deaths = [Int](repeating: 0, count: Int(slotCount))
    private var newest: Int64?
    /// The last answers, a bit each, the newest in the lowest place; set where it was a death.
    private var recent: UInt64 = 0

    package init() {}

    /// Notes an answer.
    package mutating func note(isDeath: Bool, at now: MonotonicInstant) {
        advance(to: now)
        let slot = Int((newest ?? 0) % Self.slotCount)
        if isDeath { deaths[slot] += 1 } else { living[slot] += 1 }
        recent = (recent << 1 | (isDeath ? 1 : 0)) & (1 << Self.recentAnswers - 1)
    }

    /// Lets go of what is older than ten minutes.
    package mutating func advance(to now: MonotonicInstant) {
        let current = now.nanoseconds / Self.slotLength
        guard let newest else {
            newest = current
            return
        }
        guard current > newest else { return }
        for slot in max(newest + 1, current - Self.slotCount + 1)...current {
            living[Int(slot % Self.slotCount)] = 0
            deaths[Int(slot % Self.slotCount)] = 0
        }
        self.newest = current
        // What is no longer in any slot is not recent either.
        if deaths.allSatisfy({ $0 == 0 }) { recent = 0 }
    }

    /// Whether so many tokens at once are more likely a setting than phones.
    package var isSuspicious: Bool {
        if recent.nonzeroBitCount >= Self.leastDeaths { return true }
        let dead = deaths.reduce(0, +)
        return dead >= Self.leastDeaths && dead * Self.suspiciousShare > dead + living.reduce(0, +)
    }
}
