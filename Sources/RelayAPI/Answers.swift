package import HTTPServer
package import PushModel
import Relay

/// Puts answers into the form they have on the wire: JSON, never stored, never guessed at.
package enum Answers {
    /// The headers of every answer with a body.
    static let bodyHeaders: [(name: String, value: String)] = [
        ("content-type", "application/json; charset=utf-8"),
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
    ]

    /// 202: the push service took the push.
    package static let accepted = HTTPResponse(
        status: 202, headers: bodyHeaders, body: Array(#"{"ok":true}"#.utf8)
    ).prepared()

    /// 204: the capability is gone.
    package static let removed = HTTPResponse(
        status: 204, headers: [("cache-control", "no-store"), ("x-content-type-options", "nosniff")], body: []
    ).prepared()

    /// 201: the one answer that carries a capability.
    package static func registered(_ capability: Capability) -> HTTPResponse {
        HTTPResponse(
            status: 201, headers: bodyHeaders, body: Array(#"{"capability":"\#(capability.disclosed)"}"#.utf8))
    }

    /// 200: the program runs.
    package static func healthy(version: String) -> HTTPResponse {
        HTTPResponse(status: 200, headers: bodyHeaders, body: Array(#"{"ok":true,"version":\#(quoted(version))}"#.utf8))
            .prepared()
    }

    /// 200: the OpenAPI document of the public port, which is `docs/openapi.json` byte for byte.
    package static let openAPI = HTTPResponse(status: 200, headers: bodyHeaders, body: PackageResources.openapi_json)
        .prepared()

    /// A refusal: `{"error":"<code>"}` and what goes with it.
    package static func refused(_ refusal: Refusal) -> HTTPResponse {
        var headers = bodyHeaders
        var body = #"{"error":"\#(refusal.code)""#
        if let reason = refusal.reason { body += #","reason":"\#(reason.rawValue)""# }
        if let limit = refusal.limit { body += #","limit":"\#(limit.rawValue)""# }
        if let wait = refusal.retryAfter {
            let seconds = wait.secondsRoundedUp
            body += #","retry_after":\#(seconds)"#
            headers.append(("retry-after", String(seconds)))
        }
        if let allow = refusal.allow { headers.append(("allow", allow)) }
        if refusal.status == 401 { headers.append(("www-authenticate", "Bearer")) }
        return HTTPResponse(status: refusal.status, headers: headers, body: Array((body + "}").utf8))
    }

    /// A JSON string with its quotes (RFC 8259 section 7).
    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case "\u{0}"..<"\u{20}":
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
