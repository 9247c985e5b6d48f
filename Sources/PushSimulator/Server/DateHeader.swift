/// Makes the `date` field that Google's services send and Apple's do not (RFC 9110 section 5.6.7).
enum DateHeader {
    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// The field for a moment from 1970 on, in milliseconds.
    static func field(milliseconds: Int64) -> HeaderField {
        let seconds = max(milliseconds, 0) / 1000
        let (day, inDay) = seconds.quotientAndRemainder(dividingBy: 86_400)
        var year: Int64 = 1970
        var left = day
        while left >= days(in: year) {
            left -= days(in: year)
            year += 1
        }
        var month = 0
        while left >= days(in: month, of: year) {
            left -= days(in: month, of: year)
            month += 1
        }
        let time = [inDay / 3600, inDay / 60 % 60, inDay % 60].map(twoDigits).joined(separator: ":")
        return HeaderField(
            "date", "\(weekdays[Int(day % 7)]), \(twoDigits(left + 1)) \(months[month]) \(year) \(time) GMT")
    }

    private static func isLeap(_ year: Int64) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }
    private static func days(in year: Int64) -> Int64 { isLeap(year) ? 366 : 365 }

    private static func days(in month: Int, of year: Int64) -> Int64 {
        switch month {
        case 1: isLeap(year) ? 29 : 28
        case 3, 5, 8, 10: 30
        default: 31
        }
    }

    private static func twoDigits(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
