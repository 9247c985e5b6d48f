import Cryptography

/// What the proxy does with a CONNECT that it understands and whose sender it knows.
package enum ProxyAnswer: Sendable, Equatable {
    /// A status of success with this reason phrase, which may be empty or anything else, and then the tunnel.
    case connects(status: Int = 200, reason: String = "Connection established")
    /// Likewise, with so many bytes of header fields.
    case connectsWithHeaders(bytes: Int)
    /// Likewise, one byte a piece, with this pause after each.
    case connectsSlowly(pause: Duration)
    /// A refusal, after which the connection is closed.
    case refuses(status: Int, reason: String = "", body: String = "")
    /// Exactly these bytes, after which the connection is closed.
    case says(String)
    /// Nothing, for as long as the client bears it.
    case hangs
    /// FIN without an answer.
    case closes
    /// RST without an answer.
    case resets
}

/// A user of the proxy (RFC 7617).
package struct ProxyCredentials: Sendable, Equatable {
    /// Without a colon.
    package var user: String
    /// Anything.
    package var password: String

    package init(user: String, password: String) {
        self.user = user
        self.password = password
    }

    /// What `proxy-authorization` has to say.
    var header: String { "Basic " + ProxyBase64.encode(Array("\(user):\(password)".utf8)) }
}

/// What the proxy has seen so far.
package struct ProxyCounts: Sendable, Equatable {
    /// Connections to the proxy.
    package var connectionsOpened = 0
    /// CONNECTs by the target as it was asked for, `host:port`, refused ones too. At most a thousand targets.
    package var connects: [String: Int] = [:]
    /// Tunnels that were established, by the target.
    package var tunnels: [String: Int] = [:]
    /// Answers by status.
    package var answers: [Int: Int] = [:]
    /// CONNECTs that carried `proxy-authorization`, right or wrong.
    package var withCredentials = 0
    /// Tunnels that are open.
    package var tunnelsOpen = 0

    package init() {}

    /// Counts by target, and drops what is beyond the bound.
    static func count(_ target: String, in counts: inout [String: Int]) {
        guard counts[target] != nil || counts.count < 1000 else { return }
        counts[target, default: 0] += 1
    }
}

/// What the proxy is told to do. Pure.
struct ProxyRules: Sendable {
    /// Whom it lets through; nil is everybody.
    var credentials: ProxyCredentials?
    private var answers: [(answer: ProxyAnswer, host: String?, times: Int?)] = []

    /// Answers so, after earlier orders for the same host are used up; no host is every host.
    mutating func add(_ answer: ProxyAnswer, host: String?, times: Int?) { answers.append((answer, host, times)) }

    /// Answers as usual again.
    mutating func clear() { answers.removeAll() }

    /// The answer to a CONNECT for this host, counted down.
    mutating func next(for host: String) -> ProxyAnswer {
        guard let index = answers.firstIndex(where: { $0.host == nil || $0.host == host }) else { return .connects() }
        let found = answers[index]
        if let times = found.times {
            if times <= 1 { answers.remove(at: index) } else { answers[index].times = times - 1 }
        }
        return found.answer
    }

    /// The simulated service that stands for this target; nil for anything that is neither one nor this machine.
    static func target(host: String, port: UInt16) -> ProxyTarget? {
        switch (host, port) {
        case ("localhost", _), ("127.0.0.1", _), ("[::1]", _): .port(port)
        case ("api.push.apple.com", 443), ("api.push.apple.com", 2197): .service(.apnsProduction)
        case ("api.sandbox.push.apple.com", 443), ("api.sandbox.push.apple.com", 2197),
            ("api.development.push.apple.com", 443), ("api.development.push.apple.com", 2197):
            .service(.apnsSandbox)
        case ("fcm.googleapis.com", 443): .service(.fcm)
        case ("oauth2.googleapis.com", 443): .service(.oauth)
        default: nil
        }
    }
}

/// Where a tunnel leads to.
enum ProxyTarget: Equatable {
    /// A service of this simulator, by whatever name it was asked for.
    case service(SimulatedService)
    /// A port of this machine.
    case port(UInt16)
}

/// The head of a request to the proxy. Pure.
struct ProxyRequest: Equatable {
    /// In lower case.
    var host: String
    /// Never 0.
    var port: UInt16
    /// `proxy-authorization`.
    var authorization: String?

    /// The status with which a head is refused that is no CONNECT.
    struct Refusal: Error, Equatable {
        var status: Int
    }

    /// Reads a head up to and without the empty line.
    static func read(_ head: String) -> Result<ProxyRequest, Refusal> {
        let lines = head.split(separator: "\r\n", omittingEmptySubsequences: false)
        let words = (lines.first ?? "").split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, words[2].hasPrefix("HTTP/1.") else { return .failure(Refusal(status: 400)) }
        guard words[0] == "CONNECT" else { return .failure(Refusal(status: 405)) }
        guard let colon = words[1].lastIndex(of: ":"), let port = UInt16(words[1][words[1].index(after: colon)...]),
            port > 0
        else { return .failure(Refusal(status: 400)) }
        var request = ProxyRequest(host: words[1][..<colon].lowercased(), port: port)
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, parts[0].lowercased() == "proxy-authorization" else { continue }
            request.authorization = String(parts[1].drop { $0 == " " })
        }
        return .success(request)
    }
}

/// Base64 with padding (RFC 4648 section 4), which credentials need and JWTs do not.
enum ProxyBase64 {
    static func encode(_ bytes: [UInt8]) -> String {
        let text = Base64URL.encode(bytes).map { character -> Character in
            switch character {
            case "-": "+"
            case "_": "/"
            default: character
            }
        }
        return String(text) + String(repeating: "=", count: (4 - text.count % 4) % 4)
    }
}
