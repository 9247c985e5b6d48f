/// What the server refuses by itself, before or instead of the handler. The application finds the words
/// (``HTTPRequestHandler/refusal(_:of:)``); the connection is closed after each of them.
///
/// libmicrohttpd answers a few things before anybody is asked, with a body of its own in HTML: a request line without a
/// version or with one that is not `HTTP/1.x`, a header line without a colon, a `Content-Length` that is not a
/// number, a broken chunk, and a head that does not fit in ``HTTPServerConfiguration/connectionMemory``. Version 0.9.75
/// has no hook for them; their statuses are the ones below, and 505 for other versions of HTTP.
package enum HTTPRefusal: Sendable, Equatable {
    /// Meant for 400: the head breaks a rule of HTTP/1.1, or of this server's stricter ones.
    case malformed(Malformation)
    /// Meant for 408: the request was not complete within ``HTTPServerConfiguration/requestTimeout``.
    case requestTimeout
    /// Meant for 413: the body is larger than ``HTTPServerConfiguration/maximumBody``, or says that it will be.
    case bodyTooLarge
    /// Meant for 414: the target alone is larger than ``HTTPServerConfiguration/maximumHead``, or has too many
    /// arguments for the memory of its connection.
    case targetTooLong
    /// Meant for 417: an expectation other than `100-continue` (RFC 9110 section 10.1.1).
    case expectationFailed
    /// Meant for 431: the head is larger than ``HTTPServerConfiguration/maximumHead``, or has too many fields.
    case headersTooLarge
    /// Meant for 501: a transfer coding other than `chunked` (RFC 9112 section 6.1).
    case unsupportedTransferCoding
    /// Meant for 503: there are ``HTTPServerConfiguration/maximumConnections`` connections already, or this address
    /// holds as many as ``HTTPServerConfiguration/addressCensus`` allows.
    case tooManyConnections
    /// Meant for 503: the server was stopped while the request was being answered, or was draining and the request did
    /// not become whole.
    case shuttingDown
}

/// The rule of a request's head that was broken. For counting: nothing of the request is in it.
package enum Malformation: Sendable, Equatable, CaseIterable {
    /// The method is not a token, or is `CONNECT`.
    case method
    /// The target is not a path: it holds blanks, control characters or bytes outside ASCII, or is an absolute URI, `*`
    /// or an authority. RFC 9112 section 3.2.2 asks servers to take absolute URIs; only proxies are ever sent them, and
    /// a host that may stand in two places is a way to smuggle.
    case target
    /// The version is neither `HTTP/1.0` nor `HTTP/1.1`.
    case version
    /// There is more, or less, in the head than its parts account for: a line that ends with a bare LF, a folded line,
    /// a NUL, more than one blank in the request line.
    case layout
    /// A field name is empty or not a token; a blank before the colon is the common case.
    case fieldName
    /// A field value holds a control character, a bare CR among them.
    case fieldValue
    /// HTTP/1.1 without `Host`, more than one of them, or one that cannot be a host.
    case host
    /// `Content-Length` more than once, be they equal or not.
    case contentLength
    /// `Transfer-Encoding` with `Content-Length` or in HTTP/1.0, or one in which `chunked` is not the last coding,
    /// stands twice, or is not alone on its line.
    case transferEncoding
}
