import PushModel

/// Puts numbers and moments into words that are read fast and cannot be misread.
enum PageText {
    /// Keeps a number, or a number and its unit, on one line: NARROW NO-BREAK SPACE.
    static let thinSpace = "\u{202F}"

    /// A whole number in groups of three: `12 345 678`, with thin spaces that do not break.
    static func number(_ number: Int) -> String {
        let digits = Array(String(number.magnitude))
        var text = number < 0 ? "\u{2212}" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text += thinSpace }
            text.append(digit)
        }
        return text
    }

    /// A number for an axis, where there is little room: from a million on, in millions or milliards with one decimal.
    static func shortNumber(_ number: Int) -> String {
        guard number >= 1_000_000 else { return self.number(number) }
        let (unit, letter) = number >= 1_000_000_000 ? (1_000_000_000, "G") : (1_000_000, "M")
        let (whole, tenth) = (number / (unit / 10)).quotientAndRemainder(dividingBy: 10)
        return self.number(whole) + (tenth == 0 ? "" : ".\(tenth)") + thinSpace + letter
    }

    /// `1 device`, `2 devices`.
    static func count(_ number: Int, _ one: String, _ many: String) -> String {
        "\(self.number(number)) \(number == 1 ? one : many)"
    }

    /// How long something took: `0.8 ms`, `38 ms`, `1.24 s`, `75 s`.
    static func latency(_ duration: Duration) -> String {
        let microseconds = max(0, duration.wholeNanoseconds / 1000)
        switch microseconds {
        case ..<10_000: return decimal(microseconds / 100, places: 1) + thinSpace + "ms"
        case ..<1_000_000: return "\(microseconds / 1000)\(thinSpace)ms"
        case ..<10_000_000: return decimal(microseconds / 10_000, places: 2) + thinSpace + "s"
        default: return number(Int(microseconds / 1_000_000)) + thinSpace + "s"
        }
    }

    /// How long something has lasted, in whole units: `8 seconds`, `3 hours`. A unit is used from two of it on, so that
    /// what is cut off is less than a third.
    static func span(_ duration: Duration) -> String {
        let seconds = Int(max(0, duration.components.seconds))
        switch seconds {
        case ..<120: return count(seconds, "second", "seconds")
        case ..<7200: return count(seconds / 60, "minute", "minutes")
        case ..<172_800: return count(seconds / 3600, "hour", "hours")
        default: return count(seconds / 86_400, "day", "days")
        }
    }

    /// How long ago it was; nil when the moment is after `now`, for then a clock was set.
    static func ago(_ moment: WallInstant, now: WallInstant) -> String? {
        let milliseconds = now.milliseconds - moment.milliseconds
        guard milliseconds >= 0 else { return nil }
        return span(.milliseconds(milliseconds)) + " ago"
    }

    /// `2026-11-30 06:14:05 UTC`.
    static func moment(_ moment: WallInstant) -> String { "\(moment.day) \(clock(moment)) UTC" }

    /// RFC 3339, for machines that read the page.
    static func machineReadable(_ moment: WallInstant) -> String { "\(moment.day)T\(clock(moment))Z" }

    /// `30 Nov`.
    static func shortDay(_ day: UTCDay) -> String { "\(day.dayOfMonth) \(months[day.month - 1])" }

    /// `30 Nov 2026`.
    static func longDay(_ day: UTCDay) -> String { "\(shortDay(day)) \(day.year)" }

    /// `Nov`.
    static func month(_ day: UTCDay) -> String { months[day.month - 1] }

    /// A number of so many decimal places, `scaled` by as many powers of ten.
    static func decimal(_ scaled: Int64, places: Int) -> String {
        let digits = String(scaled.magnitude)
        let padded = String(repeating: "0", count: max(0, places + 1 - digits.count)) + digits
        return (scaled < 0 ? "-" : "") + padded.dropLast(places) + "." + padded.suffix(places)
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func clock(_ moment: WallInstant) -> String {
        let inDay = Int(moment.seconds - Int64(moment.day.number) * 86_400)
        return [inDay / 3600, inDay / 60 % 60, inDay % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    }
}

extension UTCDay {
    /// Years of the civil calendar.
    var year: Int { part(0) }
    /// 1 to 12.
    var month: Int { part(1) }
    /// 1 to 31.
    var dayOfMonth: Int { part(2) }

    /// ``description`` is the only calendar there is.
    private func part(_ index: Int) -> Int {
        Int(description.split(separator: "-")[index]) ?? 1
    }
}
