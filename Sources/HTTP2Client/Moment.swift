import Glibc

/// A moment on the clock that nobody sets and that goes on while the machine is suspended, so that a connection that slept
/// through an hour knows that it did. The clock of `MonotonicInstant`.
///
/// Whole nanoseconds instead of `ContinuousClock.Instant`, whose 128-bit arithmetic is paid for with every request.
struct Moment: Sendable, Comparable, Hashable {
    /// Nanoseconds since the machine started.
    let nanoseconds: Int64

    /// The present moment.
    static var now: Moment {
        var time = timespec()
        unsafe _ = clock_gettime(CLOCK_BOOTTIME, &time)
        return Moment(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    static func < (left: Moment, right: Moment) -> Bool { left.nanoseconds < right.nanoseconds }

    /// The moment this long after; a length beyond what fits means never.
    static func + (moment: Moment, duration: Duration) -> Moment {
        moment + duration.wholeNanoseconds
    }

    /// The moment this many nanoseconds after.
    static func + (moment: Moment, nanoseconds: Int64) -> Moment {
        let (sum, overflows) = moment.nanoseconds.addingReportingOverflow(nanoseconds)
        return Moment(nanoseconds: overflows ? .max : sum)
    }

    /// How long `earlier` is before this moment; negative when it is after.
    func duration(since earlier: Moment) -> Duration {
        .nanoseconds(nanoseconds - earlier.nanoseconds)
    }
}

extension Duration {
    /// Rounded towards zero and held between 0 and 100 years, which is for ever to a connection.
    var wholeNanoseconds: Int64 {
        let century: Int128 = 3_155_760_000_000_000_000
        return Int64(min(max(attoseconds / 1_000_000_000, 0), century))
    }
}
