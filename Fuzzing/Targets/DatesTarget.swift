import Glibc
import PushModel
import PushServices

@testable import Telemetry

/// `Retry-After` in both forms, and dates in both directions against the C library's.
enum DatesTarget {
    static func take(_ bytes: [UInt8]) {
        var input = Input(bytes)
        let milliseconds = (0..<6).reduce(into: Int64(0)) { sum, _ in sum = sum << 8 | Int64(input.byte()) }
        // From the year 0 to the year 9999, which is what the forms can say.
        let now = WallInstant(milliseconds: milliseconds % 315_537_897_600_000 - 62_135_596_800_000)
        let text = input.rest().text
        checkField(text, at: now)
        checkWriting(now)
    }

    private static func checkField(_ text: String, at now: WallInstant) {
        if let wait = RetryAfter.duration(text, at: now) {
            expect(wait >= .zero && wait <= RetryAfter.longest, "a wait is within its bounds")
        }
        let digits = text.utf8.drop { $0 == UInt8(ascii: " ") }
        if !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) {
            let expected = min(UInt64(String(decoding: digits, as: UTF8.self)) ?? .max, 86_400)
            expect(RetryAfter.duration(text, at: now) == .seconds(Int64(expected)), "seconds are taken as they stand")
        }
        if let instant = HTTPDate.instant(of: text) {
            expect(instant.milliseconds % 1000 == 0, "a date has whole seconds")
            // Read again after it was written by somebody else.
            let again = HTTPDate.instant(of: written(instant, "%a, %d %b %Y %H:%M:%S GMT"))
            expect(again == instant || instant.milliseconds > 253_402_300_799_000, "a date stays what it was")
        }
    }

    private static func checkWriting(_ moment: WallInstant) {
        let whole = WallInstant(milliseconds: moment.seconds * 1000)
        let date = HTTPDate.instant(of: written(whole, "%a, %d %b %Y %H:%M:%S GMT"))
        expect(date == whole, "a date of HTTP is read as what it says")
        expect(moment.day.description == written(moment, "%Y-%m-%d"), "a day is the calendar's")
        let text = Timestamp.text(milliseconds: moment.milliseconds)
        expect(text.prefix(19) == written(moment, "%Y-%m-%dT%H:%M:%S"), "a timestamp is the calendar's")
        expect(text.utf8.count == 24, "a timestamp has milliseconds")
    }

    /// By the C library, with a year of four digits.
    private static func written(_ instant: WallInstant, _ form: String) -> String {
        var seconds = time_t(instant.seconds)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        let year = String(parts.tm_year + 1900)
        let padded = String(repeating: "0", count: max(0, 4 - year.utf8.count)) + year
        var buffer = [CChar](repeating: 0, count: 64)
        let count = strftime(&buffer, buffer.count, form.replacing("%Y", with: padded), &parts)
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
