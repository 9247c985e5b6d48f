import Testing

@testable import PushSimulator

@Suite(.timeLimit(.minutes(1)))
struct DateHeaderTests {
    @Test(
        arguments: [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777_999, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_827_696_000, "Tue, 29 Feb 2000 12:34:56 GMT"), (1_798_761_599_000, "Thu, 31 Dec 2026 23:59:59 GMT"),
            (4_107_542_400_000, "Mon, 01 Mar 2100 00:00:00 GMT"),
        ] as [(Int64, String)])
    func `a moment has the name that HTTP gives it`(milliseconds: Int64, expected: String) {
        #expect(DateHeader.field(milliseconds: milliseconds) == HeaderField("date", expected))
    }
}
