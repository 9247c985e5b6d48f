import Cryptography
import Testing

@Suite(.timeLimit(.minutes(1)))
struct KeyTests {
    private static let message = Array("header.payload".utf8)

    // The key of RFC 6979 appendix A.2.5, whose SEC1 form is written here by hand so that no OpenSSL made it.
    private static let publishedPrivate = """
        -----BEGIN EC PRIVATE KEY-----
        MDECAQEEIMmvqdhFunUWa1whV2ex1pNOUMPbNuibEnuKYisSD2choAoGCCqGSM49AwEH
        -----END EC PRIVATE KEY-----
        """
    private static let publishedPublicX = "60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6"

    @Test func `an ES256 key signs 64 raw bytes that its public half verifies`() throws {
        let key = ES256SigningKey.generate()
        let verifier = try ES256VerifyingKey(pem: key.publicKeyPEM)
        // Enough of them that an R or S with a leading zero byte comes up, which DER writes shorter.
        for number in 0..<600 {
            let message = Self.message + [UInt8(number & 255), UInt8(number >> 8)]
            let signature = key.sign(message)
            #expect(signature.count == 64)
            #expect(verifier.isValid(signature: signature, for: message))
        }
        let signature = key.sign(Self.message)
        #expect(!verifier.isValid(signature: signature, for: Self.message + [0]))
        #expect(!verifier.isValid(signature: signature + [0], for: Self.message))
        #expect(!verifier.isValid(signature: Array(signature.dropLast()), for: Self.message))
        #expect(!verifier.isValid(signature: [UInt8](repeating: 0, count: 64), for: Self.message))
        #expect(!verifier.isValid(signature: [], for: Self.message))
        var swapped = Array(signature.suffix(32))
        swapped += signature.prefix(32)
        #expect(!verifier.isValid(signature: swapped, for: Self.message))
        let stranger = try ES256VerifyingKey(pem: ES256SigningKey.generate().publicKeyPEM)
        #expect(!stranger.isValid(signature: signature, for: Self.message))
    }

    // RFC 6979 appendix A.2.5: message "sample" with SHA-256.
    @Test func `the signature of RFC 6979 is valid, and its DER form is refused`() throws {
        let key = try ES256SigningKey(pem: Self.publishedPrivate)
        #expect(hex(Base64.decode(key.publicKeyPEM)).contains(Self.publishedPublicX))
        let verifier = try ES256VerifyingKey(pem: key.publicKeyPEM)
        let r = bytes("efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716")
        let s = bytes("f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8")
        #expect(verifier.isValid(signature: r + s, for: Array("sample".utf8)))
        #expect(!verifier.isValid(signature: r + s, for: Array("Sample".utf8)))
        let der = bytes("3046022100") + r + bytes("022100") + s
        #expect(!verifier.isValid(signature: der, for: Array("sample".utf8)))
    }

    @Test func `an RS256 key signs as many bytes as its modulus and its public half verifies them`() throws {
        let key = try RS256SigningKey(pem: Fixtures.rsa2048PKCS8)
        let verifier = try RS256VerifyingKey(pem: key.publicKeyPEM)
        let signature = key.sign(Self.message)
        #expect(signature.count == 256)
        #expect(verifier.isValid(signature: signature, for: Self.message))
        #expect(!verifier.isValid(signature: signature, for: Self.message + [0]))
        #expect(!verifier.isValid(signature: Array(signature.dropLast()), for: Self.message))
        #expect(hex(signature) == Fixtures.rsaSignatureOfMessage)
    }

    @Test func `a generated RSA key can be written out and read again`() throws {
        let key = RS256SigningKey.generate()
        let again = try RS256SigningKey(pem: key.privateKeyPEM)
        #expect(again.sign(Self.message) == key.sign(Self.message))
        #expect(again.publicKeyPEM == key.publicKeyPEM)
    }

    @Test(arguments: [Fixtures.ecPKCS8, Fixtures.ecSEC1, Fixtures.ecWithParameters])
    func `PKCS#8 and SEC1 are both read, with the curve's parameters in front or not`(pem: String) throws {
        let key = try ES256SigningKey(pem: pem)
        #expect(key.publicKeyPEM == Fixtures.ecPublic)
        #expect(try ES256SigningKey(pem: key.privateKeyPEM).publicKeyPEM == Fixtures.ecPublic)
        #expect(try ES256SigningKey(pem: pem.replacing("\n", with: "\\n")).publicKeyPEM == Fixtures.ecPublic)
    }

    @Test(arguments: [Fixtures.rsa2048PKCS8, Fixtures.rsa2048PKCS1])
    func `PKCS#8 and PKCS#1 are both read`(pem: String) throws {
        #expect(hex(try RS256SigningKey(pem: pem).sign(Self.message)) == Fixtures.rsaSignatureOfMessage)
    }

    private static let noES256Keys: [(pem: String, error: KeyError)] = [
        (Fixtures.rsa2048PKCS8, KeyError.wrongAlgorithm),
        (Fixtures.ecP384, .wrongCurve),
        (Fixtures.ecEncryptedPKCS8, .passwordProtected),
        (Fixtures.ecEncryptedOld, .passwordProtected),
        (Fixtures.ecPublic, .publicKeyInsteadOfPrivate),
        (Fixtures.certificate, .certificateInsteadOfKey),
        ("-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----", .otherPEM),
        ("/run/secrets/AuthKey.p8", .notPEM),
        ("", .notPEM),
        (Fixtures.ecPKCS8 + Fixtures.ecSEC1, .severalKeys),
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", .damaged),
        (Fixtures.ecInconsistent, .inconsistent),
    ]

    @Test(arguments: noES256Keys)
    func `what is no ES256 private key is refused by name`(pem: String, error: KeyError) {
        #expect(throws: error) { try ES256SigningKey(pem: pem) }
    }

    @Test(arguments: [
        (Fixtures.ecPKCS8, KeyError.wrongAlgorithm),
        (Fixtures.rsa1024, .wrongSize),
        (Fixtures.rsaEncryptedOld, .passwordProtected),
        (Fixtures.certificate, .certificateInsteadOfKey),
    ])
    func `what is no RS256 private key is refused by name`(pem: String, error: KeyError) {
        #expect(throws: error) { try RS256SigningKey(pem: pem) }
    }

    @Test func `a private key is no public key`() {
        #expect(throws: KeyError.privateKeyInsteadOfPublic) { try ES256VerifyingKey(pem: Fixtures.ecPKCS8) }
        #expect(throws: KeyError.wrongAlgorithm) { try RS256VerifyingKey(pem: Fixtures.ecPublic) }
        #expect(throws: KeyError.notPEM) { try ES256VerifyingKey(pem: "") }
        #expect(throws: KeyError.otherPEM) { try ES256VerifyingKey(pem: Fixtures.certificate) }
    }

    @Test func `neither a key nor an error prints what it holds`() throws {
        let key = try ES256SigningKey(pem: Fixtures.ecPKCS8)
        var dumped = ""
        dump(key, to: &dumped)
        #expect("\(key)" == "(ES256 signing key)")
        #expect(!dumped.contains("key:"))
        #expect(Set(KeyError.allCases.map(\.description)).count == KeyError.allCases.count)
    }
}
