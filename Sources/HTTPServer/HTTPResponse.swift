import CMicrohttpd

/// An answer. `Date`, `Content-Length` and `Connection` are added where they belong and are not given here.
package struct HTTPResponse: Sendable {
    /// The status code, 200 to 599.
    package let status: Int
    /// The header fields, in the order in which they are sent.
    package let headers: [(name: String, value: String)]
    /// The body; must be empty for 204 and 304. It is not sent to a `HEAD`, but counted in `Content-Length`.
    package let body: [UInt8]
    /// The encoded form, where the answer is given many times.
    private let encoded: EncodedResponse?

    /// Makes an answer that is encoded each time it is given.
    ///
    /// Names and values must come from the program itself: one with a line end in it traps when it is sent.
    package init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.init(status: status, headers: headers, body: body, encoded: nil)
    }

    private init(status: Int, headers: [(name: String, value: String)], body: [UInt8], encoded: EncodedResponse?) {
        precondition((200..<600).contains(status), "a final status has three digits and begins with 2 to 5")
        self.status = status
        self.headers = headers
        self.body = body
        self.encoded = encoded
    }

    /// The same answer, encoded once and shared by all who give it, on any loop: for the answers that never change.
    package func prepared() -> HTTPResponse {
        HTTPResponse(
            status: status, headers: headers, body: body,
            encoded: EncodedResponse(headers: headers, body: body))
    }

    /// Hands the response to libmicrohttpd for a connection that waits for it.
    ///
    /// - Parameter closing: whether the connection is closed afterwards and the answer says so.
    /// - Returns: whether the library took it; it does not when the connection already has an answer.
    func queue(on connection: OpaquePointer, closing: Bool) -> Bool {
        let encoded = self.encoded ?? EncodedResponse(headers: headers, body: body, closing: closing)
        return unsafe MHD_queue_response(connection, UInt32(status), encoded.pointer(closing: closing)) == .YES
    }

    /// The response as bytes, where it goes past libmicrohttpd. It says that the connection closes. The answer to a HEAD
    /// is without its body.
    func bytes(date: String, toHead: Bool = false) -> [UInt8] {
        var head = "HTTP/1.1 \(status) \(unsafe String(cString: MHD_get_reason_phrase_for(UInt32(status))))\r\n"
        head += "Date: \(date)\r\nConnection: close\r\n"
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        head += "Content-Length: \(body.count)\r\n\r\n"
        return toHead ? Array(head.utf8) : Array(head.utf8) + body
    }
}

/// libmicrohttpd's form of an answer: one that leaves the connection open, one that closes it, or both.
///
/// `@unchecked Sendable`: the pointers never change, and the library counts references to a response under a lock of
/// its own.
@safe private final class EncodedResponse: @unchecked Sendable {
    private let keeping: OpaquePointer?
    private let closing: OpaquePointer?

    /// Both forms.
    init(headers: [(name: String, value: String)], body: [UInt8]) {
        unsafe keeping = Self.make(headers, body, closing: false)
        unsafe closing = Self.make(headers, body, closing: true)
    }

    /// The one form that is needed.
    init(headers: [(name: String, value: String)], body: [UInt8], closing: Bool) {
        unsafe keeping = closing ? nil : Self.make(headers, body, closing: false)
        unsafe self.closing = closing ? Self.make(headers, body, closing: true) : nil
    }

    deinit {
        if let keeping = unsafe keeping { unsafe MHD_destroy_response(keeping) }
        if let closing = unsafe closing { unsafe MHD_destroy_response(closing) }
    }

    func pointer(closing: Bool) -> OpaquePointer? { unsafe closing ? self.closing : keeping }

    private static func make(
        _ headers: [(name: String, value: String)], _ body: [UInt8], closing: Bool
    ) -> OpaquePointer {
        let response = unsafe body.withUnsafeBytes { bytes in
            unsafe MHD_create_response_from_buffer(
                bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), .RESPMEM_MUST_COPY)
        }
        guard let response = unsafe response else { preconditionFailure("out of memory for a response") }
        for (name, value) in headers {
            let added = unsafe MHD_add_response_header(response, name, value)
            precondition(added == .YES, "a response header that cannot be sent")
        }
        if closing { unsafe MHD_add_response_header(response, "Connection", "close") }
        return unsafe response
    }
}
