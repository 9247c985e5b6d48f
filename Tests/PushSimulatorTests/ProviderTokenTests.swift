import Cryptography
import PushSimulator
import Testing

/// R|S as the DER that OpenSSL makes and Apple refuses.
private func der(_ raw: [UInt8]) -> [UInt8] {
    func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var bytes = Array(bytes.drop { $0 == 0 })
        if bytes.first.map({ $0 >= 0x80 }) ?? true { bytes.insert(0, at: 0) }
        return [0x02, UInt8(bytes.count)] + bytes
    }
    let body = integer(raw[..<32]) + integer(raw[32...])
    return [0x30, UInt8(body.count)] + body
}

@Suite(.timeLimit(.minutes(1)))
struct ProviderTokenTests {
    /// A way to make a provider token, and what Apple says to it; nil is a push accepted.
    enum Case: String, CaseIterable, Sendable {
        case right, signedByAnother, derSignature, shortSignature, wrongKeyID, wrongTeam, wrongAlgorithm, textualTime,
            fractionalTime, missingTime, paddedBase64, nearlyAnHourOld, overAnHourOld, nearlyAnHourAhead,
            overAnHourAhead, beforeAllTime

        var reason: String? {
            switch self {
            case .right, .nearlyAnHourOld, .nearlyAnHourAhead: nil
            case .overAnHourOld, .beforeAllTime: "ExpiredProviderToken"
            case .signedByAnother, .derSignature, .shortSignature, .wrongKeyID, .wrongTeam, .wrongAlgorithm,
                .textualTime, .fractionalTime, .missingTime, .paddedBase64, .overAnHourAhead:
                "InvalidProviderToken"
            }
        }

        func token(_ fixture: Fixture) -> String {
            let team = JSON.string(fixture.simulator.apnsTeamID)
            let now = fixture.simulator.now / 1000
            func at(_ time: JSON) -> String { fixture.providerToken(claims: ["iss": team, "iat": time]) }
            switch self {
            case .right: return fixture.providerToken()
            case .signedByAnother: return fixture.providerToken(key: .generate())
            case .derSignature: return fixture.providerToken(signature: der)
            case .shortSignature: return fixture.providerToken { Array($0.dropLast()) }
            case .wrongKeyID: return fixture.providerToken(header: ["alg": "ES256", "kid": "OTHERKEY01"])
            case .wrongTeam: return fixture.providerToken(claims: ["iss": "OTHERTEAM1", "iat": JSON(now)])
            case .wrongAlgorithm:
                return fixture.providerToken(header: ["alg": "HS256", "kid": .string(fixture.simulator.apnsKeyID)])
            case .textualTime: return at(.string(String(now)))
            case .fractionalTime: return at(.number("\(now).5"))
            case .missingTime: return fixture.providerToken(claims: ["iss": team])
            case .paddedBase64: return fixture.providerToken() + "=="
            case .nearlyAnHourOld: return at(JSON(now - 3540))
            case .overAnHourOld: return at(JSON(now - 3660))
            case .nearlyAnHourAhead: return at(JSON(now + 3540))
            case .overAnHourAhead: return at(JSON(now + 3660))
            case .beforeAllTime: return at(JSON(Int64.min))
            }
        }
    }

    @Test(arguments: Case.allCases)
    func `a provider token is judged by key, ids, form and age`(row: Case) async throws {
        let fixture = try await Fixture.shared()
        let request = fixture.apnsRequest(
            SimulatedPhone(.ios).token, changing: ["authorization": "bearer " + row.token(fixture)])
        let answer = try fixture.client(.apnsProduction).exchange(request)
        if let reason = row.reason {
            #expect(answer.status == 403)
            #expect(answer.body == #"{"reason":"\#(reason)"}"#)
        } else {
            #expect(answer.status == 200)
        }
    }

    @Test func `a second new token within 20 minutes is one too many on a connection, and on no other`() async throws {
        let fixture = try await Fixture.start()
        let phone = SimulatedPhone(.ios)
        let (first, second) = (fixture.providerToken(), fixture.providerToken())
        func push(_ token: String) -> TestRequest {
            fixture.apnsRequest(phone.token, changing: ["authorization": "Bearer " + token])
        }
        let client = try fixture.client(.apnsProduction)
        #expect(try client.exchange(push(first)).status == 200)
        let refused = try client.exchange(push(second))
        #expect(refused.status == 429 && refused.body == #"{"reason":"TooManyProviderTokenUpdates"}"#)
        #expect(try client.exchange(push(first)).status == 200)
        #expect(try fixture.client(.apnsProduction).exchange(push(second)).status == 200)
        fixture.simulator.advanceClock(by: .seconds(20 * 60 - 30))
        #expect(try client.exchange(push(second)).status == 429)
        fixture.simulator.advanceClock(by: .seconds(31))
        #expect(try client.exchange(push(second)).status == 200)
        #expect(fixture.simulator.books().providerTokens == 2)
        await fixture.simulator.stop()
    }

    @Test func `a token grows old while its connection lives`() async throws {
        let fixture = try await Fixture.start()
        let client = try fixture.client(.apnsProduction)
        let request = fixture.apnsRequest(SimulatedPhone(.ios).token)
        #expect(try client.exchange(request).status == 200)
        fixture.simulator.advanceClock(by: .seconds(3601))
        #expect(try client.exchange(request).body == #"{"reason":"ExpiredProviderToken"}"#)
        let fresh = "bearer " + fixture.providerToken()
        let renewed = fixture.apnsRequest(SimulatedPhone(.ios).token, changing: ["authorization": fresh])
        #expect(try client.exchange(renewed).status == 200)
        await fixture.simulator.stop()
    }

    @Test func `a connection wedges after an old token when it is told to`() async throws {
        let fixture = try await Fixture.start()
        var behaviour = ConnectionBehaviour.usual(of: .apnsProduction)
        behaviour.wedgesAfterExpiredToken = true
        fixture.simulator.setBehaviour(behaviour, of: .apnsProduction)
        let client = try fixture.client(.apnsProduction)
        let phone = SimulatedPhone(.ios)
        let old = "bearer " + Case.overAnHourOld.token(fixture)
        #expect(try client.exchange(fixture.apnsRequest(phone.token, changing: ["authorization": old])).status == 403)
        #expect(try client.exchange(fixture.apnsRequest(phone.token)).status == 403)
        #expect(try fixture.client(.apnsProduction).exchange(fixture.apnsRequest(phone.token)).status == 200)
        await fixture.simulator.stop()
    }
}
