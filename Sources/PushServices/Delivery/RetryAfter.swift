package import PushModel

/// Reads a `Retry-After` field: seconds or an HTTP date (RFC 9110 section 10.2.3).
package enum RetryAfter {
    /// The longest wait that is passed on. A service that names a longer one is asked again after this.
    package static let longest: Duration = .seconds(86_400)

    /// The wait that the field asks for, counted from `now`; nil when it is absent or unreadable.
    package static func duration(_ field: String?, at now: WallInstant) -> Duration? {
        guard let field else { return nil }
        let text = field.utf8.drop { $0 == UInt8(ascii: " ") }
        if let first = text.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) {
            var seconds: Int64 = 0
            for byte in text {
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
                seconds = min(seconds * 10 + Int64(byte - UInt8(ascii: "0")), longest.components.seconds)
            }
            return .seconds(seconds)
        }
        guard let date = HTTPDate.instant(of: field) else { return nil }
        let wait = Duration.milliseconds(date.milliseconds - now.milliseconds)
        return min(max(wait, .zero), longest)
    }
}

/// Reads the one form of HTTP date that is still sent, `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7).
package enum HTTPDate {
    /// The moment that the text names; nil for any other form.
    package static func instant(of text: String) -> WallInstant? {
        let parts = text.split(separator: " ")
        guard parts.count == 6, parts[5] == "GMT", parts[0].hasSuffix(","),
            let day = number(parts[1], digits: 2), (1...31).contains(day),
            let month = months.firstIndex(of: String(parts[2])),
            let year = number(parts[3], digits: 4)
        else { return nil }
        let time = parts[4].split(separator: ":", omittingEmptySubsequences: false)
        guard time.count == 3, let hour = number(time[0], digits: 2), hour < 24,
            let minute = number(time[1], digits: 2), minute < 60,
            let second = number(time[2], digits: 2), second <= 60
        else { return nil }
        let days = daysSince1970(year: year, month: month + 1, day: day)
        return WallInstant(milliseconds: (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000)
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func number(_ text: Substring, digits: Int) -> Int64? {
        guard text.utf8.count == digits,
            text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return Int64(text)
    }

    private static func daysSince1970(year: Int64, month: Int, day: Int64) -> Int64 {
        // Counted from March, so that the leap day comes last, and from 400 years earlier, which is the same calendar:
        // divisions round towards zero, and January of the year 0000 must not fall below it.
        let shiftedYear = (month <= 2 ? year - 1 : year) + 400
        let shiftedMonth = Int64(month <= 2 ? month + 9 : month - 3)
        let leapDays = shiftedYear / 4 - shiftedYear / 100 + shiftedYear / 400
        return shiftedYear * 365 + leapDays + (153 * shiftedMonth + 2) / 5 + day - 1 - 719_468 - 146_097
    }
}
