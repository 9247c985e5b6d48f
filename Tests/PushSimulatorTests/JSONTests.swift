import PushSimulator
import Testing

struct JSONTests {
    static let rows: [(String, JSON)] = [
        ("null", .null), (" true ", true), ("-0.5e+7", .number("-0.5e+7")), ("0", 0), (#""a\u00e9\n\/""#, "aé\n/"),
        (#""\ud83d\udc19""#, "🐙"), ("[]", []), ("[1,[2]]", [1, [2]]), ("{}", [:]),
        (#"{"a" : 1 , "b":{"c":null}}"#, ["a": 1, "b": ["c": .null]]), (#"{"a":1,"a":2}"#, ["a": 1, "a": 2]),
    ]

    @Test(arguments: rows)
    func `a JSON text is read as it stands`(text: String, value: JSON) {
        #expect(JSON(text: text) == value)
    }

    @Test(arguments: [
        "", " ", "nul", "tru e", "01", "1.", ".5", "-", "1e", "+1", "\"", "\"\n\"", #""\x""#, #""\u12""#, #""\ud83d""#,
        #""\udc19""#, "[1,]", "[1", "{", "{,}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, "{a:1}", "1 2", "[]]",
        String(repeating: "[", count: 100) + String(repeating: "]", count: 100),
    ])
    func `what is not exactly one JSON text is not read`(text: String) {
        #expect(JSON(text: text) == nil)
    }

    @Test func `bytes that are no UTF-8 are not read`() {
        #expect(JSON([0x22, 0xFF, 0x22]) == nil)
        #expect(JSON([0x22, 0xC0, 0x80, 0x22]) == nil)
    }

    @Test func `the last of two members counts`() {
        #expect(JSON(text: #"{"a":1,"a":2}"#)?["a"] == 2)
    }

    @Test func `what is written is read again`() {
        let value: JSON = ["a\"\\\n\u{1}": [true, false, .null, 1, "é🐙"]]
        #expect(JSON(text: value.text) == value)
        #expect(value.text == #"{"a\"\\\n\u0001":[true,false,null,1,"é🐙"]}"#)
    }
}
