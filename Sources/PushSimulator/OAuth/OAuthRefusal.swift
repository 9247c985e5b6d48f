/// Every answer of a token endpoint that is none, as Google's and others were seen to give them.
package enum OAuthRefusal: String, Sendable, CaseIterable {
    /// 400 `invalid_grant`: somebody's clock is wrong.
    case clockSkew = "clock-skew"
    /// 400 `invalid_grant`: the key is revoked or not the account's.
    case badSignature = "bad-signature"
    /// 400 `invalid_grant`: the account was deleted.
    case accountNotFound = "account-not-found"
    case invalidScope = "invalid-scope"
    case unauthorizedClient = "unauthorized-client"
    case invalidClient = "invalid-client"
    case requestTimeout = "request-timeout"
    case rateLimited = "rate-limited"
    case internalFailure = "internal-failure"
    case serverError = "server-error"
    case temporarilyUnavailable = "temporarily-unavailable"
    case gatewayTimeout = "gateway-timeout"
    /// 500, and a page for people.
    case page
    /// 200, and a page for people, as a captive portal shows one.
    case pageAsSuccess = "page-as-success"
    /// 200 and no body.
    case emptySuccess = "empty-success"
    /// 200 and half a body.
    case truncatedSuccess = "truncated-success"
    /// 200 and no `access_token`.
    case tokenMissing = "token-missing"
    /// 200 and an `access_token` that is no string.
    case tokenIsNumber = "token-is-number"
    /// 200 and an empty `access_token`.
    case tokenIsEmpty = "token-is-empty"
    /// 200 and an `access_token` with a line break, which no header may carry.
    case tokenWithLineBreak = "token-with-line-break"
    /// 302 to somewhere else, where no assertion must go.
    case redirect

    /// The whole answer.
    package func answer(retryAfter: String? = nil) -> SimulatedAnswer {
        var answer =
            switch self {
            case .clockSkew:
                Self.error(
                    400, "invalid_grant",
                    "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check "
                        + "your iat and exp values in the JWT claim.")
            case .badSignature: Self.error(400, "invalid_grant", "Invalid JWT Signature.")
            case .accountNotFound: Self.error(400, "invalid_grant", "Invalid grant: account not found")
            case .invalidScope: Self.error(400, "invalid_scope", "Invalid OAuth scope or ID token audience provided.")
            case .unauthorizedClient:
                Self.error(
                    401, "unauthorized_client",
                    "Client is unauthorized to retrieve access tokens using this method, or client not authorized "
                        + "for any of the scopes requested.")
            case .invalidClient: Self.error(401, "invalid_client", "The OAuth client was not found.")
            case .requestTimeout: Self.error(408, "request_timeout", "Request timed out.")
            case .rateLimited: Self.error(429, "rate_limit_exceeded", "Rate limit exceeded.")
            case .internalFailure: Self.error(500, "internal_failure", "Internal failure.")
            case .serverError: Self.error(500, "server_error", "Server error.")
            case .temporarilyUnavailable: Self.error(503, "temporarily_unavailable", "Try again later.")
            case .gatewayTimeout: GooglePage.answer(status: 504)
            case .page: GooglePage.answer(status: 500)
            case .pageAsSuccess: GooglePage.answer(status: 200)
            case .emptySuccess: SimulatedAnswer(status: 200)
            case .truncatedSuccess: Self.success(#"{"access_token":"ya29.c.abc","expires_"#)
            case .tokenMissing: Self.success(#"{"expires_in":3599,"token_type":"Bearer"}"#)
            case .tokenIsNumber: Self.success(#"{"access_token":7,"expires_in":3599,"token_type":"Bearer"}"#)
            case .tokenIsEmpty: Self.success(#"{"access_token":"","expires_in":3599,"token_type":"Bearer"}"#)
            case .tokenWithLineBreak:
                Self.success(#"{"access_token":"ya29.a\r\nx-evil: 1","expires_in":3599,"token_type":"Bearer"}"#)
            case .redirect:
                SimulatedAnswer(status: 302, headers: [HeaderField("location", "https://localhost:1/token")])
            }
        if let retryAfter { answer.headers.append(HeaderField("retry-after", retryAfter)) }
        return answer
    }

    private static let type = HeaderField("content-type", "application/json; charset=utf-8")

    private static func success(_ body: String) -> SimulatedAnswer {
        SimulatedAnswer(status: 200, headers: [type], body: body)
    }

    private static func error(_ status: Int, _ code: String, _ description: String) -> SimulatedAnswer {
        let body: JSON = ["error": .string(code), "error_description": .string(description)]
        return SimulatedAnswer(status: status, headers: [type], body: body.text)
    }
}

/// What Google thinks of the service account.
package enum ServiceAccountState: String, Sendable, CaseIterable {
    case usual
    /// Its key was revoked: "Invalid JWT Signature."
    case keyRevoked = "key-revoked"
    /// It was deleted: "Invalid grant: account not found".
    case deleted
}

/// What a token endpoint says about the life of a token, and how long the token is really good.
package struct AccessTokenLife: Sendable, Equatable {
    /// `expires_in`, of whatever kind; nil leaves it out.
    package var expiresIn: JSON?
    /// How long FCM takes the token, by the simulator's clock.
    package var lifetime: Duration

    package init(expiresIn: JSON?, lifetime: Duration) {
        self.expiresIn = expiresIn
        self.lifetime = lifetime
    }
}

extension Fault {
    /// An answer of the token endpoint that gives no token.
    package static func oauth(_ refusal: OAuthRefusal, retryAfter: String? = nil, times: Int? = nil) -> Fault {
        var fault = Fault(.answer(refusal.answer(retryAfter: retryAfter)), times: times)
        fault.filedUnder = refusal.rawValue
        return fault
    }
}
