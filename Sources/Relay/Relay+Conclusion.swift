import DeviceStore
import PushModel
import PushServices

extension Relay {
    /// Draws the consequences of an outcome: counts, notes the day, forgets a dead token. Of a push that was accepted,
    /// what the store does not manage afterwards changes nothing about the answer.
    ///
    /// - Parameter askedAt: when the push service was asked. A registration made since then is news to it, and is kept.
    func conclude(
        _ outcome: DeliveryOutcome, for stored: StoredDevice, kind: Kind, askedAt: WallInstant
    ) async -> PushVerdict {
        let now = shared.clocks.wall()
        let platform = stored.device.token.platform
        switch outcome {
        case .accepted:
            shared.guardian.noteLiving(stored.device, at: shared.clocks.monotonic())
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
            return await forget(stored, registeredUpTo: last ?? askedAt, on: now.day)
        case .unregistered(.inferred):
            guard shared.guardian.allowsForgetting(stored.device, at: shared.clocks.monotonic()) else {
                shared.tally.count(.failed, platform, on: now.day)
                return .upstreamFailed(.credentials, retryAfter: .seconds(300))
            }
            return await forget(stored, registeredUpTo: askedAt, on: now.day)
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
            _ = try await store.forget(stored.device.token, registeredBefore: last)
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
