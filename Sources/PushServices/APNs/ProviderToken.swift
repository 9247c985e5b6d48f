package import Cryptography
package import PushModel
import Synchronization

/// The JWT by which APNs knows the operator: minted once, shared by every connection of the process, renewed ahead of
/// time. Apple: "Establishing a token-based connection to APNs".
package final class ProviderTokenSource: Sendable {
    private let key: ES256SigningKey
    private let keyID: String
    private let teamID: String
    private let clocks: Clocks
    private let state = Mutex<(schedule: ProviderTokenSchedule, current: ProviderToken?)>((.init(), nil))
    private let refusal = Atomic<Bool>(false)

    /// - Parameters:
    ///   - keyID: the key's 10 characters.
    ///   - teamID: the team's 10 characters.
    package init(key: ES256SigningKey, keyID: String, teamID: String, clocks: Clocks) {
        self.key = key
        self.keyID = keyID
        self.teamID = teamID
        self.clocks = clocks
    }

    /// The token to send now.
    ///
    /// A renewal signs under the lock: some 30 µs each 50 minutes, in which the other loops had to wait for the new token
    /// anyway when there is none yet, and which makes it one token however many ask at once.
    package func current() -> ProviderToken {
        let now = clocks.monotonic()
        return state.withLock { state in
            if let current = state.current, !state.schedule.isRenewalDue(at: now) { return current }
            return mint(&state, now)
        }
    }

    /// Called when APNs said that `refused` is too old. Mints a new one unless somebody has done so already or the last
    /// one is younger than 20 minutes, for which APNs would refuse us altogether; then the fault is a clock's.
    package func renew(insteadOf refused: ProviderToken) -> ProviderToken {
        let now = clocks.monotonic()
        return state.withLock { state in
            if let current = state.current, current != refused || !state.schedule.mayRenew(at: now) { return current }
            return mint(&state, now)
        }
    }

    /// Called when APNs said that tokens are renewed too often: none is minted for 20 minutes, and then one by the next
    /// push, if APNs still has not taken the one that there is.
    package func holdBack() {
        let now = clocks.monotonic()
        state.withLock { state in
            state.schedule.holdBack(at: now)
            refusal.store(true, ordering: .relaxed)
        }
    }

    /// Whether APNs' last word about the token is ``holdBack()``'s. To be asked before an answer is looked at for
    /// ``accepted()``, so that a push which goes well costs one load.
    package var isRefused: Bool { refusal.load(ordering: .relaxed) }

    /// Called when APNs takes the token after all.
    package func accepted() {
        state.withLock { state in
            state.schedule.accepted()
            refusal.store(false, ordering: .relaxed)
        }
    }

    /// How old the token is that is sent now; nil when there is none yet.
    package var age: Duration? {
        let now = clocks.monotonic()
        return state.withLock { $0.schedule.age(at: now) }
    }

    private func mint(
        _ state: inout sending (schedule: ProviderTokenSchedule, current: ProviderToken?), _ now: MonotonicInstant
    ) -> ProviderToken {
        let header = Base64URL.encode(Array(#"{"alg":"ES256","kid":"\#(keyID)"}"#.utf8))
        let claims = Base64URL.encode(Array(#"{"iss":"\#(teamID)","iat":\#(clocks.wall().seconds)}"#.utf8))
        let signed = "\(header).\(claims)"
        let signature = Base64URL.encode(key.sign(Array(signed.utf8)))
        let token = ProviderToken(
            authorization: "bearer \(signed).\(signature)", number: (state.current?.number ?? 0) + 1)
        state.current = token
        state.schedule.minted(at: now)
        return token
    }
}

/// A provider token as it stands in the `authorization` header. It does not print.
package struct ProviderToken: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    /// `bearer` and the JWT.
    package let authorization: String
    /// 1 for the source's first, 2 for its second, and so on.
    package let number: Int

    package var description: String { "(provider token)" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// When a provider token is renewed. APNs refuses tokens older than an hour and refuses to be handed new ones more often
/// than each 20 minutes. Ages are measured on the clock that nobody sets.
package struct ProviderTokenSchedule: Sendable {
    /// The age at which a token is renewed.
    package static let renewalAge: Duration = .seconds(50 * 60)
    /// The least age at which APNs accepts a newer one.
    package static let leastAge: Duration = .seconds(20 * 60)

    private var mintedAt: MonotonicInstant?
    private var heldBackUntil: MonotonicInstant?
    private var isRefused = false

    package init() {}

    /// Mints none for as long as APNs wants between two, from now on. To be told the same meanwhile makes it no longer: each
    /// probe is, and the token would never be renewed.
    package mutating func holdBack(at now: MonotonicInstant) {
        if !isHeldBack(at: now) { heldBackUntil = now.advanced(by: Self.leastAge) }
        isRefused = true
    }

    /// Notes that APNs takes the token after all. It stays, and no other is minted before the time that was wanted is over.
    package mutating func accepted() { isRefused = false }

    /// Notes that a token was minted.
    package mutating func minted(at now: MonotonicInstant) {
        mintedAt = now
        isRefused = false
    }

    /// Whether the next push mints another: the token is old, or APNs has had its time without a new one and does not take
    /// this one yet. It says the same of one that was signed by a clock that was ahead, which no waiting makes right.
    package func isRenewalDue(at now: MonotonicInstant) -> Bool {
        guard let age = age(at: now) else { return true }
        return (age >= Self.renewalAge || isRefused) && !isHeldBack(at: now)
    }

    /// Whether a newer one would be accepted.
    package func mayRenew(at now: MonotonicInstant) -> Bool {
        age(at: now).map { $0 >= Self.leastAge && !isHeldBack(at: now) } ?? true
    }

    private func isHeldBack(at now: MonotonicInstant) -> Bool { heldBackUntil.map { now < $0 } ?? false }

    /// The token's age; nil when none was minted yet.
    package func age(at now: MonotonicInstant) -> Duration? { mintedAt.map { now.duration(since: $0) } }
}
