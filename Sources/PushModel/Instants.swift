#if canImport(Glibc)
    import Glibc
#endif

/// A moment on the clock on the wall, which people and push services agree on and which can jump.
package struct WallInstant: Sendable, Comparable, Hashable {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    package let milliseconds: Int64

    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    package static func < (left: WallInstant, right: WallInstant) -> Bool { left.milliseconds < right.milliseconds }

    /// Whole seconds since 1970, rounded down: what a JWT's `iat` wants.
    package var seconds: Int64 { milliseconds.flooredDivision(by: 1000) }

    /// The UTC day this moment falls on.
    package var day: UTCDay { UTCDay(number: Int32(clamping: milliseconds.flooredDivision(by: 86_400_000))) }

    /// The moment this long after (before, when negative).
    package func advanced(by duration: Duration) -> WallInstant {
        WallInstant(milliseconds: milliseconds + duration.wholeMilliseconds)
    }
}

/// A moment on a clock that is never set and means nothing outside this process. While the machine is suspended it goes on,
/// so that whoever wakes up after two hours finds two hours gone: windows empty, tokens old, connections stale.
package struct MonotonicInstant: Sendable, Comparable, Hashable {
    /// Nanoseconds since some moment before the process began.
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    package static func < (left: MonotonicInstant, right: MonotonicInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// The moment this long after (before, when negative).
    package func advanced(by duration: Duration) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: nanoseconds + duration.wholeNanoseconds)
    }

    /// How long after `other` this is; negative when it is before.
    package func duration(since other: MonotonicInstant) -> Duration {
        .nanoseconds(nanoseconds - other.nanoseconds)
    }
}

/// A moment on the clock that stands still while the machine is suspended (`CLOCK_MONOTONIC`, clock_gettime(2)). For how long
/// this process itself took or said nothing, and for those who go by that clock: timers, conditions, systemd.
package struct RunningInstant: Sendable, Comparable, Hashable {
    /// Nanoseconds since some moment before the process began.
    package let nanoseconds: Int64

    /// The moment so many nanoseconds after that one.
    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// The present moment.
    package static var now: RunningInstant {
        RunningInstant(nanoseconds: nanosecondsOn(CLOCK_MONOTONIC))
    }

    package static func < (left: RunningInstant, right: RunningInstant) -> Bool { left.nanoseconds < right.nanoseconds }

    /// The moment this long after (before, when negative).
    package func advanced(by duration: Duration) -> RunningInstant {
        RunningInstant(nanoseconds: nanoseconds + duration.wholeNanoseconds)
    }

    /// How long after `other` this is; negative when it is before.
    package func duration(since other: RunningInstant) -> Duration {
        .nanoseconds(nanoseconds - other.nanoseconds)
    }
}

/// A day in UTC, the finest time that the store keeps about the use of a capability.
package struct UTCDay: Sendable, Comparable, Hashable, CustomStringConvertible {
    /// Days since 1970-01-01.
    package let number: Int32

    package init(number: Int32) { self.number = number }

    package static func < (left: UTCDay, right: UTCDay) -> Bool { left.number < right.number }

    /// `YYYY-MM-DD`, by the civil calendar.
    package var description: String {
        // Days are counted from 0000-03-01 in eras of 400 years, so that the leap day ends a year.
        let shifted = Int(number) + 719_468
        let era = shifted.flooredDivision(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
    }

    private func padded(_ value: Int, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

/// The two clocks, handed to whoever needs the time, so that a test can set them.
package struct Clocks: Sendable {
    /// The clock on the wall.
    package var wall: @Sendable () -> WallInstant
    /// The clock that nobody sets.
    package var monotonic: @Sendable () -> MonotonicInstant

    package init(
        wall: @escaping @Sendable () -> WallInstant, monotonic: @escaping @Sendable () -> MonotonicInstant
    ) {
        self.wall = wall
        self.monotonic = monotonic
    }

    /// The machine's own clocks.
    package static let system = Clocks(
        wall: {
            WallInstant(milliseconds: nanosecondsOn(CLOCK_REALTIME) / 1_000_000)
        },
        monotonic: {
            // The one that goes on while the machine is suspended: docs/decisions/suspended-time.md
            MonotonicInstant(nanoseconds: nanosecondsOn(CLOCK_BOOTTIME))
        })
}

/// What one of the system's clocks shows.
private func nanosecondsOn(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    unsafe _ = clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

extension FixedWidthInteger {
    fileprivate func flooredDivision(by divisor: Self) -> Self {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}

extension Duration {
    /// Rounded towards zero.
    package var wholeMilliseconds: Int64 { Int64(attoseconds / 1_000_000_000_000_000) }

    /// Rounded towards zero.
    package var wholeNanoseconds: Int64 { Int64(attoseconds / 1_000_000_000) }

    /// Rounded up and at least one: what `Retry-After` says.
    package var secondsRoundedUp: Int64 {
        max(1, components.seconds + (components.attoseconds > 0 ? 1 : 0))
    }
}
