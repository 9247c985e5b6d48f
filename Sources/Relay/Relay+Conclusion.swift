import DeviceStore
import PushModel
import PushServices

/// When a push service was asked, and under which credentials.
struct Asked {
    /// A registration made since then is news to the push service, and is kept.
    let at: WallInstant
    /// What is said under others says nothing about these.
    let era: MassDeathGuard.Era

    init(at instant: WallInstant, in era: MassDeathGuard.Era) {
        at = instant
        self.era = era
    }
}

extension Relay {
    /// What a push comes to without the push service being asked, which has not taken this token lately; nil where it is
    /// to be asked.
    func refusal(of device: Device, at now: MonotonicInstant) -> PushVerdict? {
        guard let (refusal, wait) = shared.guardian.refusal(of: device, at: now) else { return nil }
        shared.tally.count(.failed, device.token.platform, on: shared.clocks.wall().day)
        return switch refusal {
        case .doubted: .upstreamFailed(.credentials, retryAfter: wait)
        case .foreign: PushVerdict(.rejected(.foreignDevice))
        }
    }

    /// Draws the consequences of an outcome: counts, notes the day, forgets a dead token. Of a push that was accepted,
    /// what the store does not manage afterwards changes nothing about the answer.
    func conclude(
        _ outcome: DeliveryOutcome, for stored: StoredDevice, kind: Kind, _ asked: Asked
    ) async -> PushVerdict {
        let now = shared.clocks.wall()
        let platform = stored.device.token.platform
        switch outcome {
        case .accepted:
            shared.guardian.noteLiving(stored.device, in: asked.era, at: shared.clocks.monotonic())
            shared.tally.count(.sent(kind), platform, on: now.day)
            if stored.lastUsed < now.day { store.markUsed(stored.hash, on: now.day) }
            return .accepted
        case .unregistered(.stated(let since)):
            if let since, since <= stored.device.registeredAt {
                // The phone came back after the push service had given it up.
                shared.tally.count(.failed, platform, on: now.day)
                return .upstreamFailed(.rejected, retryAfter: .seconds(60))
            }
            // The moment itself still belongs to the living, here as above.
            let last = since?.advanced(by: .milliseconds(-1))
            return await forget(stored, registeredUpTo: last ?? asked.at, on: now.day)
        case .unregistered(.inferred):
            guard shared.guardian.allowsForgetting(stored.device, in: asked.era, at: shared.clocks.monotonic()) else {
                shared.tally.count(.failed, platform, on: now.day)
                return .upstreamFailed(.credentials, retryAfter: RefusedTokens.hold)
            }
            return await forget(stored, registeredUpTo: asked.at, on: now.day)
        case .rejected(.foreignDevice):
            shared.guardian.noteForeign(stored.device, in: asked.era, at: shared.clocks.monotonic())
            shared.tally.count(.failed, platform, on: now.day)
            return PushVerdict(outcome)
        case .rejected, .deferred, .failed:
            shared.tally.count(.failed, platform, on: now.day)
            return PushVerdict(outcome)
        }
    }

    /// Forgets a dead token with every capability that leads to it and was registered before it died. It is gone from the
    /// disk before the sender hears of it, for the sender forgets the capability then, and nobody would ask again.
    private func forget(
        _ stored: StoredDevice, registeredUpTo instant: WallInstant, on day: UTCDay
    ) async -> PushVerdict {
        let platform = stored.device.token.platform
        do throws(StoreError) {
            // This registration is meant in any case, even where a clock that jumped has made it look newer.
            let last = max(instant, stored.device.registeredAt)
            _ = try await store.forget(
                stored.device.token, in: stored.device.environment, registeredBefore: last)
        } catch {
            storeFailed(.forget, error)
            // The next push to it hears the same of the push service, and forgets it then.
            shared.tally.count(.failed, platform, on: day)
            return error.isTransient ? .overloaded : .storeFailed
        }
        shared.tally.count(.gone, platform, on: day)
        return .gone
    }
}
