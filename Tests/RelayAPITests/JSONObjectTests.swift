import Testing

@testable import RelayAPI

@Suite(.timeLimit(.minutes(1)))
struct JSONObjectTests {
    private func read(_ text: String) -> JSONObject? { JSONObject(Array(text.utf8), wanted: ["a", "b"]) }

    @Test(arguments: [
        #"{"a":"x"}"#, #" { "a" : "x" } "#, "\n\t\r{\"a\":\"x\"}\n", #"{"z":[1,2,{"q":null}],"a":"x"}"#,
        #"{"a":"x","z":-0.5e+10}"#, #"{"":0,"a":"x"}"#, #"{"a":"x","z":{"a":"y","a":"y"}}"#,
        #"{"a":"x","z":1e999999999,"y":-0,"x":0.\#(String(repeating: "9", count: 4000))E-99}"#,
        #"{"a":"x","z":\#(String(repeating: "9", count: 4000))}"#, #"{"a":"x","\u0000":"\u0000"}"#,
        " { \"z\" : [ 1 , [ ] , [ 2 ] , { } , { \"q\" : { \"r\" : null , \"s\" : [ true , false ] } } ] , \"a\" : \"x\" } ",
        "{\n\"z\"\n:\n{\n\"q\"\n:\n[\n]\n,\n\"r\"\n:\n-1\n}\n,\n\"a\"\n:\n\"x\"\n}", #"{"z":" ","a":"x"}"#,
        // Two names that look the same and are not: é, and e with an accent.
        #"{"a":"x","\u00e9":1,"e\u0301":2}"#,
        #"{"\u0061":"\u0078"}"#, #"{"a":"x","z":"\"\\\/\b\f\n\r\t\ud83d\ude00"}"#,
    ])
    func `an object is read, whatever else is in it`(_ text: String) {
        #expect(read(text)?.string("a") == "x")
    }

    @Test(arguments: [
        "", " ", "null", "true", "5", #""a""#, "[]", #"[{"a":"x"}]"#, "{", "}", "{}{}", "{}x", "{,}", #"{"a"}"#,
        #"{"a":}"#, #"{"a":"x",}"#, #"{"a" "x"}"#, #"{a:"x"}"#, #"{'a':'x'}"#, #"{"a":"x""#, #"{"a":"x"#,
        #"{"a":"x","a":"x"}"#, #"{"a":"x","\u0061":"y"}"#, #"{"z":1,"z":1}"#, #"{"z":01}"#, #"{"z":+1}"#,
        #"{"z":.5}"#, #"{"z":5.}"#, #"{"z":1e}"#, #"{"z":-}"#, #"{"z":NaN}"#, #"{"z":Infinity}"#, #"{"z":0x1}"#,
        #"{"z":tru}"#, #"{"z":nulll}"#, #"{"z":[1,]}"#, #"{"z":[}"#, #"{"z":{1:2}}"#, #"{"z":{"q":}}"#,
        #"{"z":{"q":[}}"#, #"{"z":[[1,]]}"#, #"{"z":{"q" 1}}"#, #"{"z":"\"#, #"{"z":"\u"#, #"{"z":{"q"}}"#,
        #"{"z":"\x"}"#, #"{"z":"\u12"}"#,
        #"{"z":"\ud83d"}"#, #"{"z":"\ud83dx"}"#, #"{"z":"\ud83d\u0041"}"#, #"{"z":"\ude00"}"#, "{\"z\":\"\n\"}",
        "{\"z\":\"\u{0}\"}", "\u{FEFF}{}", "{}/*x*/", "// x\n{}", "{}\u{0}", "\u{A0}{}",
    ])
    func `anything that is not exactly one object is refused`(_ text: String) {
        #expect(read(text) == nil)
    }

    @Test func `names are told apart byte by byte, however many there are`() {
        // One letter in its two spellings, which Swift takes for equal.
        #expect(read("{\"\u{E9}\":1,\"e\u{301}\":2,\"a\":\"x\"}")?.string("a") == "x")
        let members = (0..<1100).compactMap { Unicode.Scalar(0x100 + $0).map { "\"\($0)\":0" } }
        let many = members.joined(separator: ",")
        #expect(read("{\(many),\"a\":\"x\"}")?.string("a") == "x")
        for twice in [0, 7, 8, 9, 500, 1099] { #expect(read("{\(many),\(members[twice])}") == nil) }
        #expect(read("{\"a\":\"x\",\(many),\"a\":\"x\"}") == nil)
    }

    @Test(
        arguments: [
            [0x7B, 0x22, 0xFF, 0x22, 0x3A, 0x30, 0x7D], [0x7B, 0x22, 0xC0, 0x80, 0x22, 0x3A, 0x30, 0x7D],
            [0x7B, 0x22, 0xED, 0xA0, 0x80, 0x22, 0x3A, 0x30, 0x7D], [0x7B, 0x00, 0x7D, 0x00],
            [0xFE, 0xFF, 0x00, 0x7B, 0x00, 0x7D],
            [0x7B, 0x22, 0x5C, 0x6E, 0xF5, 0x22, 0x3A, 0x30, 0x7D],
        ] as [[UInt8]])
    func `what is not UTF-8 is refused`(_ bytes: [UInt8]) {
        #expect(JSONObject(bytes, wanted: ["a"]) == nil)
    }

    @Test func `nesting is followed so far and no further`() {
        func nested(_ depth: Int) -> String {
            #"{"a":"x","z":"# + String(repeating: "[", count: depth) + String(repeating: "]", count: depth) + "}"
        }
        #expect(read(nested(JSONObject.deepest))?.string("a") == "x")
        #expect(read(nested(JSONObject.deepest + 1)) == nil)
        #expect(read(String(repeating: #"{"z":"#, count: 1600)) == nil)
        #expect(read(String(repeating: "[", count: 8000)) == nil)
    }

    @Test func `a member stands in it once, among however many`() {
        let members = (0..<900).map { #""m\#($0)":1"# }
        #expect(read("{" + (members + [#""a":"x""#]).joined(separator: ",") + "}")?.string("a") == "x")
        for index in [0, 7, 8, 9, 899] {
            #expect(read("{" + (members + [members[index]]).joined(separator: ",") + "}") == nil)
        }
    }

    @Test func `absent, null, and of another type are three things`() {
        #expect(read("{}")?["a"] == nil)
        #expect(read(#"{"a":null}"#)?["a"] == .other)
        #expect(read(#"{"a":5}"#)?["a"] == .other)
        #expect(read(#"{"a":["x"]}"#)?["a"] == .other)
        #expect(read(#"{"a":true,"b":false}"#)?["a"] == .bool(true))
        #expect(read(#"{"a":true,"b":false}"#)?["b"] == .bool(false))
        #expect(read(#"{"a":true}"#)?.string("a") == nil)
    }

    @Test func `a body cut at any byte is refused, and never more than refused`() {
        let whole = Array(#"{"a":"x\u00e4\n","z":[1.5e3,true,null,{"q":"ä"}],"b":false}"#.utf8)
        #expect(JSONObject(whole, wanted: ["a"])?.string("a") == "xä\n")
        for length in 0..<whole.count { #expect(JSONObject(Array(whole[..<length]), wanted: ["a"]) == nil) }
    }
}
