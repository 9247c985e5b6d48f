import Cryptography
import PushModel
import PushServices
import Synchronization
import Testing

/// Clocks that a test sets.
final class SetClocks: Sendable {
    private let nanoseconds = Mutex<(wall: Int64, monotonic: Int64)>((1_790_000_000_000, 0))

    var clocks: Clocks {
        Clocks(
            wall: { WallInstant(milliseconds: self.nanoseconds.withLock { $0.wall }) },
            monotonic: { MonotonicInstant(nanoseconds: self.nanoseconds.withLock { $0.monotonic }) })
    }

    func advance(by duration: Duration) {
        nanoseconds.withLock {
            $0.wall += duration.wholeMilliseconds
            $0.monotonic += duration.wholeNanoseconds
        }
    }

    func setBackWall(by duration: Duration) {
        nanoseconds.withLock { $0.wall -= duration.wholeMilliseconds }
    }
}

@Suite(.timeLimit(.minutes(1)))
struct ProviderTokenTests {
    let time = SetClocks()
    let key = ES256SigningKey.generate()

    private func source() -> ProviderTokenSource {
        ProviderTokenSource(key: key, keyID: "KEY4567890", teamID: "TEAM567890", clocks: time.clocks)
    }

    @Test func `it is a JWT as Apple asks for, signed by the key`() throws {
        let authorization = source().current().authorization
        #expect(authorization.hasPrefix("bearer "))
        let parts = authorization.dropFirst(7).split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        let header = try #require(Base64URL.decode(parts[0]))
        let claims = try #require(Base64URL.decode(parts[1]))
        let signature = try #require(Base64URL.decode(parts[2]))
        #expect(String(decoding: header, as: UTF8.self) == #"{"alg":"ES256","kid":"KEY4567890"}"#)
        #expect(String(decoding: claims, as: UTF8.self) == #"{"iss":"TEAM567890","iat":1790000000}"#)
        #expect(signature.count == 64)
        let verifying = try ES256VerifyingKey(pem: key.publicKeyPEM)
        #expect(verifying.isValid(signature: signature, for: Array("\(parts[0]).\(parts[1])".utf8)))
    }

    @Test func `a thousand pushes on a cold start share one`() {
        let source = source()
        let first = source.current()
        #expect((0..<1000).allSatisfy { _ in source.current() == first })
    }

    @Test func `it is renewed at fifty minutes and not before`() {
        let source = source()
        let first = source.current()
        time.advance(by: .seconds(50 * 60 - 1))
        #expect(source.current() == first)
        time.advance(by: .seconds(1))
        #expect(source.current() != first)
    }

    @Test func `a clock that jumps renews nothing`() {
        let source = source()
        let first = source.current()
        time.setBackWall(by: .seconds(7200))
        #expect(source.current() == first)
        time.setBackWall(by: .seconds(-14_400))
        #expect(source.current() == first)
    }

    @Test func `a refusal renews it only after twenty minutes, and only once for all who were refused`() {
        let source = source()
        let first = source.current()
        time.advance(by: .seconds(20 * 60 - 1))
        #expect(source.renew(insteadOf: first) == first)
        time.advance(by: .seconds(1))
        let second = source.renew(insteadOf: first)
        #expect(second != first)
        #expect(source.renew(insteadOf: first) == second)
        #expect(source.current() == second)
    }

    @Test func `one that Apple does not take is replaced by one other after twenty minutes, which then lasts`() {
        let source = source()
        let first = source.current()
        source.holdBack()
        time.advance(by: .seconds(20 * 60 - 1))
        #expect(source.current() == first)
        time.advance(by: .seconds(1))
        let second = source.current()
        #expect(second != first)
        time.advance(by: .seconds(50 * 60 - 1))
        #expect(source.current() == second)
        time.advance(by: .seconds(1))
        #expect(source.current() != second)
    }

    @Test func `it does not print`() {
        let token = source().current()
        #expect("\(token)" == "(provider token)")
        var dumped = ""
        dump(token, to: &dumped)
        #expect(!dumped.contains("bearer"))
    }
}

@Suite(.timeLimit(.minutes(1)))
struct OAuthExchangeTests {
    static func lifetime(_ body: String) -> Duration? {
        try? OAuthExchange.interpret(status: 200, body: Array(body.utf8)).get().lifetime
    }

