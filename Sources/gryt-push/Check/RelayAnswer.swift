import FoundationEssentials

/// What a listener on this machine says when it is asked how it is, and whether it is a relay that says so. A value; the
/// asking is ``LoopbackRequest``'s.
enum RelayAnswer: Equatable {
    /// A relay that is well; with the version of `/healthz`.
    case well(version: String?)
    /// A relay that says what is wrong with it.
    case unwell(String)
    /// Something else answers there.
    case stranger(status: Int)

    /// Reads an answer to `/healthz`.
    init(health answer: LoopbackRequest.Answer) {
        let body = try? JSONDecoder().decode(Health.self, from: Data(answer.body))
        if answer.status == 200, body?.ok == true, let version = body?.version {
            self = .well(version: Self.shown(version))
        } else if answer.status >= 500, let code = body?.error {
            self = .unwell(Self.shown(code))
        } else {
            self = .stranger(status: answer.status)
        }
    }

    /// Reads an answer to `/readyz`.
    init(readiness answer: LoopbackRequest.Answer) {
        let body = try? JSONDecoder().decode(Readiness.self, from: Data(answer.body))
        guard let body, answer.status == 200 || answer.status == 503 else {
            self = .stranger(status: answer.status)
            return
        }
        guard !body.ready || answer.status != 200 else {
            self = .well(version: nil)
            return
        }
        let faults = body.checks.filter { !$0.ok }.map { "\($0.name): \($0.detail ?? "not well")" }
        self = .unwell(Self.shown(faults.joined(separator: "; ")))
    }

    /// Reads an answer to `/livez`.
    init(liveness answer: LoopbackRequest.Answer) {
        let body = try? JSONDecoder().decode(Health.self, from: Data(answer.body))
        guard let isAlive = body?.ok, answer.status == 200 || answer.status == 503 else {
            self = .stranger(status: answer.status)
            return
        }
        self = isAlive ? .well(version: nil) : .unwell("an event loop does not answer")
    }

    private struct Health: Decodable {
        var ok: Bool?
        var version: String?
        var error: String?
    }

    private struct Readiness: Decodable {
        struct Check: Decodable {
            var name: String
            var ok: Bool
            var detail: String?
        }

        var ready: Bool
        var checks: [Check]
    }

    /// Whoever answers there may be a stranger, and a terminal obeys control characters.
    private static func shown(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.prefix(300).map { (" "..."~").contains($0) ? $0 : "?" }))
    }
}
