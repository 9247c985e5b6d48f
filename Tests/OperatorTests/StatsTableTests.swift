import DeviceStore
import PushModel
import RelayAPI
import Testing

@testable import gryt_push

@Suite(.timeLimit(.minutes(1)))
struct StatsTableTests {
    private static let day = UTCDay(number: 20_000)

    private func row(_ kind: Kind, _ platform: Platform, _ n: Int) -> DailyTotal {
        DailyTotal(count: DailyCount(day: Self.day, event: .sent, platform: platform, kind: kind), n: n)
    }

    @Test func `a broken row with the largest number there is stays a number, in whatever it is a part of`() {
        for rows in [
            [row(.dm, .ios, .max), row(.dm, .ios, 1)], [row(.dm, .ios, .max), row(.mention, .ios, 1)],
            [row(.dm, .ios, .max), row(.dm, .android, 1)],
        ] {
            let statistics = DailyStatistics(
                from: Self.day, devices: DeviceCounts(ios: 0, android: 0), daily: rows)
            let lines = StatsTable.text(statistics, today: Self.day).split(separator: "\n")
            let pushes = lines.dropFirst(2).prefix(2).map { $0.split(separator: " ")[1] }
            #expect(pushes == ["\(Int.max)", "\(Int.max)"])
        }
    }
}
