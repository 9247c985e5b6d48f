import Cryptography
import FoundationEssentials
package import HTTP2Client
package import PushModel

/// The two halves of a token request: the assertion that goes out, and the answer's meaning. Google: "Using OAuth 2.0
/// for server to server applications"; RFC 7523.
package enum OAuthExchange {
    /// What an access token may be used for.
    package static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    /// The lifetime an assertion asks for; Google grants no more.
    package static let lifetime: Int64 = 3600
    /// `iat` is set back by this much, so that a clock that is a little ahead is no fault.
    package static let backdating: Int64 = 10

    /// The whole request. `path` is that of the account's `token_uri`.
    package static func request(for account: ServiceAccount, path: String, at now: WallInstant) -> HTTP2Request {
        HTTP2Request(
            method: "POST", path: path,
            headers: [
                HTTP2Header(name: "content-type", value: "application/x-www-form-urlencoded", indexing: .incremental),
                HTTP2Header(name: "accept", value: "application/json", indexing: .incremental),
            ],
            body: form(for: account, at: now))
    }

    /// The form that is posted: grant type and an RS256 assertion.
    package static func form(for account: ServiceAccount, at now: WallInstant) -> [UInt8] {
        let issued = now.seconds - backdating
        var header: [UInt8] = []
        header.appendPlain(#"{"alg":"RS256","typ":"JWT""#)
        if !account.privateKeyID.isEmpty {
            header.appendPlain(#","kid":"#)
            header.appendJSONString(account.privateKeyID)
        }
        header.appendPlain("}")
        var claims: [UInt8] = []
        claims.appendPlain(#"{"iss":"#)
        claims.appendJSONString(account.clientEmail)
        claims.appendPlain(#","scope":"#)
        claims.appendJSONString(scope)
        claims.appendPlain(#","aud":"#)
        claims.appendJSONString(account.tokenURI)
        claims.appendPlain(#","iat":\#(issued),"exp":\#(issued + lifetime)}"#)
        let signed = "\(Base64URL.encode(header)).\(Base64URL.encode(claims))"
        let signature = Base64URL.encode(account.key.sign(Array(signed.utf8)))
        return Array(
            "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(signed).\(signature)".utf8)
    }

    /// What came of it: a token and how long it is good for, or why not.
    package static func interpret(status: Int, body: [UInt8]) -> Result<Grant, OAuthFailure> {
        if status == 200 {
            guard let grant = try? JSONDecoder().decode(Granted.self, from: Data(body)) else {
                return .failure(.malformed)
            }
            let seconds = grant.expiresIn ?? 3600
            // It goes into a header as it is, so it may hold nothing that a header may not.
            guard seconds > 0, !grant.accessToken.isEmpty,
                grant.accessToken.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            else { return .failure(.malformed) }
            return .success(Grant(token: AccessToken(grant.accessToken), lifetime: .seconds(min(seconds, 86_400))))
        }
        switch status {
        case 408, 429, 500...599: return .failure(.unavailable)
        case 400...499: break
        default: return .failure(.malformed)
        }
        switch OAuthRefusalReason(body) {
        case nil: return .failure(.malformed)
        case .unavailable: return .failure(.unavailable)
        case .clock: return .failure(.clock)
        case .signature, .noAccount, .disabled, .audience, .scope, .client, .other: return .failure(.refused)
        }
    }

    /// A token and how long it is good for.
    package struct Grant: Sendable, Equatable {
        /// Ready for the header.
        package var token: AccessToken
        /// From the moment of the answer.
        package var lifetime: Duration
    }

    private struct Granted: Decodable {
        var accessToken: String
        var expiresIn: Int64?

        enum CodingKeys: String, CodingKey {
            case accessToken = "access_token"
            case expiresIn = "expires_in"
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            accessToken = try container.decode(String.self, forKey: .accessToken)
            // Seen as a number and as a string.
            if let number = try? container.decodeIfPresent(Int64.self, forKey: .expiresIn) {
                expiresIn = number
            } else if let text = try container.decodeIfPresent(String.self, forKey: .expiresIn) {
                guard let number = Int64(text) else {
                    throw DecodingError.dataCorruptedError(
                        forKey: .expiresIn, in: container, debugDescription: "not a number")
                }
                expiresIn = number
            }
        }
    }
}
