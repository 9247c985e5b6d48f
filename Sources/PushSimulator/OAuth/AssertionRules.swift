import Cryptography

/// What Google asks of a service account's assertion ("Using OAuth 2.0 for server to server applications"), and the
/// words in which it refuses. Pure, the clock handed in.
struct AssertionRules {
    /// The only account there is.
    let account: ServiceAccount
    /// The public half of the account's key.
    let key: RS256VerifyingKey

    /// One of the scopes by which FCM may be used.
    static let usefulScopes: Set<String> = [
        "https://www.googleapis.com/auth/firebase.messaging", "https://www.googleapis.com/auth/cloud-platform",
    ]
    /// How far `iat` may be from Google's clock, and how far `exp` from `iat`; seconds.
    private static let clockTolerance: Int64 = 300
    private static let longestLife: Int64 = 3600

    /// A refusal: RFC 6749 section 5.2's `error`, and the description.
    struct Refusal: Error, Equatable {
        /// The HTTP status.
        var status = 400
        /// `error`: a code.
        var error: String
        /// `error_description`: a sentence.
        var description: String
    }

    /// Judges a whole request. `now` in milliseconds.
    func check(_ request: HTTPRequest, now: Int64) -> Refusal? {
        guard request.path == "/token" else {
            return Refusal(status: 404, error: "not_found", description: "Not Found")
        }
        guard request.method == "POST" else {
            return Refusal(status: 405, error: "invalid_request", description: "Method not allowed")
        }
        let mediaType = request.header("content-type")?.split(separator: ";").first.map { trimmed($0).lowercased() }
        guard mediaType == "application/x-www-form-urlencoded", let form = FormFields(request.body) else {
            return Refusal(error: "invalid_request", description: "Could not parse the request body.")
        }
        guard let grantType = form["grant_type"] else {
            return Refusal(error: "invalid_request", description: "Required parameter is missing: grant_type")
        }
        guard grantType == "urn:ietf:params:oauth:grant-type:jwt-bearer" else {
            return Refusal(error: "unsupported_grant_type", description: "Invalid grant_type: \(grantType)")
        }
        guard let assertion = form["assertion"] else {
            return Refusal(error: "invalid_request", description: "Missing required parameter: assertion")
        }
        return check(assertion: assertion, now: now)
    }

    /// Judges the assertion. `now` in milliseconds.
    func check(assertion: String, now: Int64) -> Refusal? {
        guard let jwt = CompactJWT(assertion) else {
            return Refusal(error: "invalid_grant", description: "Bad Request")
        }
        guard jwt.claims["iss"]?.string == account.email else {
            return Refusal(error: "invalid_grant", description: "Invalid grant: account not found")
        }
        guard jwt.header["alg"]?.string == "RS256", jwt.header["kid"]?.string == account.keyID,
            key.isValid(signature: jwt.signature, for: jwt.signedBytes)
        else { return Refusal(error: "invalid_grant", description: "Invalid JWT Signature.") }
        guard jwt.claims["aud"]?.string == account.tokenURI else {
            return Refusal(
                error: "invalid_grant",
                description: "Invalid JWT: Failed audience check. The right audience is \(account.tokenURI)")
        }
        guard let issued = jwt.claims["iat"]?.integer, let expires = jwt.claims["exp"]?.integer,
            isReasonable(issued: issued, expires: expires, now: now / 1000)
        else {
            return Refusal(
                error: "invalid_grant",
                description: "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable "
                    + "timeframe. Check your iat and exp values in the JWT claim.")
        }
        let scopes = (jwt.claims["scope"]?.string ?? "").split(separator: " ").map { String($0) }
        guard !scopes.isEmpty, scopes.allSatisfy({ $0.hasPrefix("https://www.googleapis.com/auth/") }),
            !Self.usefulScopes.isDisjoint(with: scopes)
        else {
            return Refusal(
                error: "invalid_scope", description: "Invalid OAuth scope or ID token audience provided.")
        }
        return nil
    }

    private func isReasonable(issued: Int64, expires: Int64, now: Int64) -> Bool {
        let (life, overflowed) = expires.subtractingReportingOverflow(issued)
        let (age, overflowedToo) = now.subtractingReportingOverflow(issued)
        return !overflowed && !overflowedToo && life > 0 && life <= Self.longestLife && expires > now
            && (-Self.clockTolerance...Self.clockTolerance).contains(age)
    }

    private func trimmed(_ text: Substring) -> Substring {
        var text = text
        while text.first == " " { text.removeFirst() }
        while text.last == " " { text.removeLast() }
        return text
    }
}
