#if canImport(Glibc)
    import Glibc
#endif

/// The `Date` line of answers, made anew once a second (RFC 9110 section 6.6.1).
struct DateLine {
    private var second: time_t = -1
    private var line: [UInt8] = []

    /// Adds the line of now, with its end.
    mutating func append(to output: inout [UInt8]) {
        let now = time(nil)
        if now != second {
            second = now
            line = Array("Date: \(httpDate(now))\r\n".utf8)
        }
        output += line
    }
}

/// A time as `Date` wants it (RFC 9110 section 5.6.7).
func httpDate(_ seconds: time_t) -> String {
    var seconds = seconds
    var parts = unsafe tm()
    unsafe _ = gmtime_r(&seconds, &parts)
    let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    func twoDigits(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let time = unsafe [parts.tm_hour, parts.tm_min, parts.tm_sec].map(twoDigits).joined(separator: ":")
    let month = unsafe months[Int(parts.tm_mon)]
    let year = unsafe parts.tm_year + 1900
    let day = unsafe parts.tm_mday
    let weekday = unsafe days[Int(parts.tm_wday)]
    return "\(weekday), \(twoDigits(day)) \(month) \(year) \(time) GMT"
}
