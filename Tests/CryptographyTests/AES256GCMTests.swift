import Cryptography
import Testing

@Suite(.timeLimit(.minutes(1)))
struct AES256GCMTests {
    private static let key = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"
    private static let plaintext = """
        d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657
        ba637b39
        """
    private static let ciphertext = """
        522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0a
        bcc9f662
        """

    // Test cases 13, 14 and 16 of the GCM specification that NIST took over.
    private static let vectors: [[String]] = [
        [
            String(repeating: "00", count: 32), String(repeating: "00", count: 12), "", "", "",
            "530f8afbc74536b9a963b4f1c4cb738b",
        ],
        [
            String(repeating: "00", count: 32), String(repeating: "00", count: 12), String(repeating: "00", count: 16),
            "", "cea7403d4d606b6e074ec5d3baf39d18", "d0d1c8a799996bf0265b98b5d48ab919",
        ],
        [
            key, "cafebabefacedbaddecaf888", plaintext, "feedfacedeadbeeffeedfacedeadbeefabaddad2", ciphertext,
            "76fc6ece0f4e1768cddf8853bb2d551b",
        ],
    ]

    @Test(arguments: vectors)
    func `sealing gives the published ciphertext and opening the plaintext`(vector: [String]) {
        let (key, nonce, plaintext) = (vector[0], vector[1], vector[2])
        let (additionalData, ciphertext, tag) = (vector[3], vector[4], vector[5])
        let sealed = AES256GCM.seal(
            bytes(plaintext), key: bytes(key), nonce: bytes(nonce), additionalData: bytes(additionalData))
        #expect(hex(sealed) == hex(bytes(ciphertext) + bytes(tag)))
        let opened = AES256GCM.open(
            sealed, key: bytes(key), nonce: bytes(nonce), additionalData: bytes(additionalData))
        #expect(opened == bytes(plaintext))
    }

    @Test func `no bit of key, nonce, additional data or text may differ`() {
        let key = bytes(Self.key)
        let nonce = SecureRandom.bytes(12)
        let data = Array("row".utf8)
        let sealed = AES256GCM.seal(Array("the token".utf8), key: key, nonce: nonce, additionalData: data)
        for bit in 0..<sealed.count * 8 {
            #expect(AES256GCM.open(flipped(sealed, bit), key: key, nonce: nonce, additionalData: data) == nil)
        }
        for bit in 0..<256 {
            #expect(AES256GCM.open(sealed, key: flipped(key, bit), nonce: nonce, additionalData: data) == nil)
        }
        for bit in 0..<96 {
            #expect(AES256GCM.open(sealed, key: key, nonce: flipped(nonce, bit), additionalData: data) == nil)
        }
        #expect(AES256GCM.open(sealed, key: key, nonce: nonce, additionalData: []) == nil)
        #expect(AES256GCM.open(sealed, key: key, nonce: nonce, additionalData: data + [0]) == nil)
        for length in 0..<sealed.count {
            #expect(
                AES256GCM.open(Array(sealed.prefix(length)), key: key, nonce: nonce, additionalData: data) == nil)
        }
        #expect(AES256GCM.open(sealed, key: key, nonce: nonce, additionalData: data) == Array("the token".utf8))
    }

    @Test func `one opener opens many texts, each under its own key, and a forged one spoils none of them`() {
        let opener = AES256GCMOpener()
        for length in [0, 1, 16, 47, 48, 192, 6144, 48] {
            let key = SecureRandom.bytes(32)
            let nonce = SecureRandom.bytes(12)
            let text = SecureRandom.bytes(length)
            let sealed = AES256GCM.seal(text, key: key, nonce: nonce, additionalData: [1])
            func opened(_ sealed: [UInt8], _ key: [UInt8]) -> [UInt8]? {
                let data: [UInt8] = [1]
                var found: [UInt8]?
                let isGenuine = opener.open(
                    sealed.span, key: key.span, nonce: nonce.span, additionalData: data.span
                ) { plaintext in found = plaintext.indices.map { plaintext[$0] } }
                #expect(isGenuine == (found != nil))
                return found
            }
            #expect(opened(flipped(sealed, 0), key) == nil)
            #expect(opened(sealed, [UInt8](repeating: 0, count: 32)) == nil)
            #expect(opened(sealed, key) == text)
            #expect(opened(Array(sealed.prefix(15)), key) == nil)
        }
    }

    private func flipped(_ bytes: [UInt8], _ bit: Int) -> [UInt8] {
        var bytes = bytes
        bytes[bit / 8] ^= 1 << (bit % 8)
        return bytes
    }
}
