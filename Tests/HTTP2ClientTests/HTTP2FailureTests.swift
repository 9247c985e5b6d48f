import HTTP2Client
import Testing

@Suite(.timeLimit(.minutes(1)))
struct HTTP2FailureTests {
    @Test func `only an unknown outcome may have been processed`() {
        for reason in HTTP2Failure.NotSent.allCases { #expect(HTTP2Failure.notSent(reason).isSurelyUnprocessed) }
        #expect(HTTP2Failure.unreachable(.connectTimeout).isSurelyUnprocessed)
        #expect(HTTP2Failure.overloaded.isSurelyUnprocessed)
        #expect(!HTTP2Failure.unknownOutcome(.timeout).isSurelyUnprocessed)
        #expect(!HTTP2Failure.unknownOutcome(.streamReset(code: 7)).isSurelyUnprocessed)
    }

    @Test(arguments: [
        (
            Unreachable.certificateNotTrusted(code: 20),
            "certificate not trusted: unable to get local issuer certificate"
        ),
        (.certificateForAnotherHost, "certificate not trusted: host name mismatch"),
        (.certificateNotCurrent(code: 10), "certificate not valid now: certificate has expired"),
        (.connectFailed(errno: 111), "connection failed: Connection refused"),
        (.tlsFailed(reason: 0), "TLS handshake failed: the peer ended the connection"),
        (
            .backingOff(after: .nameTimeout),
            "waiting before the next attempt after: the name server did not answer in time"
        ),
    ])
    func `the operator's line says what is wrong`(reason: Unreachable, line: String) {
        #expect(reason.description == line)
        #expect(HTTP2Failure.unreachable(reason).description == "unreachable: " + line)
    }

    @Test func `what needs somebody's hand still does while it backs off`() {
        #expect(Unreachable.backingOff(after: .notHTTP2).needsOperator)
        #expect(!Unreachable.backingOff(after: .connectTimeout).needsOperator)
    }
}
