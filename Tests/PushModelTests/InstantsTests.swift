import PushModel
import Testing

@Suite(.timeLimit(.minutes(1)))
struct InstantsTests {
    @Test(
        arguments: [
            (0, "1970-01-01"), (1, "1970-01-02"), (-1, "1969-12-31"), (364, "1970-12-31"), (365, "1971-01-01"),
            (789, "1972-02-29"),
            (790, "1972-03-01"), (10_956, "1999-12-31"), (10_957, "2000-01-01"), (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (20_454, "2026-01-01"), (47_540, "2100-02-28"), (47_541, "2100-03-01"), (-135_140, "1600-01-01"),
            (-135_081, "1600-02-29"),
            (-135_080, "1600-03-01"), (-25_567, "1900-01-01"), (-25_509, "1900-02-28"), (-25_508, "1900-03-01"),
            (2_932_896, "9999-12-31"),
            (-719_468, "0000-03-01"), (-719_528, "0000-01-01"),
        ] as [(Int32, String)])
    func `a day is written by the civil calendar`(number: Int32, text: String) {
        #expect(UTCDay(number: number).description == text)
    }

    @Test func `days of four centuries follow one another as a calendar says`() {
        var (year, month, day) = (1899, 12, 31)
        let lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        for number in Int32(-25_568)..<121_000 {
            let parts = UTCDay(number: number).description.split(separator: "-").compactMap { Int($0) }
            guard parts == [year, month, day] else {
                Issue.record("day \(number) is \(parts), not \([year, month, day])")
                return
            }
            let isLeap = year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
            day += 1
            if day > lengths[month - 1] + (isLeap && month == 2 ? 1 : 0) { (day, month) = (1, month + 1) }
            if month > 12 { (month, year) = (1, year + 1) }
        }
    }

    @Test(
        arguments: [
            (0, 0, 0), (1, 0, 0), (-1, -1, -1), (86_399_999, 86_399, 0), (86_400_000, 86_400, 1),
            (-86_400_000, -86_400, -1),
            (-86_400_001, -86_401, -2), (1_767_225_599_999, 1_767_225_599, 20_453),
        ] as [(Int64, Int64, Int32)])
    func `an instant falls into its second and its day, before 1970 too`(
        milliseconds: Int64, seconds: Int64, day: Int32
    ) {
        let instant = WallInstant(milliseconds: milliseconds)
        #expect(instant.seconds == seconds)
        #expect(instant.day == UTCDay(number: day))
    }

    @Test func `an instant of no calendar falls on its last day instead of trapping`() {
        #expect(WallInstant(milliseconds: .max).day == UTCDay(number: .max))
        #expect(WallInstant(milliseconds: .min).day == UTCDay(number: .min))
        #expect(!UTCDay(number: .max).description.isEmpty)
        #expect(!UTCDay(number: .min).description.isEmpty)
    }

    @Test func `instants move and are compared`() {
        let wall = WallInstant(milliseconds: 1000)
        #expect(wall.advanced(by: .seconds(2)) == WallInstant(milliseconds: 3000))
        #expect(wall.advanced(by: .milliseconds(-1)) < wall)
        let monotonic = MonotonicInstant(nanoseconds: 5)
        #expect(monotonic.advanced(by: .nanoseconds(7)).duration(since: monotonic) == .nanoseconds(7))
        #expect(monotonic.duration(since: monotonic.advanced(by: .seconds(1))) == .seconds(-1))
        #expect(UTCDay(number: 1) < UTCDay(number: 2))
    }

    @Test(
        arguments: [
            (Duration.zero, 1), (.nanoseconds(1), 1), (.milliseconds(999), 1), (.seconds(1), 1),
            (.milliseconds(1001), 2), (.seconds(60), 60),
            (.seconds(59) + .nanoseconds(1), 60), (.seconds(-5), 1),
        ] as [(Duration, Int64)])
    func `seconds to wait are rounded up and at least one`(duration: Duration, seconds: Int64) {
        #expect(duration.secondsRoundedUp == seconds)
    }

    @Test func `whole units are rounded towards zero`() {
        #expect(Duration.microseconds(1999).wholeMilliseconds == 1)
        #expect(Duration.microseconds(-1999).wholeMilliseconds == -1)
        #expect(Duration.milliseconds(1500).wholeNanoseconds == 1_500_000_000)
        #expect(Duration(secondsComponent: 0, attosecondsComponent: 1_999_999_999).wholeNanoseconds == 1)
        #expect(Duration(secondsComponent: 0, attosecondsComponent: -1_999_999_999).wholeNanoseconds == -1)
        #expect(Duration(secondsComponent: -7, attosecondsComponent: -5_000_000_000).wholeNanoseconds == -7_000_000_005)
        #expect(Duration.seconds(9_223_372_036).wholeNanoseconds == 9_223_372_036_000_000_000)
        #expect(Duration.nanoseconds(Int64.max).wholeNanoseconds == .max)
        #expect(Duration.milliseconds(Int64.min).wholeMilliseconds == .min)
    }

    @Test func `the machine's clocks go on`() {
        let clocks = Clocks.system
        let before = clocks.monotonic()
        #expect(clocks.monotonic() >= before)
        // Some moment after this was written, and in milliseconds.
        #expect(clocks.wall() > WallInstant(milliseconds: 1_760_000_000_000))
        #expect(clocks.wall() < WallInstant(milliseconds: 10_000_000_000_000))
    }
}
