/// What the server refuses by itself, before or instead of the handler. The application finds the words
/// (``HTTPRequestHandler/refusal(_:of:)``); the connection is closed after each of them.
package enum HTTPRefusal: Sendable, Equatable {
    /// Meant for 400: the head breaks a rule of HTTP/1.1, or of this server's stricter ones.
    case malformed(Malformation)
    /// Meant for 408: the request was not complete within ``HTTPServerConfiguration/requestTimeout``.
    case requestTimeout
    /// Meant for 413: the body is larger than ``HTTPServerConfiguration/maximumBody``, or says that it will be.
    case bodyTooLarge
    /// Meant for 414: the request line alone is larger than ``HTTPServerConfiguration/maximumHead``.
    case targetTooLong
    /// Meant for 417: an expectation other than `100-continue` (RFC 9110 section 10.1.1).
    case expectationFailed
    /// Meant for 431: the head is larger than ``HTTPServerConfiguration/maximumHead``, or has too many fields.
    case headersTooLarge
    /// Meant for 501: a transfer coding other than `chunked` (RFC 9112 section 6.1).
    case unsupportedTransferCoding
    /// Meant for 505: a version of HTTP other than 1.0 and 1.1 (RFC 9110 section 15.6.6).
    case unsupportedVersion
    /// Meant for 503: there are ``HTTPServerConfiguration/maximumConnections`` connections already, or this address
    /// holds as many as ``HTTPServerConfiguration/addressCensus`` allows.
    case tooManyConnections
    /// Meant for 503: the server was stopped while the request was being answered, or was draining and the request did
    /// not become whole.
    case shuttingDown
}

/// The rule of HTTP/1.1 that was broken. For counting: nothing of the request is in it.
package enum Malformation: Sendable, Equatable, CaseIterable {
    /// The method is not a token, or is `CONNECT`.
    case method
    /// The target is not a path: it holds blanks, control characters or bytes outside ASCII, or is an absolute URI, `*`
    /// or an authority. RFC 9112 section 3.2.2 asks servers to take absolute URIs; only proxies are ever sent them, and
    /// a host that may stand in two places is a way to smuggle.
    case target
    /// There is no version, or it is not `HTTP/` and two digits.
    case version
    /// A line of the head ends with a bare LF, or continues the one before.
    case layout
    /// A field name is empty, not a token, or without its colon; a blank before the colon is the common case.
    case fieldName
    /// A field value holds a control character, a bare CR among them.
    case fieldValue
    /// HTTP/1.1 without `Host`, more than one of them, or one that cannot be a host.
    case host
    /// `Content-Length` more than once, be they equal or not, or not all digits.
    case contentLength
    /// `Transfer-Encoding` with `Content-Length` or in HTTP/1.0, or one in which `chunked` is not the last coding,
    /// stands twice, or is not alone on its line.
    case transferEncoding
    /// The chunks of a body, or the trailers after them, have not their form.
    case chunks
}
