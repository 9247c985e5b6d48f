/// A request's method. Methods are case-sensitive (RFC 9110 section 9.1): `get` is not `GET` but some other method.
package enum HTTPMethod: Sendable, Equatable {
    case get
    case head
    case post
    case put
    case patch
    case delete
    case options
    /// Any other token, as received.
    case other(String)

    /// Takes a method that was found to be a token.
    init(_ token: String) {
        self =
            switch token {
            case "GET": .get
            case "HEAD": .head
            case "POST": .post
            case "PUT": .put
            case "PATCH": .patch
            case "DELETE": .delete
            case "OPTIONS": .options
            default: .other(token)
            }
    }
}

/// One request, whole: the head was checked (``HTTPRefusal/malformed(_:)``) and the body has arrived and is within its
/// bound.
package struct HTTPRequest: Sendable {
    /// The method, as received.
    package let method: HTTPMethod
    /// The path as received, nothing decoded: it begins with a slash and holds visible ASCII only.
    package let path: String
    /// What stands after the first question mark, raw; nil without one.
    package let query: String?
    /// The body without its transfer coding; empty when there is none.
    package let body: [UInt8]
    /// The other end of the connection, which is a proxy where there is one.
    package let peer: PeerAddress
    /// Whether a field came that ``HTTPServerConfiguration/notedHeaders`` names.
    package let hasNotedHeader: Bool
    private let retained: [RetainedField]

    init(
        method: HTTPMethod, path: String, query: String?, body: [UInt8], peer: PeerAddress, retained: [RetainedField],
        hasNotedHeader: Bool
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.body = body
        self.peer = peer
        self.retained = retained
        self.hasNotedHeader = hasNotedHeader
    }

    /// The values of every field of that name, in order of arrival, without the blanks around them.
    ///
    /// `header` is a lower-case name out of ``HTTPServerConfiguration/retainedHeaders``; a field of any other name was
    /// never copied and has no values here. Bytes outside ASCII come as UTF-8, repaired where they are none.
    package func values(of header: String) -> [String] {
        var values: [String] = []
        for field in retained where field.name == header { values.append(field.value) }
        return values
    }

    /// The value of a field that came once; nil where it is absent or came more than once. As ``values(of:)`` otherwise.
    package func onlyValue(of header: String) -> String? {
        var found: String?
        for field in retained where field.name == header {
            guard found == nil else { return nil }
            found = field.value
        }
        return found
    }
}

/// A header field that was kept because the configuration names it.
struct RetainedField: Sendable {
    let name: String
    let value: String
}
