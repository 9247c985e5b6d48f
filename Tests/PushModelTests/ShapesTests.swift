import PushModel
import Testing

private func hex(_ digits: Int) -> String { String(repeating: "0", count: digits) }

@Suite(.timeLimit(.minutes(1)))
struct DeviceTokenTests {
    @Test(arguments: [64, 66, 108, 160, 200, 398, 400])
    func `an iOS token is 64 to 400 hex digits, an even number of them`(length: Int) {
        #expect(DeviceToken(hex(length), for: .ios)?.disclosed == hex(length))
    }

    @Test func `an iOS token is kept in lower case, so that one phone is one token`() throws {
        let upper = try #require(DeviceToken(String(repeating: "0123456789ABCDEF", count: 4), for: .ios))
        #expect(upper.disclosed == String(repeating: "0123456789abcdef", count: 4))
        #expect(upper == DeviceToken(String(repeating: "0123456789abcDEF", count: 4), for: .ios))
        #expect(upper.platform == .ios)
    }

    @Test(arguments: [
        "", hex(62), hex(63), hex(65), hex(401), hex(402), hex(63) + "g", hex(63) + " ", hex(63) + "\n", " " + hex(64),
        hex(64) + "\0\0",
        "<" + hex(62) + ">", hex(62) + "é", "０" + hex(61), "../" + hex(61), hex(64) + "/?",
        String(repeating: "-", count: 64),
    ])
    func `anything else is no iOS token`(text: String) {
        #expect(DeviceToken(text, for: .ios) == nil)
    }

    @Test(arguments: [32, 142, 163, 4096])
    func `an Android token is 32 to 4096 of its characters, untouched`(length: Int) {
        let text = String(("fGz_-.:A09" + String(repeating: "Zz", count: 2048)).prefix(length))
        #expect(DeviceToken(text, for: .android)?.disclosed == text)
    }

    @Test(arguments: [
        "", String(repeating: "a", count: 31), String(repeating: "a", count: 4097), String(repeating: "a", count: 5000),
        String(repeating: "a", count: 40) + "/", "../" + String(repeating: "a", count: 40),
        String(repeating: "a", count: 40) + " b",
        String(repeating: "a", count: 40) + "\"", String(repeating: "a", count: 40) + "\\",
        String(repeating: "a", count: 40) + "%2f",
        String(repeating: "a", count: 40) + "\n", String(repeating: "a", count: 40) + "=",
        String(repeating: "ä", count: 40),
        String(repeating: "a", count: 40) + "\0",
    ])
    func `anything else is no Android token`(text: String) {
        #expect(DeviceToken(text, for: .android) == nil)
    }

    @Test func `tokens of two platforms differ`() {
        #expect(DeviceToken(hex(64), for: .ios) != DeviceToken(hex(64), for: .android))
    }
}

@Suite(.timeLimit(.minutes(1)))
struct SealedPreviewTests {
    @Test(arguments: [40, 41, 2047, 2048])
    func `a preview is 40 to 2048 characters of base64url, byte for byte`(length: Int) {
        let text = String(("aZ09-_" + String(repeating: "Q", count: 2048)).prefix(length))
        #expect(SealedPreview(text)?.disclosed == text)
    }

    @Test(arguments: [
        "", String(repeating: "a", count: 39), String(repeating: "a", count: 2049),
        String(repeating: "a", count: 40) + "=",
        String(repeating: "a", count: 40) + "+", String(repeating: "a", count: 40) + "/",
        String(repeating: "a", count: 40) + "\n",
        String(repeating: "a", count: 40) + "é", String(repeating: "é", count: 40),
        String(repeating: "a", count: 40) + "\"",
    ])
    func `anything else is no preview`(text: String) {
        #expect(SealedPreview(text) == nil)
    }
}

@Suite(.timeLimit(.minutes(1)))
struct WordsTests {
    @Test func `wire names and fixed texts are the promised ones`() {
        #expect(Kind.allCases.map(\.rawValue) == ["mention", "dm", "message"])
        #expect(Kind.allCases.map(\.body) == ["Someone mentioned you", "New direct message", "New message"])
        #expect(Kind.title == "Gryt")
        #expect(Platform.allCases.map(\.rawValue) == ["ios", "android"])
        #expect(APNsEnvironment.allCases.map(\.rawValue) == ["production", "sandbox"])
    }

    @Test(arguments: [
        (UInt64(0), UInt64(0), "00000000-0000-4000-8000-000000000000"),
        (.max, .max, "ffffffff-ffff-4fff-bfff-ffffffffffff"),
        (0x0123_4567_89AB_CDEF, 0xFEDC_BA98_7654_3210, "01234567-89ab-4def-bedc-ba9876543210"),
    ])
    func `a push's id is a canonical lower-case UUID of version 4`(high: UInt64, low: UInt64, text: String) {
        #expect(PushID(high: high, low: low).description == text)
    }
}
