import HTTP2Client

/// Judges the way to a push service: name, TCP, the proxy, TLS, HTTP/2.
enum ConnectionJudgement {
    /// Where a connection goes, as far as it matters for what to do.
    struct Way: Equatable {
        /// Host and port of the proxy; nil when there is none on the way.
        var proxy: String?
        /// The setting that names the place.
        var setting: String
    }

    /// A connection stands.
    static func standing(_ way: Way) -> Judgement {
        .ok("TLS and HTTP/2 stand" + (way.proxy.map { ", through the proxy \($0)" } ?? ""))
    }

    /// None does, for this reason.
    static func judge(_ reason: Unreachable, _ way: Way) -> Judgement {
        .wrong("\(reason)", advice(reason, way))
    }

    /// What to do about a reason.
    static func advice(_ reason: Unreachable, _ way: Way) -> String {
        switch reason {
        case .nameNotResolved, .nameTimeout:
            "let this machine reach a name server (/etc/resolv.conf), and check \(way.setting)"
        case .connectFailed, .connectTimeout:
            "let the firewall pass connections to it, or set HTTPS_PROXY if they must go through a proxy; then check "
                + way.setting
        case .tlsTimeout, .settingsTimeout, .noAnswer:
            "see what lies in between: a firewall or a proxy that takes connections and passes nothing on"
        case .tlsFailed: "see what lies in between, and whether \(way.setting) leads to a port that speaks TLS"
        case .certificateNotTrusted:
            "install the system's roots (ca-certificates); for a proxy that opens TLS, which APNs does not allow, or a "
                + "test host, add its root by UPSTREAM_CA_FILE"
        case .certificateNotCurrent: "check this machine's clock; if it is right, the other side's certificate is not"
        case .certificateForAnotherHost:
            "check \(way.setting) and the name servers: who answers there has a certificate for another name"
        case .notHTTP2:
            "let connections to it pass unopened: something in between, or another service, speaks HTTP/1.1 only"
        case .goodbyeWithError: "see what lies in between; if this stays so, tell the relay's authors"
        case .proxyUnreachable: "check host and port of HTTPS_PROXY, and that the proxy runs"
        case .proxyTimeout, .proxyHungUp, .proxyAnswerInvalid:
            "check that HTTPS_PROXY leads to an http:// proxy that makes tunnels (CONNECT)"
        case .proxyRefused(status: 407): "check the user and the password in HTTPS_PROXY"
        case .proxyRefused(status: 403): "have the proxy allow CONNECT to this host and port, or name it in NO_PROXY"
        case .proxyRefused: "see the proxy's log: it does not reach the host, or does not allow it"
        case .backingOff(let cause): advice(cause, way)
        }
    }
}