    @Test func `a lifetime is read as number, as string, and by default`() {
        #expect(Self.lifetime(#"{"access_token":"t","expires_in":3599}"#) == .seconds(3599))
        #expect(Self.lifetime(#"{"access_token":"t","expires_in":"3599"}"#) == .seconds(3599))
        #expect(Self.lifetime(#"{"access_token":"t"}"#) == .seconds(3600))
    }

    @Test(arguments: [
        (200, "", OAuthFailure.malformed), (200, "{}", .malformed), (200, #"{"access_token":""}"#, .malformed),
        (200, #"{"access_token":"t","expires_in":0}"#, .malformed),
        (200, #"{"access_token":"t","expires_in":"soon"}"#, .malformed),
        (200, #"{"access_token":"a\r\nb: c"}"#, .malformed),
        (400, #"{"error":"invalid_grant","error_description":"Invalid JWT Signature."}"#, .refused),
        (400, #"{"error":"invalid_grant","error_description":"Invalid grant: account not found"}"#, .refused),
        (
            400,
            #"{"error":"invalid_grant","error_description":"Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat and exp values in the JWT claim."}"#,
            .clock
        ),
        (400, #"{"error":"invalid_scope"}"#, .refused), (401, #"{"error":"unauthorized_client"}"#, .refused),
        (400, #"{"error":"temporarily_unavailable"}"#, .unavailable), (400, "<html>", .malformed),
        (408, "", .unavailable), (429, "", .unavailable), (500, "", .unavailable), (503, "<html>", .unavailable),
        (302, "", .malformed),
    ])
    func `every refusal has its meaning`(_ status: Int, _ body: String, _ failure: OAuthFailure) {
        #expect(OAuthExchange.interpret(status: status, body: Array(body.utf8)) == .failure(failure))
    }

    @Test(
        arguments: [
            (#"{"error":"invalid_grant","error_description":"Invalid JWT Signature."}"#, .signature),
            (#"{"error":"invalid_grant","error_description":"Invalid grant: account not found"}"#, .noAccount),
            (#"{"error":"invalid_grant","error_description":"Account has been disabled."}"#, .disabled),
            (#"{"error":"disabled_client"}"#, .disabled),
            (#"{"error":"invalid_grant","error_description":"Invalid JWT: Failed audience check."}"#, .audience),
            (#"{"error":"invalid_grant","error_description":"Check your iat and exp values"}"#, .clock),
            (#"{"error":"invalid_scope"}"#, .scope), (#"{"error":"unauthorized_client"}"#, .client),
            (#"{"error":"invalid_client"}"#, .client), (#"{"error":"invalid_grant"}"#, .other),
            (#"{"error":"server_error"}"#, .unavailable), (#"{"error":7}"#, nil), ("<html>", nil), ("", nil),
        ] as [(String, OAuthRefusalReason?)])
    func `a refusal says what is wrong with the account`(_ body: String, _ reason: OAuthRefusalReason?) {
        #expect(OAuthRefusalReason(Array(body.utf8)) == reason)
    }

    @Test func `the assertion says who, what for, to whom and how long, signed by the account`() throws {
        let key = RS256SigningKey.generate()
        let account = ServiceAccount(
            projectID: "p", clientEmail: "relay@p.example", privateKeyID: "kid1", key: key,
            tokenURI: "https://oauth2.example/token")
        let form = String(
            decoding: OAuthExchange.form(for: account, at: WallInstant(milliseconds: 1_790_000_000_999)), as: UTF8.self)
        let prefix = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
        try #require(form.hasPrefix(prefix))
        let parts = form.dropFirst(prefix.count).split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        let header = try #require(Base64URL.decode(parts[0]))
        let claims = try #require(Base64URL.decode(parts[1]))
        #expect(String(decoding: header, as: UTF8.self) == #"{"alg":"RS256","typ":"JWT","kid":"kid1"}"#)
        #expect(
            String(decoding: claims, as: UTF8.self)
                == #"{"iss":"relay@p.example","scope":"https://www.googleapis.com/auth/firebase.messaging","aud":"https://oauth2.example/token","iat":1789999990,"exp":1790003590}"#
        )
        let signature = try #require(Base64URL.decode(parts[2]))
        let verifying = try RS256VerifyingKey(pem: key.publicKeyPEM)
        #expect(verifying.isValid(signature: signature, for: Array("\(parts[0]).\(parts[1])".utf8)))
    }
}
