import DeviceStore
import PushModel
import RelayAPI
import Telemetry

/// A year of a relay that grows: quiet weekends, one bad evening, and days on which nothing failed. The same each time.
enum InventedYear {
    /// A moment in the small hours of the last day.
    static let now = WallInstant(milliseconds: 1_796_006_285_000)  // 2026-11-30 02:38:05 UTC

    /// The counts of so many days up to today, in the order of `/stats`.
    static func statistics(days: Int) -> DailyStatistics {
        let from = DailyStatistics.first(of: days, until: now.day)
        return DailyStatistics(
            from: from, devices: DeviceCounts(ios: 48_213, android: 17_906),
            daily: rows.filter { $0.count.day >= from }.sorted { $0.count < $1.count })
    }

    /// The whole relay, with nothing wrong.
    static func snapshot(days: Int, problems: [Problem] = []) -> OperatorSnapshot {
        var apns = ConnectionSnapshot(upstream: .apns)
        (apns.open, apns.inFlight, apns.streamLimit) = (2, 7, 2000)
        let sandbox = ConnectionSnapshot(upstream: .apnsSandbox)
        var fcm = ConnectionSnapshot(upstream: .fcm)
        (fcm.open, fcm.draining, fcm.inFlight, fcm.streamLimit) = (2, 1, 3, 200)
        var oauth = ConnectionSnapshot(upstream: .oauth)
        (oauth.open, oauth.streamLimit) = (1, 100)
        return OperatorSnapshot(
            version: "2.0.0", now: now, uptime: .seconds(9 * 86_400 + 3700), isDraining: false,
            checks: ReadinessCheck.Name.allCases.map { ReadinessCheck($0, fault: nil) },
            statistics: statistics(days: days),
            credentials: [
                CredentialSnapshot(
                    platform: .ios, state: .accepted, tokenAge: .seconds(1260),
                    lastAccepted: now.advanced(by: .seconds(-2))),
                CredentialSnapshot(
                    platform: .android, state: .accepted, tokenAge: .seconds(2480),
                    lastAccepted: now.advanced(by: .seconds(-4))),
            ],
            connections: [apns, sandbox, fcm, oauth],
            latencies: [
                LatencySnapshot(
                    platform: .ios, answers: 1840, median: .milliseconds(43), p99: .milliseconds(212),
                    lastSuccess: now.advanced(by: .seconds(-2))),
                LatencySnapshot(
                    platform: .android, answers: 655, median: .microseconds(96_400), p99: .microseconds(1_240_000),
                    lastSuccess: now.advanced(by: .seconds(-4))),
            ], pushesInFlight: 10, silentLoops: 0, problems: problems)
    }

    /// What goes wrong at night.
    static let problems = [
        Problem(
            .error,
            "Apple refuses the credentials (InvalidProviderToken): no push reaches an iPhone. Check APNS_KEY_ID and "
                + "APNS_TEAM_ID, and whether the key was revoked at Apple",
            since: now.advanced(by: .seconds(-11_640))),
        Problem(
            .warning, "The disk that holds the database has 412 MB left",
            since: now.advanced(by: .seconds(-86_400))),
    ]

    private static let rows: [DailyTotal] = {
        var numbers = LinearNumbers(state: 20_261_130)
        var rows: [DailyTotal] = []
        for age in 0..<365 {
            let day = UTCDay(number: now.day.number - Int32(age))
            // Grows to fourfold over the year; 1970-01-01 was a Thursday.
            let growth = 100 - age * 75 / 365
            let isWeekend = [2, 3].contains((Int(day.number)) % 7)
            let dayShare = age == 0 ? 11 : 100
            func add(_ event: CountedEvent, _ platform: Platform, _ kind: Kind?, _ usual: Int) {
                let swing = 85 + numbers.next(below: 30)
                let n = usual * growth * swing * (isWeekend ? 60 : 100) * dayShare / 100_000_000
                if n > 0 {
                    rows.append(
                        DailyTotal(count: DailyCount(day: day, event: event, platform: platform, kind: kind), n: n))
                }
            }
            for (platform, share) in [(Platform.ios, 27), (.android, 10)] {
                add(.sent, platform, .message, 1630 * share)
                add(.sent, platform, .mention, 520 * share)
                add(.sent, platform, .dm, 340 * share)
                add(.registered, platform, nil, 9 * share)
                add(.gone, platform, nil, age == 120 ? 70 * share : 3 * share)
                // One evening on which Google failed, and a few pushes on some other days.
                add(
                    .failed, platform, nil,
                    age == 17 && platform == .android ? 4100 : numbers.next(below: 4) * share / 9)
            }
        }
        return rows
    }()
}

/// Numbers that look random and are the same each time (Knuth's MMIX generator).
private struct LinearNumbers {
    var state: UInt64

    mutating func next(below bound: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(state >> 33) % bound
    }
}
