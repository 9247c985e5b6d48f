package import PushModel
import Synchronization

/// Keeps a wrong topic, environment or project from emptying the store.
///
/// A push service that does not take a token (``DeliveryOutcome/DeathEvidence/inferred``) may mean the phone or us. It is
/// taken to mean the phone only if the service has accepted a push to another since it last said such a thing: under a
/// wrong setting it accepts none, so none is forgotten. And not when at least 20 answers of the last ten minutes were of
/// that kind and they are more than a fifth of all.
///
/// Each of Apple's environments is looked at by itself, and FCM: what one accepts says nothing about the others.
package final class MassDeathGuard: Sendable {
    private let windows = Mutex<Windows>(Windows())

    private struct Windows {
        var production = DeathWindow()
        var sandbox = DeathWindow()
        var android = DeathWindow()
    }

    package init() {}

    /// Notes that a push to this phone was accepted.
    package func noteLiving(_ device: Device, at now: MonotonicInstant) {
        withWindow(of: device) { $0.noteLiving(at: now) }
    }

    /// Notes that a push service did not take this phone's token, and says whether it may be forgotten for that.
    package func allowsForgetting(_ device: Device, at now: MonotonicInstant) -> Bool {
        withWindow(of: device) { window in
            let isBelievable = window.hasLivedSinceDeath
            window.noteDeath(of: device.token.disclosed.hashValue, at: now)
            return isBelievable && !window.isSuspicious
        }
    }

    /// Whether deaths of this platform are so many, or so lonely, that a setting is the likelier cause.
    package func isSuspicious(_ platform: Platform, at now: MonotonicInstant) -> Bool {
        windows.withLock { windows in
            switch platform {
            case .ios: windows.production.isSuspicious(at: now) || windows.sandbox.isSuspicious(at: now)
            case .android: windows.android.isSuspicious(at: now)
            }
        }
    }

    private func withWindow<Result: Sendable>(of device: Device, _ body: (inout DeathWindow) -> Result) -> Result {
        windows.withLock { windows in
            switch (device.token.platform, device.environment) {
            case (.ios, .production): body(&windows.production)
            case (.ios, .sandbox): body(&windows.sandbox)
            case (.android, _): body(&windows.android)
            }
        }
    }
}

/// Living and dead answers of the last ten minutes, in slots of a minute. A value; the clock is handed in.
package struct DeathWindow: Sendable {
    /// Fewer deaths than this among living ones are never suspicious.
    package static let leastDeaths = 20
    /// More deaths than one in this many answers are.
    package static let suspiciousShare = 5
    /// So many phones, each another one, called dead without a single living one are.
    package static let lonelyPhones = 3

    private static let slotCount: Int64 = 10
    private static let slotLength: Int64 = 60_000_000_000

    private var living = [Int](repeating: 0, count: Int(slotCount))
    private var deaths = [Int](repeating: 0, count: Int(slotCount))
    private var newest: Int64?
    /// Some of the phones called dead since the last push that was accepted, by numbers that say nothing more.
    private var lonely: [Int] = []
    /// Whether a push was accepted after the last death.
    package private(set) var hasLivedSinceDeath = false

    package init() {}

    /// Notes that a push was accepted.
    package mutating func noteLiving(at now: MonotonicInstant) {
        advance(to: now)
        living[slot] += 1
        lonely = []
        hasLivedSinceDeath = true
    }

    /// Notes that a phone was called dead; `phone` tells it from others.
    package mutating func noteDeath(of phone: Int, at now: MonotonicInstant) {
        advance(to: now)
        deaths[slot] += 1
        if lonely.count < Self.lonelyPhones, !lonely.contains(phone) { lonely.append(phone) }
        hasLivedSinceDeath = false
    }

    private var slot: Int { Int((newest ?? 0) % Self.slotCount) }

    /// Lets go of what is older than ten minutes.
    private mutating func advance(to now: MonotonicInstant) {
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
        if deaths.allSatisfy({ $0 == 0 }) { lonely = [] }
    }

    /// Whether so many tokens at once are more likely a setting than phones, now that what is old is let go of.
    package mutating func isSuspicious(at now: MonotonicInstant) -> Bool {
        advance(to: now)
        return isSuspicious
    }

    /// The same as of the last answer.
    package var isSuspicious: Bool {
        let dead = deaths.reduce(0, +)
        let all = dead + living.reduce(0, +)
        return dead == all && lonely.count >= Self.lonelyPhones
            || dead >= Self.leastDeaths && dead * Self.suspiciousShare > all
    }
}
