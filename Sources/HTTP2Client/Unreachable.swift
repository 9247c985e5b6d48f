import COpenSSL
import Glibc

/// Why no connection could be made, typed as far as an operator has to do something different about it.
package enum Unreachable: Error, Sendable, Equatable {
    /// The resolver knows no address for the name; `code` is `getaddrinfo`'s.
    case nameNotResolved(code: Int32)
    /// The resolver did not answer in time.
    case nameTimeout
    /// Every address was tried and refused; `errno` is the last one's.
    case connectFailed(errno: Int32)
    /// No address took the connection in time.
    case connectTimeout
    /// TCP stood, the TLS handshake did not end in time.
    case tlsTimeout
    /// The TLS handshake failed; `reason` is OpenSSL's code, 0 where the connection just ended.
    case tlsFailed(reason: UInt)
    /// The peer's certificate leads to no trusted root; `code` is OpenSSL's `X509_V_ERR_…`.
    case certificateNotTrusted(code: Int)
    /// The peer's certificate is not valid today.
    case certificateNotCurrent(code: Int)
    /// The peer's certificate is for somebody else.
    case certificateForAnotherHost
    /// The peer speaks TLS and does not speak HTTP/2.
    case notHTTP2
    /// The peer never sent the SETTINGS that must be its first words (RFC 9113, section 3.4).
    case settingsTimeout
    /// The peer took the connection, and that ended without one answer.
    case noAnswer
    /// The peer said goodbye with a code that finds fault with us (RFC 9113, section 7).
    case goodbyeWithError(code: UInt32)
    /// No connection to the proxy, for the reason within.
    indirect case proxyUnreachable(Unreachable)
    /// The proxy took the connection and did not answer in time.
    case proxyTimeout
    /// The proxy makes no tunnel to the origin; `status` is its answer, three digits and no 2xx.
    case proxyRefused(status: Int)
    /// The proxy's answer is none to `CONNECT`: not HTTP/1, or without an end.
    case proxyAnswerInvalid
    /// The proxy ended the connection without an answer.
    case proxyHungUp
    /// Made without trying: an attempt has just failed, and the next one is not due yet.
    indirect case backingOff(after: Unreachable)

    /// A label out of a small closed set.
    package var metricLabel: StaticString {
        switch self {
        case .nameNotResolved: "name_not_resolved"
        case .nameTimeout: "name_timeout"
        case .connectFailed: "connect_failed"
        case .connectTimeout: "connect_timeout"
        case .tlsTimeout: "tls_timeout"
        case .tlsFailed: "tls_failed"
        case .certificateNotTrusted: "certificate_not_trusted"
        case .certificateNotCurrent: "certificate_not_current"
        case .certificateForAnotherHost: "certificate_for_another_host"
        case .notHTTP2: "not_http2"
        case .settingsTimeout: "settings_timeout"
        case .noAnswer: "no_answer"
        case .goodbyeWithError: "goodbye_with_error"
        case .proxyUnreachable: "proxy_unreachable"
        case .proxyTimeout: "proxy_timeout"
        case .proxyRefused(status: 407): "proxy_wants_credentials"
        case .proxyRefused(status: 403): "proxy_forbids"
        case .proxyRefused: "proxy_refused"
        case .proxyAnswerInvalid: "proxy_answer_invalid"
        case .proxyHungUp: "proxy_hung_up"
        case .backingOff: "backing_off"
        }
    }

    /// Whether it takes somebody's hand to mend it (a certificate, a proxy in between), so that asking again every few
    /// seconds is of no use.
    package var needsOperator: Bool {
        switch self {
        case .certificateNotTrusted, .certificateNotCurrent, .certificateForAnotherHost, .notHTTP2,
            .proxyAnswerInvalid:
            true
        case .nameNotResolved, .nameTimeout, .connectFailed, .connectTimeout, .tlsTimeout, .tlsFailed,
            .settingsTimeout, .noAnswer, .goodbyeWithError, .proxyTimeout, .proxyHungUp:
            false
        // A proxy that is overloaded, or does not reach the origin at the moment, answers 5xx or says "later".
        case .proxyRefused(let status): !(500...599).contains(status) && status != 408 && status != 429
        case .proxyUnreachable(let cause), .backingOff(let cause): cause.needsOperator
        }
    }
}

extension Unreachable: CustomStringConvertible {
    /// One line for the operator.
    package var description: String {
        switch self {
        case .nameNotResolved(let code): "name not resolved: \(unsafe text(gai_strerror(code)))"
        case .nameTimeout: "the name server did not answer in time"
        case .connectFailed(let errno): "connection failed: \(unsafe text(strerror(errno)))"
        case .connectTimeout: "connection timed out"
        case .tlsTimeout: "TLS handshake timed out"
        case .tlsFailed(reason: 0): "TLS handshake failed: the peer ended the connection"
        case .tlsFailed(let reason): "TLS handshake failed: \(unsafe text(ERR_reason_error_string(reason)))"
        case .certificateNotTrusted(let code):
            "certificate not trusted: \(unsafe text(X509_verify_cert_error_string(code)))"
        case .certificateNotCurrent(let code):
            "certificate not valid now: \(unsafe text(X509_verify_cert_error_string(code)))"
        case .certificateForAnotherHost: "certificate not trusted: host name mismatch"
        case .notHTTP2: "the peer does not speak HTTP/2 (a proxy in between?)"
        case .settingsTimeout: "the peer never began to speak HTTP/2"
        case .noAnswer: "the peer took the connection and answered nothing"
        case .goodbyeWithError(let code): "the peer said goodbye with error code \(code)"
        case .proxyUnreachable(let cause): "no way to the proxy: \(cause)"
        case .proxyTimeout: "the proxy did not answer in time"
        case .proxyRefused(status: 407): "proxy refused with status 407 (check the user name and password)"
        case .proxyRefused(status: 403): "proxy refused with status 403 (it must allow this host and port)"
        case .proxyRefused(let status): "proxy refused with status \(status)"
        case .proxyAnswerInvalid: "the proxy's answer is none to CONNECT in HTTP/1.1"
        case .proxyHungUp: "the proxy ended the connection without an answer"
        case .backingOff(let cause): "waiting before the next attempt after: \(cause)"
        }
    }
}

private func text(_ pointer: UnsafePointer<CChar>?) -> String {
    guard let pointer = unsafe pointer else { return "unknown reason" }
    return unsafe String(cString: pointer)
}
