package import PushModel

/// How fast a project may send once Google has said that it sends too much (429, and not for one device). A value without
/// I/O; the clock is handed in.
///
/// *Free*: everything passes. Leaves for *held* at such an answer: half as many a second as went until then may go.
///
/// *Held*: stays at that half as long as Google asked for, or a minute, and no further answer halves it again: what was
/// sent before is still being refused, and a quota that is counted by the minute is used up until the minute is over.
/// Then it grows, by as much as would lead from nothing to the old rate in a minute, as Google asks (FCM: "Scale your FCM
/// app"). Another such answer to a push that left since then halves it anew. Leaves for *free* at twice the old rate.
///
/// Google does not always say whose quota it is. Where it names the project, one answer is enough. Where it names nobody it
/// may mean one phone, which must not slow down all others: then it takes three phones, and more than a quarter of what was
/// sent in the last seconds.
///
/// What may not go is refused at once; nothing waits here.
package struct SendPace: Sendable {
    /// What has changed.
    package enum Change: Sendable, Equatable {
        /// So many pushes a second may go from now on.
        case halved(perSecond: Double)
        /// Any number may.
        case lifted
    }

    /// How long the half is kept where Google does not say how long to wait. It asks for a minute then.
    package static let usualHold: Duration = .seconds(60)
    /// It is kept at least so long, and at most this long, whatever Google says.
    package static let holds: ClosedRange<Duration> = .seconds(1) ... .seconds(300)
    /// From nothing to the old rate, if it grew from there.
    package static let ramp: Duration = .seconds(60)
    /// However little may go, so many a second do, or nobody would see that more may.
    package static let slowest = 1.0
    /// So many phones must have met an answer that names nobody, within ``phonesWithin``.
    package static let leastPhones = 3
    /// As long as the share of refusals is looked at for.
    package static let phonesWithin: Duration = .seconds(10)
    /// And more than one in so many of the pushes in the last five to ten seconds.
    package static let notableShare = 4
    /// The least that somebody is told to wait whose push was not sent.
    package static let leastWait: Duration = .seconds(10)

    private struct Hold {
        /// The rate that was too much.
        var old: Double
        /// The rate until ``end``.
        var half: Double
        var end: MonotonicInstant
        /// Pushes that may go at once: what the rate has left over, of one second at most.
        var allowance = 0.0
        var countedAt: MonotonicInstant

        func rate(at now: MonotonicInstant) -> Double {
            let growing = max(now.duration(since: end), .zero)
            return half + old * (growing / SendPace.ramp)
        }
    }

    private var meter = SendMeter()
    private var refusals = SendMeter()
    /// Some of the phones that ``refusals`` are about, by numbers that say nothing more, and when each was last refused.
    private var phones: [(phone: Int, at: MonotonicInstant)] = []
    private var hold: Hold?

    /// Free, with nothing sent.
    package init() {}

    /// Whether there is a limit.
    package var isHeld: Bool { hold != nil }

    /// Pushes that may go in a second; nil for any number, also where nobody has come since the limit grew away.
    package func limit(at now: MonotonicInstant) -> Double? {
        guard let hold else { return nil }
        let rate = hold.rate(at: now)
        return rate < hold.old * 2 ? rate : nil
    }

    /// Notes that a push goes out, be it for the first time or once more.
    package mutating func sent(at now: MonotonicInstant) { meter.note(at: now) }

    /// Asks whether a push may go: nil for yes, otherwise how long to wait. `lot`, from 0 to 1, spreads that.
    package mutating func admit(at now: MonotonicInstant, lot: Double) -> (wait: Duration?, change: Change?) {
        guard var held = hold else { return (nil, nil) }
        let rate = held.rate(at: now)
        guard rate < held.old * 2 else {
            hold = nil
            return (nil, .lifted)
        }
        let passed = max(now.duration(since: held.countedAt), .zero)
        held.allowance = min(held.allowance + rate * (passed / .seconds(1)), max(rate, 1))
        held.countedAt = now
        let mayGo = held.allowance >= 1
        if mayGo { held.allowance -= 1 }
        hold = held
        return (mayGo ? nil : max(held.end.duration(since: now), Self.leastWait) + Self.leastWait * lot, nil)
    }

    /// Google has refused a push because of a quota that is not the phone's, as far as one can tell.
    ///
    /// - Parameters:
    ///   - phone: tells it from others, and says nothing more.
    ///   - isNamed: whether Google says that it is the project's.
    ///   - sentAt: when that push left.
    ///   - wait: what Google asked for, where it did.
    package mutating func throttled(
        phone: Int, isNamed: Bool, sentAt: MonotonicInstant, wait: Duration?, at now: MonotonicInstant
    ) -> Change? {
        refusals.note(at: now)
        phones.removeAll { $0.phone == phone || now.duration(since: $0.at) > Self.phonesWithin }
        phones.append((phone, now))
        if phones.count > Self.leastPhones { phones.removeFirst() }
        if let hold, sentAt < hold.end { return nil }
        let isOfMany =
            phones.count >= Self.leastPhones
            && refusals.recent(at: now) * Self.notableShare > meter.recent(at: now)
        guard isNamed || isOfMany else { return nil }
        let measured = meter.perSecond(at: now)
        let old = max(min(measured, limit(at: now) ?? measured), Self.slowest)
        let half = max(old / 2, Self.slowest)
        let length = min(max(wait ?? Self.usualHold, Self.holds.lowerBound), Self.holds.upperBound)
        hold = Hold(old: old, half: half, end: now.advanced(by: length), countedAt: now)
        return .halved(perSecond: half)
    }
}

/// How many pushes went in the last minute, which is how Google counts. A value without I/O.
struct SendMeter: Sendable {
    private static let slotCount: Int64 = 12
    private static let slotLength: Int64 = 5_000_000_000

    private var counts = [Int](repeating: 0, count: Int(slotCount))
    private var newest: Int64 = .min
    private var first = MonotonicInstant(nanoseconds: 0)

    /// Notes one.
    mutating func note(at now: MonotonicInstant) {
        if advance(to: now) { first = now }
        counts[Int(newest % Self.slotCount)] += 1
    }

    /// A second's share of the last minute, or of the time since the first push where that is shorter.
    mutating func perSecond(at now: MonotonicInstant) -> Double {
        if advance(to: now) { return 0 }
        let begin = max(first.nanoseconds, (newest - Self.slotCount + 1) * Self.slotLength)
        return Double(counts.reduce(0, +)) / max(Double(now.nanoseconds - begin) / 1e9, 1)
    }

    /// How many went in the last five to ten seconds.
    mutating func recent(at now: MonotonicInstant) -> Int {
        _ = advance(to: now)
        return counts[Int(newest % Self.slotCount)]
            + counts[Int((newest + Self.slotCount - 1) % Self.slotCount)]
    }

    /// Lets go of what is older than a minute; true when nothing is left.
    private mutating func advance(to now: MonotonicInstant) -> Bool {
        let current = max(now.nanoseconds / Self.slotLength, newest)
        if newest > .min, current - newest < Self.slotCount {
            for slot in newest..<current { counts[Int((slot + 1) % Self.slotCount)] = 0 }
        } else {
            counts = [Int](repeating: 0, count: Int(Self.slotCount))
        }
        newest = current
        return counts.allSatisfy { $0 == 0 }
    }
}
