import Cryptography
import PushSimulator
import Testing

/// `POST /v1/devices` as the contract has it, over the real port.
@Suite(.stage(), .timeLimit(.minutes(3)))
struct RegistrationTests {
    static let ios = String(repeating: "0123456789abcdef", count: 4)
    static let android = "c-Token_1:APA91b" + String(repeating: "x.", count: 20)

    private func post(_ body: [UInt8]) async throws -> Answer {
        let answer = try await Stage.current.relay.ask("POST", "/v1/devices", body: body)
        expectForm(of: answer)
        return answer
    }

    @Test(arguments: [
        #"{"platform":"ios","token":"\#(ios)"}"#,
        #"{"platform":"ios","token":"\#(ios.uppercased())","env":"production"}"#,
        #"{"platform":"ios","token":"\#(ios)","env":"sandbox","opens":true}"#,
        #"{"platform":"ios","token":"\#(ios)","opens":null}"#,
        #"{"platform":"ios","token":"\#(ios)","opens":"ignored on iOS"}"#,
        #"{"platform":"android","token":"\#(android)"}"#,
        #"{"platform":"android","token":"\#(android)","opens":true}"#,
        #"{"platform":"android","token":"\#(android)","opens":false,"env":"production"}"#,
        #"{"platform":"android","token":"\#(android)","env":"sandbox"}"#,
        #"{"platform":"android","token":"\#(String(repeating: "A", count: 32))"}"#,
        #"{"platform":"android","token":"\#(String(repeating: "Z", count: 4096))"}"#,
        #"{"new":[{"deep":[1,2.5e-3,true,false,null,"\u00fc"]}],"platform":"ios","token":"\#(ios)","Token":1}"#,
        " \t\r\n{ \"platform\" : \"ios\" ,\n\"token\" : \"\(ios)\" } \n",
        #"{"pl\u0061tform":"\u0069os","token":"\#(ios)"}"#,
    ])
    func `a registration of a right form gives a capability`(body: String) async throws {
        let answer = try await post(Array(body.utf8))
        #expect(answer.status == 201)
        let members = answer.json?.members
        #expect(members?.map(\.name) == ["capability"])
        #expect(members?.first?.value.string?.wholeMatch(of: /p_[A-Za-z0-9_-]{43}/) != nil)
    }

