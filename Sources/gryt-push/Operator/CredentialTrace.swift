import PushModel
import PushServices
import RelayAPI
import Synchronization

/// What the answers that one loop saw say about a platform's credentials. Instants are those of the clock that never
/// jumps, in nanoseconds.
struct CredentialTrace: Equatable {
    /// When they were last accepted.
    var lastAccepted: Int64?
    /// When they were last refused.
    var lastRefused: Int64?
    /// When the last row of refusals began, without an acceptance in between.
    var refusedSince: Int64?

    /// Whether the last word about them was a refusal.
    var isRefused: Bool {
        guard let lastRefused else { return false }
        return lastRefused > (lastAccepted ?? .min)
    }

    /// What several loops saw, together: the latest word counts, whoever heard it. A row of refusals on one loop that began
    /// before another loop saw an acceptance counts from that acceptance.
    static func together(_ traces: [CredentialTrace]) -> CredentialTrace {
        var whole = CredentialTrace()
        whole.lastAccepted = traces.compactMap(\.lastAccepted).max()
        whole.lastRefused = traces.compactMap(\.lastRefused).max()
        let floor = whole.lastAccepted ?? .min
        whole.refusedSince = traces.filter { ($0.lastRefused ?? .min) > floor }.compactMap(\.refusedSince)
            .map { max($0, floor) }.min()
        return whole
    }
}

/// Keeps a trace as answers come. One loop writes; any thread reads.
final class CredentialRecord: Sendable {
    private static let never: Int64 = .min

    private let lastAccepted = Atomic<Int64>(never)
    private let lastRefused = Atomic<Int64>(never)
    private let refusedSince = Atomic<Int64>(never)

    /// Takes what an answer said.
    func note(_ evidence: CredentialEvidence, at now: MonotonicInstant) {
        switch evidence {
        case .accepted: lastAccepted.store(now.nanoseconds, ordering: .relaxed)
        case .refused:
            let refused = lastRefused.load(ordering: .relaxed)
            if refused == Self.never || lastAccepted.load(ordering: .relaxed) >= refused {
                refusedSince.store(now.nanoseconds, ordering: .relaxed)
            }
            lastRefused.store(now.nanoseconds, ordering: .relaxed)
        case .none: break
        }
    }

    /// Forgets what was said. By whoever notes.
    func forget() {
        lastAccepted.store(Self.never, ordering: .relaxed)
        lastRefused.store(Self.never, ordering: .relaxed)
        refusedSince.store(Self.never, ordering: .relaxed)
    }

    /// What there is by now.
    var trace: CredentialTrace {
        func instant(_ atomic: borrowing Atomic<Int64>) -> Int64? {
            let value = atomic.load(ordering: .relaxed)
            return value == Self.never ? nil : value
        }
        return CredentialTrace(
            lastAccepted: instant(lastAccepted), lastRefused: instant(lastRefused), refusedSince: instant(refusedSince))
    }
}

/// Turns instants of the clock that nobody sets into moments on the wall, as the clock on the wall reckons now.
struct WallReckoning {
    let wall: WallInstant
    let monotonic: MonotonicInstant

    init(_ clocks: Clocks) {
        wall = clocks.wall()
        monotonic = clocks.monotonic()
    }

    /// When that was.
    func instant(_ nanoseconds: Int64) -> WallInstant {
        wall.advanced(by: .nanoseconds(nanoseconds - monotonic.nanoseconds))
    }
}

extension CredentialSnapshot.State {
    /// What a platform's credentials are in.
    ///
    /// - Parameters:
    ///   - pushes: what answers to pushes said.
    ///   - tokens: what answers to requests for an access token said. One push that was taken proves the account's
    ///     rights; a token alone does not, but without one no push gets anywhere.
    init(isSet: Bool, pushes: CredentialTrace, tokens: CredentialTrace, reckoning: WallReckoning) {
        guard isSet else {
            self = .unset
            return
        }
        let refusals = [pushes, tokens].filter(\.isRefused).compactMap(\.refusedSince)
        if let since = refusals.min() {
            self = .refused(since: reckoning.instant(since))
        } else if pushes.lastAccepted != nil || tokens.lastAccepted != nil {
            self = .accepted
        } else {
            self = .untried
        }
    }
}
