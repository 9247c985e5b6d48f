import Synchronization

/// How a header field travels in the compressed header block (RFC 7541, section 6.2).
package enum HTTP2HeaderIndexing: Sendable {
    /// Enters the peer's table; the same field costs one byte from then on. For what stays the same.
    case incremental
    /// As ``incremental`` on a connection's first request, so that the *name* enters the table, and never indexed
    /// afterwards. For what differs each time: Apple's table is small, and asks for this.
    case incrementalFirstThenNever
    /// Never indexed, here or by anybody who passes it on. For secrets.
    case neverIndexed
}

/// One header field of a request.
package struct HTTP2Header: Sendable {
    /// The name, in lower case (RFC 9113, section 8.2).
    package var name: StaticString
    /// The value: visible ASCII and blanks only, which the caller sees to.
    package var value: String
    /// How it travels.
    package var indexing: HTTP2HeaderIndexing

    package init(name: StaticString, value: String, indexing: HTTP2HeaderIndexing = .incremental) {
        self.name = name
        self.value = value
        self.indexing = indexing
    }
}

/// A request: method, path, header fields, body. The pool adds `:scheme` and `:authority`.
package struct HTTP2Request: Sendable {
    /// Upper case, as `POST`.
    package var method: StaticString
    /// Begins with `/`. It is never indexed in the header table.
    package var path: String
    /// In the order in which they are sent.
    package var headers: [HTTP2Header]
    /// May be empty; then the header block ends the request.
    package var body: [UInt8]

    package init(method: StaticString = "POST", path: String, headers: [HTTP2Header] = [], body: [UInt8] = []) {
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body
    }
}

/// Names one connection, of whichever pool, for as long as the process lives; says nothing else.
package struct HTTP2ConnectionID: Sendable, Hashable {
    let number: UInt64

    private static let last = Atomic<UInt64>(0)

    /// One that no other connection has: what several loops hear of theirs is counted together.
    static func fresh() -> HTTP2ConnectionID {
        HTTP2ConnectionID(number: last.add(1, ordering: .relaxed).newValue)
    }
}

/// What the peer answered. The status is what the peer said; everything after it may be incomplete, see
/// ``bodyWasCut``.
package struct HTTP2Response: Sendable {
    /// 200 to 999; an interim answer (1xx) never gets here.
    package let status: Int
    /// The bytes of the body, no more than the configuration's bound.
    package let body: [UInt8]
    /// Whether the body is known not to be whole: over the bound, or the stream ended before it did.
    package let bodyWasCut: Bool
    /// Which connection it came by, for ``HTTP2Pool/retire(_:)``.
    package let connection: HTTP2ConnectionID
    let headers: [RetainedHeader]

    /// The value of a header field that the configuration retains, its name in lower case. Where a field came more
    /// than once, the first. Bytes that are not UTF-8 are replaced.
    package func value(of name: String) -> String? {
        headers.first { $0.name == name }?.value
    }
}

/// A header field of an answer that the configuration asked to keep.
struct RetainedHeader: Sendable {
    let name: String
    let value: String
}
