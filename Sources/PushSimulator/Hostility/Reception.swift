/// How a service receives a connection that the kernel has taken.
package enum Reception: Sendable, Equatable {
    /// TLS, then HTTP/2.
    case usual
    /// RST at once.
    case reset
    /// FIN at once.
    case close
    /// The connection stays open, and TLS is never answered.
    case stall
    /// TLS is answered only after so long.
    case delay(Duration)
    /// These bytes in clear in place of TLS, then FIN: a middle box that speaks HTTP/1.1.
    case noise(String)
}

/// What the kernel does with SYNs for a service's port.
package enum Listening: String, Sendable, CaseIterable {
    /// It takes them.
    case usual
    /// It answers RST: "connection refused".
    case refuses = "refuse"
    /// It answers nothing: the client waits for its own time-out.
    case drops = "drop"
}

/// Which of this machine's two addresses is meant.
package enum AddressFamily: String, Sendable, CaseIterable {
    case both
    /// 127.0.0.1.
    case v4
    /// ::1, which comes first where a client asks for `localhost`.
    case v6
}

/// What a service says of itself in the TLS handshake.
package enum TLSProfile: String, Sendable, CaseIterable {
    /// A certificate that is good for the real names and this machine, TLS 1.2 or newer, and `h2`.
    case usual
    /// A certificate whose time is over.
    case expired
    /// A certificate for another name.
    case wrongName = "wrong-name"
    /// A certificate of a root that nobody was given, as a TLS-inspecting proxy shows one.
    case unknownRoot = "unknown-root"
    /// TLS 1.1 and nothing newer.
    case tls11 = "tls-1.1"
    /// No word about a protocol, then HTTP/2 all the same: pushy was seen to get on with such a server.
    case noProtocol = "no-alpn"
    /// `http/1.1`, and an answer in HTTP/1.1 to whatever comes.
    case http11 = "http-1.1"
    /// `h2`, and an answer in HTTP/1.1 to whatever comes.
    case http11AfterH2 = "http-1.1-after-h2"

    /// Whether the server speaks HTTP/1.1 after the handshake.
    var speaksHTTP11: Bool { self == .http11 || self == .http11AfterH2 }
}

/// Which connections a service receives otherwise than usual.
struct ReceptionPlan: Sendable {
    private var receptions: [(reception: Reception, times: Int?)] = []
    private var limit: (count: Int, window: Duration, reception: Reception)?
    private var recent: [ContinuousClock.Instant] = []

    /// Receives connections so, after earlier orders are used up; nil is every one until it is taken back.
    mutating func add(_ reception: Reception, times: Int?) { receptions.append((reception, times)) }

    /// Receives so what is more than `count` connections in a window of this length; nil ends that.
    mutating func limit(_ limit: (count: Int, window: Duration, reception: Reception)?) {
        self.limit = limit
        recent.removeAll()
    }

    /// Receives all as usual again.
    mutating func clear() { self = ReceptionPlan() }

    /// How the connection that comes now is received.
    mutating func next(now: ContinuousClock.Instant) -> Reception {
        if let first = receptions.first {
            if let times = first.times {
                if times <= 1 { receptions.removeFirst() } else { receptions[0].times = times - 1 }
            }
            return first.reception
        }
        guard let limit else { return .usual }
        recent.removeAll { now - $0 >= limit.window }
        guard recent.count < limit.count else { return limit.reception }
        recent.append(now)
        return .usual
    }
}
