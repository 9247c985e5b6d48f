import Cryptography
import Testing

@Suite(.timeLimit(.minutes(1)))
struct RandomAndEncodingTests {
    @Test func `random bytes have the length asked for and do not come twice`() {
        for count in [0, 1, 12, 32, 1000] { #expect(SecureRandom.bytes(count).count == count) }
        let drawn = Set((0..<1000).map { _ in SHA256Digest(bytes: SecureRandom.bytes32()) })
        #expect(drawn.count == 1000)
        #expect(Set((0..<1000).map { _ in SecureRandom.bytes(16) }).count == 1000)
    }

    @Test func `constant time comparison compares`() {
        #expect(constantTimeEquals([], []))
        #expect(constantTimeEquals([1, 2, 3], [1, 2, 3]))
        #expect(!constantTimeEquals([1, 2, 3], [1, 2, 4]))
        #expect(!constantTimeEquals([1, 2, 3], [1, 2]))
    }

    @Test func `every byte is two lower-case hex digits`() {
        for length in [0, 1, 7, 8, 32, 200] {
            let bytes = SecureRandom.bytes(length)
            #expect(Hex.text(of: bytes.span) == hex(bytes))
        }
        let all = Array(UInt8.min...UInt8.max)
        #expect(Hex.text(of: all.span) == hex(all))
    }

    // RFC 4648 section 10, without the padding, and the two characters that set base64url apart.
    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
        ("foobar", "Zm9vYmFy"),
    ])
    func `base64url gives the texts of RFC 4648 without padding`(plain: String, text: String) {
        #expect(Base64URL.encode(Array(plain.utf8)) == text)
        #expect(Base64URL.decode(text) == Array(plain.utf8))
    }

    @Test func `every byte goes through base64url and back`() {
        #expect(Base64URL.encode([0xFB, 0xFF]) == "-_8")
        for length in 0..<70 {
            let bytes = SecureRandom.bytes(length)
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
        }
    }

    @Test(arguments: ["Zg==", "Zm8=", "Zh", "Zm9", "Z", "Zm9vY", "+_8", "-/8", "Zm 9", "Zm9v\n", "Zé"])
    func `base64url refuses what no encoder writes`(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test func `a secret lends its bytes and does not print`() {
        let secret = SecretBytes(Array("open sesame".utf8))
        #expect(secret.count == 11)
        #expect(secret.withBytes { span in span.indices.map { span[$0] } } == Array("open sesame".utf8))
        var dumped = ""
        dump(secret, to: &dumped)
        for text in ["\(secret)", String(reflecting: secret), dumped, "\([secret])"] {
            #expect(!text.contains("sesame") && !text.contains("111"))
        }
        #expect("\(secret)" == "(secret)")
    }
}
