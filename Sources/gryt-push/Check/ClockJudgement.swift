import PushModel

/// Judges this machine's clock by what the services' answers say of the time.
struct ClockJudgement {
    /// One answer's date, to the second, and our own time when the request went and when the answer was there.
    struct Reading: Equatable, Sendable {
        var theirs: WallInstant
        var asked: WallInstant
        var answered: WallInstant

        /// How far our clock is ahead of theirs, in milliseconds; negative when it is behind. An answer is dated somewhere
        /// between the two of ours, and a date stands for any moment of its second.
        var skew: Int64 {
            (asked.milliseconds + answered.milliseconds) / 2 - (theirs.milliseconds + 500)
        }
    }

    /// From here on it is worth a look, in milliseconds, to the relay that runs as well.
    static let notable = Diagnosis.notableSkew / 1_000_000
    /// From here on Google is about to refuse assertions; Apple does after an hour.
    static let dangerous = Diagnosis.dangerousSkew / 1_000_000

    /// Judges them. Of several the nearest counts: a slow answer only ever adds to a difference.
    static func judge(_ readings: [Reading]) -> Judgement {
        guard let skew = readings.map(\.skew).min(by: { $0.magnitude < $1.magnitude }) else {
            return .skipped("no answer has said what time it is")
        }
        let magnitude = Int64(skew.magnitude)
        let direction = skew > 0 ? "ahead of" : "behind"
        guard magnitude > notable else {
            return .ok("this machine's clock is right, within \(max(1, magnitude / 1000)) s")
        }
        let seen = "this machine's clock is \(magnitude / 1000) s \(direction) the push services'"
        let advice = "set it, and have it kept (chrony, systemd-timesyncd)"
        return magnitude > dangerous
            ? .wrong("\(seen); Google refuses the relay from some five minutes on, Apple from an hour", advice)
            : .warning(seen, advice)
    }
}
