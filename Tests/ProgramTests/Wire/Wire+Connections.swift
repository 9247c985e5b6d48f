/// What follows what on a connection, when it ends (RFC 9112 section 9, RFC 9110 section 10.1.1), and what is no HTTP.
extension Wire {
    static let connections: [WireCase] = [
        .closed("close", "\(get)Connection: close\r\n\r\n", "200"),
        .closed("close in another case", "\(get)connection:CLOSE\r\n\r\n", "200"),
        .closed("close in a list", "\(get)Connection: x, close ,y\r\n\r\n", "200"),
        .closed("close and keep-alive", "\(get)Connection: close, keep-alive\r\n\r\n", "200"),
        .closed("keep-alive, then close", "\(get)Connection: keep-alive\r\nConnection: close\r\n\r\n", "200"),
        .open("keep-alive", "\(get)Connection: keep-alive\r\n\r\n", "200"),
        .open("nothing", "\(get)Connection:\r\n\r\n", "200"),
        .open("a word that begins like close", "\(get)Connection: closed\r\n\r\n", "200"),
        .open(
            "an offer of HTTP/2",
            "\(get)Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n", "200"),
        .open("an offer of a WebSocket", "\(get)Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n", "200"),
        .pushed(
            "a capability that is said to be for one hop",
            "\(push)Connection: Authorization\r\nContent-Length: 13\r\n\r\n\(body)"),
        .open("HTTP/1.0, kept", "GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "200"),
        .closed("HTTP/1.0, kept and closed", "GET /healthz HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", "200"),

        .pushed(
            "an expected body that comes at once", "\(push)Expect: 100-continue\r\nContent-Length: 13\r\n\r\n\(body)"
        )
        .invited,
        .pushed(
            "expected chunks that come at once",
            "\(push)Expect: 100-Continue\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)"
        ).invited,
        .open("an expectation without a body", "\(get)Expect: 100-continue\r\n\r\n", "200"),
        .closed(
            "an expectation in HTTP/1.0",
            "POST /v1/push HTTP/1.0\r\nAuthorization: Bearer {capability}\r\nExpect: x\r\nContent-Length: 13\r\n\r\n\(body)",
            "202", pushes: 1),
        .refused(
            "another expectation", "\(push)Expect: miracles\r\nContent-Length: 13\r\n\r\n\(body)",
            "417 expectation_failed"),
        .refused(
            "two expectations", "\(push)Expect: 100-continue, x\r\nContent-Length: 13\r\n\r\n\(body)",
            "417 expectation_failed"),
        .refused(
            "an empty expectation", "\(push)Expect:\r\nContent-Length: 13\r\n\r\n\(body)", "417 expectation_failed"),
        .refused(
            "an expected body above the bound", "\(push)Expect: 100-continue\r\nContent-Length: 9000\r\n\r\n",
            "413 body_too_large"),

        .open("two pushes", "\(good)\(good)", "202", "202", pushes: 2),
        .open(
            "a push by length and one in chunks", "\(good)\(chunked)\(chunks)\(good)", "202", "202", "202", pushes: 3),
        .open(
            "a refused push between two", "\(good)\(push)Content-Length: 2\r\n\r\n{}\(good)", "202", "400 bad_kind",
            "202", pushes: 2),
        .open(
            "a push, a removal, a push", "\(good)\(delete)\r\n\(good)", "202", "204", "404 unknown_capability",
            pushes: 1),
        .open("an empty line after a body", "\(good)\r\n\(good)", "202", "202", pushes: 2),
        .closed("a push, then something broken", "\(good)GET / HTTP/1.1\r\n\r\n", "202", "400 bad_request", pushes: 1),
        .closed(
            "a push that closes", "\(push)Connection: close\r\nContent-Length: 13\r\n\r\n\(body)", "202", pushes: 1),
        .closed(
            "a push in HTTP/1.0",
            "POST /v1/push HTTP/1.0\r\nAuthorization: Bearer {capability}\r\nContent-Length: 13\r\n\r\n\(body)", "202",
            pushes: 1),

        .closed(
            "a length below the body's", "\(push)Content-Length: 10\r\n\r\n\(body)", "400 bad_json", "400 bad_request"),
        .open(
            "a length that swallows the next push", "\(push)Content-Length: \(13 + good(of: 45))\r\n\r\n\(body)\(good)",
            "400 bad_json"),
        .open("a push in the body of a GET", "\(get)Content-Length: \(good(of: 45))\r\n\r\n\(good)", "200"),
        .open("a push in the body of a DELETE", "\(delete)Content-Length: \(good(of: 45))\r\n\r\n\(good)", "204"),
        .open(
            "a push in the body of what is refused",
            "POST /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: \(good(of: 45))\r\n\r\n\(good)",
            "405 method_not_allowed"),
        .open(
            "a push in the chunks of a GET",
            "\(get)Transfer-Encoding: chunked\r\n\r\n\(String(good(of: 45), radix: 16))\r\n\(good)\r\n0\r\n\r\n", "200"),
        .refused("CL.TE", "\(push)Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nP"),
        .refused("TE.CL", "\(push)Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n5c\r\n\(good)\r\n0\r\n\r\n"),
        .refused(
            "TE.TE, the second unknown", "\(push)Transfer-Encoding: chunked\r\nTransfer-encoding: cow\r\n\r\n0\r\n\r\n"),
        .refused(
            "TE.TE, the first unknown", "\(push)Transfer-Encoding: cow\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "501 transfer_coding_not_implemented"),
        .refused(
            "TE.TE, by a blank line's start",
            "\(push)X: x\r\n\tTransfer-Encoding: chunked\r\nContent-Length: 13\r\n\r\n\(body)"),
        .refused("a request behind two LFs", "GET /healthz HTTP/1.1\r\nHost: a\r\nX: y\n\n"),
        .refused("a request behind a CR and an LF too many", "\(get)X: y\r\n\r\r\n"),
        .refused("a length behind a NUL", "\(push)X: y\0\r\nContent-Length: 13\r\n\r\n\(body)"),
        .refused("a request in a chunk's extension", "\(chunked)0;\n\n"),
        .refused("a size that wraps to 13", "\(chunked)1000000000000000d\r\n\(body)\r\n0\r\n\r\n"),

        .cutShort("half a request line", "GET /heal"),
        .cutShort("a request line", "GET /healthz HTTP/1.1\r\n"),
        .cutShort("a head without its empty line", "\(push)Content-Length: 13\r\n"),
        .cutShort("a head without its last LF", "\(get)\r"),
        .cutShort("half a body", "\(push)Content-Length: 13\r\n\r\n{\"kind\""),
        .cutShort("a chunk without the last", "\(chunked)d\r\n\(body)\r\n"),
        .cutShort("a last chunk without its end", "\(chunked)d\r\n\(body)\r\n0\r\n"),
        .cutShort("nothing", ""),
        .cutShort("empty lines", "\r\n\r\n"),
    ]

    /// The length of a flawless push with a capability of that length.
    private static func good(of capability: Int) -> Int { good.utf8.count - "{capability}".utf8.count + capability }

    static let strangers: [WireCase] = [
        .refused("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505 http_version_not_supported"),
        .refused("a settings frame of HTTP/2", [0, 0, 0, 4, 0, 0, 0, 0, 0]),
        .refused("a ClientHello of TLS", [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03]),
        .refused("a ClientHello of SSL 2", [0x80, 0x2e, 0x01, 0x00, 0x02]),
        .refused("SOCKS 4", [0x04, 0x01, 0x00, 0x50, 0x7f, 0x00, 0x00, 0x01, 0x00]),
        .refused("SOCKS 5", [0x05, 0x01, 0x00]),
        .refused("the PROXY protocol", "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n\(get)\r\n"),
        .refused("the PROXY protocol of an unknown peer", "PROXY UNKNOWN\r\n\(get)\r\n"),
        .refused(
            "the PROXY protocol, version 2",
            [0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a, 0x21, 0x11, 0x00, 0x0c]),
        .refused("SSH", "SSH-2.0-OpenSSH_9.2\r\n"),
        .refused("SMTP", "EHLO a\r\n"),
        .refused("Redis", "*1\r\n$4\r\nPING\r\n"),
        .refused("memcached", "stats\r\n"),
        .refused("RTSP", "OPTIONS rtsp://a/ RTSP/1.0\r\nCSeq: 1\r\n\r\n"),
        .refused("SIP", "OPTIONS sip:a SIP/2.0\r\n\r\n"),
        .refused("an answer in place of a request", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        .refused("a body alone", "\(body)\r\n"),
        .refused("zeros", [UInt8](repeating: 0, count: 500)),
        .refused("bytes without a meaning", (0..<500).map { UInt8(truncatingIfNeeded: 0x9d &+ $0 &* 0x6b) }),
    ]
}
