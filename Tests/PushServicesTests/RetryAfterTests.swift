import PushModel
import PushServices
import Testing

@Suite(.timeLimit(.minutes(1)))
struct RetryAfterTests {
    /// 1994-11-06T08:49:37Z, the date in the example of RFC 9110.
    static let now = WallInstant(milliseconds: 784_111_777_000)

    @Test(arguments: [
        ("0", Duration.seconds(0)), ("30", .seconds(30)), (" 30", .seconds(30)),
        ("99999999999999999999", .seconds(86_400)),
        ("Sun, 06 Nov 1994 08:50:07 GMT", .seconds(30)), ("Sun, 06 Nov 1994 08:49:00 GMT", .zero),
        ("Fri, 06 Nov 2094 08:49:37 GMT", .seconds(86_400)), ("Thu, 29 Feb 1996 00:00:00 GMT", .seconds(86_400)),
    ])
    func `seconds and dates are read, and a wait is at most a day`(_ field: String, _ wait: Duration) {
        #expect(RetryAfter.duration(field, at: Self.now) == wait)
    }

    @Test(arguments: [
        "", " ", "-1", "+1", "1.5", "1s", "soon", "Sun, 06 Nov 1994 08:49:37", "Sun, 32 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    ])
    func `anything else counts as absent`(_ field: String) {
        #expect(RetryAfter.duration(field, at: Self.now) == nil)
    }

    @Test func `absent is absent`() {
        #expect(RetryAfter.duration(nil, at: Self.now) == nil)
    }

    @Test(arguments: [
        ("Thu, 01 Jan 1970 00:00:00 GMT", Int64(0)), ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600_000),
        ("Mon, 01 Mar 2100 00:00:00 GMT", 4_107_542_400_000), ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777_000),
        // A leap second is the first of the next minute.
        ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800_000), ("Sat, 31 Dec 2016 23:59:59 GMT", 1_483_228_799_000),
        ("Sat, 01 Jan 0000 00:00:00 GMT", -62_167_219_200_000), ("Wed, 01 Mar 0000 00:00:00 GMT", -62_162_035_200_000),
    ])
    func `a date is the moment it names`(_ text: String, _ milliseconds: Int64) {
        #expect(HTTPDate.instant(of: text) == WallInstant(milliseconds: milliseconds))
    }
}
