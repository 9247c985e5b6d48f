import Cryptography
import PushSimulator
import Testing

@Suite(.timeLimit(.minutes(1)))
struct OAuthTests {
    /// A way to make an assertion, and the error that Google gives; nil is a token.
    enum Case: String, CaseIterable, Sendable {
        case right, cloudPlatform, twoScopes, almostTooOld, almostTooNew, exactlyAnHour, signedByAnother, wrongKeyID,
            wrongAlgorithm, otherAccount, wrongAudience, foreignScope, noScope, overAnHour, tooOld, tooNew, expired,
            textualTimes, endBeforeBeginning

        var error: (code: String, says: String)? {
            switch self {
            case .right, .cloudPlatform, .twoScopes, .almostTooOld, .almostTooNew, .exactlyAnHour: nil
            case .signedByAnother, .wrongKeyID, .wrongAlgorithm: ("invalid_grant", "Invalid JWT Signature.")
            case .otherAccount: ("invalid_grant", "Invalid grant: account not found")
            case .wrongAudience: ("invalid_grant", "audience")
            case .foreignScope, .noScope: ("invalid_scope", "Invalid OAuth scope")
            case .overAnHour, .tooOld, .tooNew, .expired, .textualTimes, .endBeforeBeginning:
                ("invalid_grant", "Token must be a short-lived token (60 minutes) and in a reasonable timeframe")
            }
        }

        func assertion(_ fixture: Fixture) -> String {
            let now = fixture.simulator.now / 1000
            let scope = "https://www.googleapis.com/auth/"
            func times(_ issued: Int64, _ expires: Int64) -> String {
                fixture.assertion(claims: ["iat": JSON(now + issued), "exp": JSON(now + expires)])
            }
            switch self {
            case .right: return fixture.assertion()
            case .cloudPlatform: return fixture.assertion(claims: ["scope": .string(scope + "cloud-platform")])
            case .twoScopes:
                let both = "\(scope)cloud-platform \(scope)firebase.messaging"
                return fixture.assertion(claims: ["scope": .string(both)])
            case .almostTooOld: return times(-290, 3000)
            case .almostTooNew: return times(290, 3600)
            case .exactlyAnHour: return times(-10, 3590)
            case .signedByAnother: return fixture.assertion(key: .generate())
            case .wrongKeyID: return fixture.assertion(header: ["kid": "0000"])
            case .wrongAlgorithm: return fixture.assertion(header: ["alg": "RS512"])
            case .otherAccount:
                return fixture.assertion(claims: ["iss": "other@gryt-simulated.iam.gserviceaccount.com"])
            case .wrongAudience: return fixture.assertion(claims: ["aud": "https://oauth2.googleapis.com/token"])
            case .foreignScope: return fixture.assertion(claims: ["scope": .string(scope + "drive")])
            case .noScope: return fixture.assertion(claims: ["scope": nil])
            case .overAnHour: return times(-10, 3591)
            case .tooOld: return times(-310, 3000)
            case .tooNew: return times(310, 3600)
            case .expired: return times(-200, -1)
            case .textualTimes:
                return fixture.assertion(claims: ["iat": .string("\(now)"), "exp": .string("\(now + 3000)")])
            case .endBeforeBeginning: return times(200, 100)
            }
        }
    }

    @Test(arguments: Case.allCases)
    func `an assertion is judged as Google judges it`(row: Case) async throws {
        let fixture = try await Fixture.shared()
        let answer = try fixture.client(.oauth).exchange(fixture.tokenRequest(row.assertion(fixture)))
        let body = JSON(text: answer.body)
        if let (code, says) = row.error {
            #expect(answer.status == 400)
            #expect(body?["error"]?.string == code)
            #expect(body?["error_description"]?.string?.contains(says) ?? false, "\(answer.body)")
        } else {
            #expect(answer.status == 200)
            #expect(body?["access_token"]?.string?.hasPrefix("ya29.") ?? false)
            #expect(body?["expires_in"] == 3599)
            #expect(body?["token_type"] == "Bearer")
        }
    }

    @Test(arguments: [
        ("", "invalid_request"), ("grant_type=password&assertion=x", "unsupported_grant_type"),
        ("assertion=x", "invalid_request"),
        ("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer", "invalid_request"),
        ("grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer&assertion=x.y.z", "invalid_grant"),
        ("grant_type=%zz", "invalid_request"),
    ])
    func `a form that is wrong is refused`(form: String, error: String) async throws {
        let fixture = try await Fixture.shared()
        var request = fixture.tokenRequest("")
        request.body = Array(form.utf8)
        let answer = try fixture.client(.oauth).exchange(request)
        #expect(answer.status == 400)
        #expect(JSON(text: answer.body)?["error"]?.string == error)
    }

    @Test func `an assertion as JSON, by GET or to another path gets no token`() async throws {
        let fixture = try await Fixture.shared()
        let client = try fixture.client(.oauth)
        var request = fixture.tokenRequest(fixture.assertion())
        request.headers = [("content-type", "application/json")]
        #expect(try client.exchange(request).status == 400)
        request = fixture.tokenRequest(fixture.assertion())
        request.path = "/o/token"
        #expect(try client.exchange(request).status == 404)
        request = fixture.tokenRequest(fixture.assertion())
        request.method = "PUT"
        #expect(try client.exchange(request).status == 405)
    }

    @Test func `calls and tokens are counted`() async throws {
        let fixture = try await Fixture.start()
        _ = try fixture.accessToken()
        _ = try fixture.client(.oauth).exchange(fixture.tokenRequest("x"))
        _ = try fixture.accessToken()
        let books = fixture.simulator.books()
        #expect(books.oauthCalls == 3)
        #expect(books.accessTokens == 2)
        #expect(books[.oauth].refusals == ["invalid_grant": 1])
        #expect(books[.oauth].answers == [200: 2, 400: 1])
        await fixture.simulator.stop()
    }

    @Test func `the service account's file has what Google's has`() async throws {
        let fixture = try await Fixture.shared()
        let json = fixture.serviceAccountJSON
        #expect(json["type"] == "service_account")
        #expect(json["project_id"] == "gryt-simulated")
        #expect(json["token_uri"]?.string == fixture.simulator.origin(of: .oauth) + "/token")
        #expect(json["client_email"]?.string == fixture.simulator.serviceAccount.email)
        #expect(json["private_key_id"]?.string == fixture.simulator.serviceAccount.keyID)
        let key = try RS256SigningKey(pem: try #require(json["private_key"]?.string))
        #expect(key.publicKeyPEM == fixture.simulator.serviceAccount.key.publicKeyPEM)
    }
}
