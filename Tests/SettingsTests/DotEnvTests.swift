import Cryptography
import Testing

@testable import gryt_push

@Suite(.timeLimit(.minutes(1)))
struct DotEnvTests {
    @Test(arguments: [
        ("A=1", "1"), ("A=", ""), ("A = 1 ", "1"), ("  A=1", "1"), ("\tA\t=\t1\t", "1"), ("export A=1", "1"),
        ("export\tA=1", "1"),
        ("A=one two", "one two"), ("A=1 # comment", "1"), ("A=1#2", "1#2"), ("A=#", ""), ("A= # x", ""),
        ("A=a=b", "a=b"),
        ("A='1 # 2'", "1 # 2"), ("A='\\n'", "\\n"), ("A='\"'", "\""), ("A='' ", ""), ("A=\"1\" # x", "1"),
        ("A=\"1\"#x", "1"),
        ("A=\"a\\nb\\tc\\rd\"", "a\nb\tc\rd"), ("A=\"\\\"\\\\\\$\"", "\"\\$"), ("A=\"\\x\"", "\\x"), ("A=\"'\"", "'"),
        ("A=\"a\nb\nc\"", "a\nb\nc"),
        ("A='a\nb'", "a\nb"), ("A=\"a\\\nb\"", "a\\\nb"), ("A=a\"b\"", "a\"b\""), ("A=it's", "it's"),
        ("A=$HOME", "$HOME"), ("A=\\n", "\\n"),
        ("\u{FEFF}A=1", "1"), ("A=1\r\n", "1"), ("A=\"a\r\nb\"\r\n", "a\nb"), ("A=\"1\"\r\n", "1"),
        ("#A=2\nA=1\n#A=3", "1"), ("\n\n \nA=1\n\n", "1"),
        ("A=ü", "ü"), ("A=1\n", "1"), ("A=1\r", "1"), ("A_1b=2\nA=1", "1"),
    ])
    func `a value is read`(text: String, value: String) {
        let file = DotEnv(text)
        #expect(file.values["A"] == value)
        #expect(file.faults.isEmpty)
        #expect(file.duplicates.isEmpty)
    }

    @Test(arguments: [
        ("A", 1), ("A\nB=1", 1), ("=1", 1), ("1A=1", 1), ("A B=1", 1), ("export", 1), ("exportA=", 0), ("A-B=1", 1),
        ("\n\nA: 1", 3),
        ("B=1\nA=\"1", 2), ("A='1", 1), ("A=\"1\\\"", 1), ("A=\"1\"2", 1), ("A='1''2'", 1), ("B=\"1\n2\"\nA", 3),
        ("Ä=1", 1), ("export =1", 1),
    ])
    func `a line that is none is told by its number`(text: String, line: Int) {
        let faults = DotEnv(text).faults
        #expect(faults.map(\.variable) == (line == 0 ? [] : [".env line \(line)"]))
    }

    @Test func `a bad line does not hide the ones after it`() {
        let file = DotEnv("A=\"1\nB=2\nC\nD=4")
        #expect(file.values == ["B": "2", "D": "4"])
        #expect(file.faults.map(\.variable) == [".env line 1", ".env line 3"])
    }

    @Test func `a bad line shows no value`() {
        for text in ["A=\"sekret", "sekret", "A='sekret'sekret"] {
            #expect(DotEnv(text).faults.count == 1)
            #expect(!DotEnv(text).faults.contains { $0.description.contains("sekret") })
        }
    }

    @Test func `the last of several values counts, and they are told of`() throws {
        let file = DotEnv("A=1\nB=1\nA=2\nA=3")
        #expect(file.values == ["A": "3", "B": "1"])
        #expect(file.duplicates == ["A"])
        let settings = try settings([:], dotEnv: "PORT=1\nPORT=2")
        #expect(settings.port == 2)
        #expect(settings.warnings.contains { $0.variable == "PORT" })
    }

    @Test func `faults of the file stop the start`() {
        #expect(faults([:], dotEnv: "PORT 8080") == [".env line 1: not of the form NAME=value"])
    }

    @Test func `a key over several lines and an account in quotes arrive whole`() throws {
        let dotEnv = """
            APNS_KEY="\(Keys.apple)"
            APNS_KEY_ID=ABCDE12345
            APNS_TEAM_ID='TEAM567890'
            FCM_SERVICE_ACCOUNT='\(Keys.account())'
            """
        let settings = try settings([:], dotEnv: dotEnv)
        #expect(settings.apns?.key.privateKeyPEM == Keys.apple)
        #expect(settings.fcm?.account.key.privateKeyPEM == Keys.google)
    }
}
