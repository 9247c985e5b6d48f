/// Writes moments as RFC 3339 does.
enum Timestamp {
    /// `YYYY-MM-DDThh:mm:ss.mmmZ` for milliseconds since 1970, in UTC, within the years 0000 to 9999.
    static func text(milliseconds: Int64) -> String {
        let day = floored(milliseconds, by: 86_400_000)
        let inDay = Int(milliseconds - day * 86_400_000)
        let (year, month, dayOfMonth) = civil(daysSince1970: day)
        let time = [inDay / 3_600_000, inDay / 60_000 % 60, inDay / 1000 % 60].map { padded($0, 2) }
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(dayOfMonth, 2))"
            + "T\(time[0]):\(time[1]):\(time[2]).\(padded(inDay % 1000, 3))Z"
    }

    /// The civil date, counted from 0000-03-01 in eras of 400 years so that the leap day ends a year.
    private static func civil(daysSince1970 day: Int64) -> (year: Int, month: Int, day: Int) {
        let shifted = day + 719_468
        let era = floored(shifted, by: 146_097)
        let dayOfEra = Int(shifted - era * 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = yearOfEra + Int(era) * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }

    private static func floored(_ value: Int64, by divisor: Int64) -> Int64 {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }

    private static func padded(_ value: Int, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
