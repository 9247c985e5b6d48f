import Cryptography
import Testing

@Suite(.timeLimit(.minutes(1)))
struct DigestTests {
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
    ])
    func `SHA-256 gives the digests of FIPS 180`(text: String, digest: String) {
        #expect(SHA256.hash(Array(text.utf8)).hex == digest)
    }

    @Test func `SHA-256 of a million letters gives the digest of FIPS 180`() {
        let digest = SHA256.hash([UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000))
        #expect(digest.hex == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }

    @Test func `a digest gives its first eight bytes in order and compares byte by byte`() {
        let digest = SHA256.hash(Array("abc".utf8))
        #expect(digest.firstEightBytes == 0xba78_16bf_8f01_cfea)
        var last = digest.bytes
        last[31] ^= 1
        #expect(SHA256Digest(bytes: last) != digest)
        #expect(SHA256Digest(digest.bytes.span) == digest)
        #expect(SHA256Digest([UInt8](repeating: 0, count: 31).span) == nil)
        #expect(Set([digest, SHA256Digest(bytes: last), digest]).count == 2)
    }

    @Test func `a digest matches its own bytes and no others`() {
        let digest = SHA256.hash(Array("abc".utf8))
        func matches(_ stored: [UInt8]) -> Bool { digest.matches(stored.span) }
        let own = (0..<32).map { digest.bytes[$0] }
        #expect(matches(own))
        #expect(!matches(Array(own.dropLast())))
        #expect(!matches(own + [0]))
        #expect(!matches([]))
        for place in 0..<32 {
            var other = own
            other[place] ^= 0x80
            #expect(!matches(other))
        }
    }

    @Test func `a hasher gives for each text what a fresh context gives`() {
        let hasher = SHA256Hasher()
        for length in [0, 1, 45, 55, 56, 63, 64, 65, 1000, 45] {
            let text = [UInt8](repeating: UInt8(length & 0xFF), count: length)
            let digest = hasher.hash(text.span)
            #expect(digest == SHA256.hash(text))
        }
    }

    // RFC 4231 sections 4.2 to 4.8, without the truncated case 5.
    private static let hmacVectors: [(key: String, message: String, code: String)] = [
        (
            String(repeating: "0b", count: 20), "4869205468657265",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            "4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            String(repeating: "aa", count: 20), String(repeating: "dd", count: 50),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
        ),
        (
            "0102030405060708090a0b0c0d0e0f10111213141516171819", String(repeating: "cd", count: 50),
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
        ),
        (
            String(repeating: "aa", count: 131),
            "54657374205573696e67204c6172676572205468616e20426c6f636b2d53697a65204b6579202d2048617368204b6579204669727374",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        (
            String(repeating: "aa", count: 131),
            """
            5468697320697320612074657374207573696e672061206c6172676572207468616e20626c6f636b2d73697a65206b657920616e642061
            206c6172676572207468616e20626c6f636b2d73697a6520646174612e20546865206b6579206e6565647320746f2062652068617368
            6564206265666f7265206265696e6720757365642062792074686520484d414320616c676f726974686d2e
            """,
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
        ),
    ]

    @Test(arguments: hmacVectors)
    func `HMAC gives the codes of RFC 4231`(key: String, message: String, code: String) {
        #expect(HMACSHA256.authenticate(bytes(message), key: bytes(key)).hex == code)
    }

    @Test func `a key of exactly one block is not hashed first`() {
        let key = [UInt8](repeating: 7, count: 64)
        let hashed = SHA256.hash(key)
        let message = Array("m".utf8)
        let short = (0..<32).map { hashed.bytes[$0] }
        #expect(HMACSHA256.authenticate(message, key: key) != HMACSHA256.authenticate(message, key: short))
        let long = key + [7]
        let longHashed = SHA256.hash(long)
        let reduced = (0..<32).map { longHashed.bytes[$0] }
        #expect(HMACSHA256.authenticate(message, key: long) == HMACSHA256.authenticate(message, key: reduced))
    }

    // RFC 5869 appendix A.1 to A.3.
    private static let hkdfVectors: [(secret: String, salt: String, info: String, output: String)] = [
        (
            String(repeating: "0b", count: 22), "000102030405060708090a0b0c", "f0f1f2f3f4f5f6f7f8f9",
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
        ),
        (
            hex(Array(0x00...0x4f)), hex(Array(0x60...0xaf)), hex(Array(0xb0...0xff)),
            """
            b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09da3275600c2f09
            b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87
            """
        ),
        (
            String(repeating: "0b", count: 22), "", "",
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
        ),
    ]

    @Test(arguments: hkdfVectors)
    func `HKDF gives the output of RFC 5869`(secret: String, salt: String, info: String, output: String) {
        let wanted = bytes(output)
        let derived = HKDFSHA256.derive(
            from: bytes(secret), salt: bytes(salt), info: bytes(info), count: wanted.count)
        #expect(derived == wanted)
        let key = HKDFSHA256.deriveKey(from: bytes(secret).span, salt: bytes(salt).span, info: bytes(info).span)
        #expect((0..<32).map { key[$0] } == Array(wanted.prefix(32)))
        let salted = SaltedHKDF(salt: bytes(salt).span)
        for number in UInt8(0)..<3 {
            let key = salted.deriveKey(from: bytes(secret).span, info: bytes(info).span)
            #expect((0..<32).map { key[$0] } == Array(wanted.prefix(32)))
            // What comes between is of no consequence.
            let other = [number]
            _ = salted.deriveKey(from: other.span, info: other.span)
        }
    }

    @Test func `HKDF gives any length up to 255 blocks, each a prefix of the next`() {
        let longest = HKDFSHA256.derive(from: [1], salt: [2], info: [3], count: 8160)
        #expect(longest.count == 8160)
        for count in [0, 1, 31, 32, 33, 8159] {
            #expect(HKDFSHA256.derive(from: [1], salt: [2], info: [3], count: count) == Array(longest.prefix(count)))
        }
    }
}
