import PushSimulator
import Testing

/// A push from the server's request to what stands on the phone's screen.
@Suite(.stage(), .timeLimit(.minutes(1)))
struct EndToEndTests {
    static let texts = [
        ("mention", "Someone mentioned you"), ("dm", "New direct message"), ("message", "New message"),
    ]

    @Test func `the program says that it is well, and which version it is`() async throws {
        let answer = try await Stage.current.relay.health()
        #expect(answer.status == 200)
        #expect(answer.body == #"{"ok":true,"version":"1.2.3-test"}"#)
    }
}
