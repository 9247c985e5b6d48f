package import PushModel
import Synchronization

/// Keeps a wrong topic, environment or project from emptying the store.
///
/// A push service that does not take a token (``DeliveryOutcome/DeathEvidence/inferred``) may mean the phone or us. It is
/// taken to mean the phone only if the service has accepted a push to another since it last said such a thing: under a
/// wrong setting it accepts none, so none is forgotten. And not when at least 20 answers of the last ten minutes were of
/// that kind and they are more than a fifth of all.
///
/// Each of Apple's environments is looked at by itself, and FCM: what one accepts says nothing about the others. Nor does
/// what one accepted under other credentials or another topic: each push belongs to an ``Era``.
///
/// A token that is kept although it was not taken is not asked for again for a while (``RefusedTokens``).
package final class MassDeathGuard: Sendable {
    /// A time under one set of credentials.
    package struct Era: Sendable, Equatable {
        fileprivate var number = 0
    }

    private let windows = Mutex<Windows>(Windows())
    private let knowsRefused = Atomic(false)

    private struct Windows {
        var production = DeathWindow()
        var sandbox = DeathWindow()
        var android = DeathWindow()
        var eras = PerPlatform { _ in Era() }
        var refused = PerPlatform { _ in RefusedTokens() }

        subscript(device: Device) -> DeathWindow {
            get {
                switch (device.token.platform, device.environment) {
                case (.ios, .production): production
                case (.ios, .sandbox): sandbox
                case (.android, _): android
                }
            }
            _modify {
                switch (device.token.platform, device.environment) {
                case (.ios, .production): yield &production
                case (.ios, .sandbox): yield &sandbox
                case (.android, _): yield &android
                }
            }
        }
    }

    package init() {}

    /// The era that pushes to this platform belong to from now on. Asked for before the push service is taken at hand, so
    /// that none is taken for newer than it is.
    package func era(of platform: Platform) -> Era { windows.withLock { $0.eras[platform] } }

    /// Begins a new era, with nothing known: every loop has other credentials for this platform at hand now.
    package func startAnew(_ platform: Platform) {
        change { windows in
            windows.eras[platform].number += 1
            windows.refused[platform] = RefusedTokens()
            switch platform {
            case .ios:
                windows.production = DeathWindow()
                windows.sandbox = DeathWindow()
            case .android: windows.android = DeathWindow()
            }
        }
    }

    /// Has every token asked for again, because somebody has acted.
    package func askAgain() { change { $0.refused = PerPlatform { _ in RefusedTokens() } } }

    /// Notes that a push to this phone was accepted.
    package func noteLiving(_ device: Device, in era: Era, at now: MonotonicInstant) {
        windows.withLock { windows in
            guard era == windows.eras[device.token.platform] else { return }
            windows[device].noteLiving(at: now)
        }
    }

    /// Notes that a push service did not take this phone's token, and says whether it may be forgotten for that.
    package func allowsForgetting(_ device: Device, in era: Era, at now: MonotonicInstant) -> Bool {
        change { windows in
            let platform = device.token.platform
            guard era == windows.eras[platform] else { return false }
            let isBelievable = windows[device].hasLivedSinceDeath
            windows[device].noteDeath(of: device.token.disclosed.hashValue, at: now)
            let isBelieved = isBelievable && !windows[device].isSuspicious
            if !isBelieved { windows.refused[platform].note(Self.number(of: device), .doubted, at: now) }
            return isBelieved
        }
    }

    /// Notes that this phone belongs to another Firebase project.
    package func noteForeign(_ device: Device, in era: Era, at now: MonotonicInstant) {
        change { windows in
            let platform = device.token.platform
            guard era == windows.eras[platform] else { return }
            windows.refused[platform].note(Self.number(of: device), .foreign, at: now)
        }
    }

    /// Has a token asked for again that is registered anew, so that a phone which has set something right is reached.
    package func noteRegistration(of token: DeviceToken, in environment: APNsEnvironment) {
        guard knowsRefused.load(ordering: .relaxed) else { return }
        change { $0.refused[token.platform].forget(Self.number(of: token, in: environment)) }
    }

    /// Why this phone's token was not taken lately, and how long it is not asked for; nil where it may be.
    package func refusal(
        of device: Device, at now: MonotonicInstant
    ) -> (refusal: RefusedTokens.Refusal, wait: Duration)? {
        guard knowsRefused.load(ordering: .relaxed) else { return nil }
        return change { $0.refused[device.token.platform].refusal(of: Self.number(of: device), at: now) }
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

    /// The same token in Apple's other environment is another.
    private static func number(of token: DeviceToken, in environment: APNsEnvironment) -> Int {
        var hasher = Hasher()
        hasher.combine(token.disclosed)
        hasher.combine(environment)
        return hasher.finalize()
    }

    private static func number(of device: Device) -> Int { number(of: device.token, in: device.environment) }

    private func change<Result: Sendable>(_ body: (inout sending Windows) -> Result) -> Result {
        windows.withLock { windows in
            let result = body(&windows)
            knowsRefused.store(!windows.refused[.ios].isEmpty || !windows.refused[.android].isEmpty, ordering: .relaxed)
            return result
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