    @Test(arguments: [
        "", " ", "{", "}", "[]", #"[{"platform":"ios"}]"#, "null", "true", "1", #""ios""#, "{}{}", "{} x", "{,}",
        #"{"platform":"ios","token":"\#(ios)",}"#, #"{'platform':'ios'}"#, #"{platform:"ios"}"#, #"{"platform"}"#,
        #"{"platform":"ios" "token":"\#(ios)"}"#, #"{"platform":"ios","token":"\#(ios)"} //"#, "\u{FEFF}{}",
        #"{"platform":"ios","platform":"ios","token":"\#(ios)"}"#, #"{"platform":"ios","token":"x","token":"\#(ios)"}"#,
        #"{"x":1,"\u0078":2,"platform":"ios","token":"\#(ios)"}"#, #"{"x":01}"#, #"{"x":+1}"#, #"{"x":.5}"#,
        #"{"x":NaN}"#, #"{"x":"\x"}"#, #"{"x":"\ud800"}"#, "{\"x\":\"\u{1}\"}", "{\"x\":\"\n\"}", "{\u{0}}",
        #"{"platform":"android","token":"\#(android)","opens":"yes"}"#,
        #"{"platform":"android","token":"\#(android)","opens":null}"#,
        #"{"platform":"android","token":"\#(android)","opens":1}"#,
        String(repeating: #"{"a":"#, count: 60) + "1" + String(repeating: "}", count: 60),
        String(repeating: #"{"a":"#, count: 1600), String(repeating: "[", count: 8192),
        #"{"a":"# + String(repeating: "[", count: 4000) + String(repeating: "]", count: 4000) + "}",
    ])
    func `what is not one object of JSON is refused`(body: String) async throws {
        #expect(try await post(Array(body.utf8)).summary == "400 bad_json")
    }

    @Test func `what is not UTF-8 is refused`() async throws {
        let text = #"{"platform":"ios","token":"\#(Self.ios)"}"#
        let wide = text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        let swapped = text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        let bodies: [[UInt8]] = [
            wide, swapped, [0xFF, 0xFE] + wide, [0xFE, 0xFF] + swapped,
            Array(#"{"x":""#.utf8) + [0xFF] + Array(#""}"#.utf8), Array(#"{"x":""#.utf8) + [0xC3] + Array(#""}"#.utf8),
            Array(#"{"x":""#.utf8) + [0xED, 0xA0, 0x80] + Array(#""}"#.utf8),
            Array(#"{"x":""#.utf8) + [0xC0, 0xAF] + Array(#""}"#.utf8),
        ]
        for body in bodies { #expect(try await post(body).summary == "400 bad_json") }
    }

    @Test(arguments: [
        // Each has later faults as well: the first one is told.
        (#"{}"#, "bad_platform"), (#"{"platform":null,"token":1,"env":1}"#, "bad_platform"),
        (#"{"platform":1}"#, "bad_platform"), (#"{"platform":"iOS","token":"\#(ios)"}"#, "bad_platform"),
        (#"{"platform":"windows","token":""}"#, "bad_platform"), (#"{"platform":["ios"]}"#, "bad_platform"),
        (#"{"platform":"","env":"x"}"#, "bad_platform"), (#"{"platform":"ios ","token":"\#(ios)"}"#, "bad_platform"),
        (#"{"platform":"ios"}"#, "bad_token"), (#"{"platform":"ios","token":null,"env":"x"}"#, "bad_token"),
        (#"{"platform":"ios","token":12345678}"#, "bad_token"), (#"{"platform":"ios","token":""}"#, "bad_token"),
        (#"{"platform":"ios","token":"\#(ios.dropLast(2))","env":"x"}"#, "bad_token"),
        (#"{"platform":"ios","token":"\#(ios)0"}"#, "bad_token"),
        (#"{"platform":"ios","token":"\#(ios)0g"}"#, "bad_token"),
        (#"{"platform":"ios","token":"\#(String(repeating: "ab", count: 201))"}"#, "bad_token"),
        (#"{"platform":"ios","token":" \#(ios)"}"#, "bad_token"),
        (#"{"platform":"ios","token":"\#(ios)\n"}"#, "bad_token"),
        (#"{"platform":"ios","token":"\#(android)"}"#, "bad_token"),
        (#"{"platform":"android"}"#, "bad_token"), (#"{"platform":"android","token":[],"opens":1}"#, "bad_token"),
        (#"{"platform":"android","token":"\#(String(repeating: "A", count: 31))"}"#, "bad_token"),
        (#"{"platform":"android","token":"\#(String(repeating: "A", count: 4097))"}"#, "bad_token"),
        (#"{"platform":"android","token":"../../\#(android)"}"#, "bad_token"),
        (#"{"platform":"android","token":"\#(android) "}"#, "bad_token"),
        (#"{"platform":"android","token":"\#(android)\u0000"}"#, "bad_token"),
        (#"{"platform":"android","token":"\#(android)ü"}"#, "bad_token"),
        (#"{"platform":"android","token":"\#(String(repeating: "A", count: 5000))"}"#, "bad_token"),
        (#"{"platform":"ios","token":"\#(ios)","env":null}"#, "bad_env"),
        (#"{"platform":"ios","token":"\#(ios)","env":""}"#, "bad_env"),
        (#"{"platform":"ios","token":"\#(ios)","env":"Production"}"#, "bad_env"),
        (#"{"platform":"ios","token":"\#(ios)","env":1}"#, "bad_env"),
        (#"{"platform":"android","token":"\#(android)","env":"development"}"#, "bad_env"),
    ])
    func `the first thing that is wrong is what is told`(body: String, code: String) async throws {
        #expect(try await post(Array(body.utf8)).summary == "400 \(code)")
    }

    @Test func `a body may have 8192 bytes and no more, whichever way it comes`() async throws {
        let relay = try Stage.current.relay
        for (size, status) in [(8191, 201), (8192, 201), (8193, 413), (9000, 413), (100_000, 413)] {
            let frame = #"{"platform":"ios","token":"\#(Self.ios)","padding":""}"#
            let body = frame.dropLast(2) + String(repeating: "x", count: size - frame.utf8.count) + #""}"#
            let whole = try await relay.ask("POST", "/v1/devices", body: String(body))
            expectForm(of: whole)
            #expect(whole.summary == (status == 201 ? "201" : "413 body_too_large"))
            var chunked = "POST /v1/devices HTTP/1.1\r\nHost: relay.test\r\nTransfer-Encoding: chunked\r\n\r\n"
            for start in stride(from: 0, to: size, by: 1000) {
                let chunk = body.utf8.dropFirst(start).prefix(1000)
                chunked += String(chunk.count, radix: 16) + "\r\n" + String(decoding: chunk, as: UTF8.self) + "\r\n"
            }
            let inParts = try await relay.raw(chunked + "0\r\n\r\n")
            expectForm(of: inParts)
            #expect(inParts.summary == whole.summary)
        }
    }

    @Test func `a body that is too large is told so, whatever else is wrong with it`() async throws {
        let answer = try await post(Array(repeating: UInt8(ascii: "["), count: 8193))
        #expect(answer.summary == "413 body_too_large")
    }

    @Test(arguments: [nil, "application/json", "application/json; charset=utf-8", "text/plain", "image/png", ""])
    func `the content-type is not looked at`(type: String?) async throws {
        let headers = type.map { [("Content-Type", $0)] } ?? []
        let answer = try await Stage.current.relay.ask(
            "POST", "/v1/devices", headers: headers, body: #"{"platform":"ios","token":"\#(Self.ios)"}"#)
        #expect(answer.status == 201)
    }
}
