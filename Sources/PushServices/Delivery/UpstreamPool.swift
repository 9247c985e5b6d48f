package import HTTP2Client

/// The connections to one host of a push service, as far as a service needs them; `HTTP2Pool` in the program, a script
/// in a test.
package protocol UpstreamPool: Sendable {
    /// Sends a request and waits for its answer, at most for `timeout`. It fails as not sent if it could not leave within
    /// `leavingWithin`, and it does not leave by the connection `avoided`.
    func send(
        _ request: HTTP2Request, timeout: Duration, leavingWithin: Duration?, avoiding avoided: HTTP2ConnectionID?
    ) async throws(HTTP2Failure) -> HTTP2Response
    /// Takes no further request to this connection; what is under way on it ends as it may.
    func retire(_ connection: HTTP2ConnectionID) async
    /// Takes no further request to connections whose first one went out less than `time` ago; what waits is not sent.
    func retire(usedForLessThan time: Duration) async
    /// Has this connection make way for another, which is there before it goes.
    func replace(_ connection: HTTP2ConnectionID) async
}

extension HTTP2Pool: UpstreamPool {}
