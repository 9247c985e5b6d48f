import PushSimulator
import Testing

/// What a push service answers, and what becomes of it.
struct PushServiceCase: Sendable, CustomTestStringConvertible {
    /// What the rest of it is about.
    let name: String
    /// What the phone's next pushes meet, before everything is well again.
    let fault: Fault
    /// Status, code and reason of the answer to the server.
    let answer: String
    /// `Retry-After` of the answer; nil where the answer must not have one.
    let wait: ClosedRange<Int64>?
    /// Whether the phone's registrations still work.
    let isKept: Bool
    /// Whether the push service is asked again for the phone at the next push, and not only some minutes later.
    let isAskedAgain: Bool
    /// How often the push service is asked.
    let attempts: Int

    init(
        _ name: String, _ action: Fault.Action, times: Int? = nil, gives answer: String,
        wait: ClosedRange<Int64>? = nil, isKept: Bool = true, isAskedAgain: Bool = true, attempts: Int = 1
    ) {
        self.name = name
        fault = Fault(action, times: times)
        self.answer = answer
        self.wait = wait
        self.isKept = isKept
        self.isAskedAgain = isAskedAgain
        self.attempts = attempts
    }

    var testDescription: String { name }

    /// Any wait at all.
    static let some: ClosedRange<Int64> = 1...86_400
    /// What a server that forgets the phone is told.
    static let gone = "410 gone"

    /// An answer with a body of JSON.
    static func json(_ status: Int, _ body: String) -> Fault.Action {
        .answer(SimulatedAnswer(status: status, headers: [HeaderField("content-type", "application/json")], body: body))
    }

    /// A page for people, as a box in the middle gives it.
    static func page(_ status: Int) -> Fault.Action {
        .answer(
            SimulatedAnswer(
                status: status, headers: [HeaderField("content-type", "text/html")],
                body: "<!DOCTYPE html><title>\(status)</title><p>That is an error.\n"))
    }

    /// Pushes to a phone that is registered twice, looks at the answer, and finds out what is left of the phone.
    func play(_ platform: PhonePlatform) async throws {
        let stage = try Stage.current
        // Nobody is forgotten for a refusal before the service has taken anything from us.
        let (_, living) = try await stage.newPhone(platform)
        #expect(try await stage.relay.push(living).status == 202)
        let (phone, first) = try await stage.newPhone(platform)
        let second = try await stage.relay.register(phone)
        stage.force(fault, on: phone)
        let answer = try await stage.relay.push(first)
        #expect(answer.summary == self.answer)
        if let wait {
            #expect(answer.retryAfter.map { wait.contains($0) } == true, "\(answer.body)")
        } else {
            #expect(answer.retryAfter == nil)
        }
        #expect(answer["retry-after"] == answer.retryAfter.map { String($0) })
        #expect(answer.json?["limit"]?.string == (answer.status == 429 ? "capability" : nil))
        #expect(stage.simulator.attemptedCount(on: phone.token, platform: platform) == attempts)

        stage.simulator.clearFaults(of: phone.token, platform: platform)
        let delivered = stage.notifications(for: phone).count
        for capability in [first, second] {
            let next = try await stage.relay.push(capability)
            #expect(next.summary == (isKept ? isAskedAgain ? "202" : self.answer : "404 unknown_capability"))
        }
        #expect(stage.notifications(for: phone).count == delivered + (isKept && isAskedAgain ? 2 : 0))
        #expect(!stage.notifications(for: phone).contains { $0.isDouble })
        // Whatever became of it, a phone that registers anew is reached.
        let again = try await stage.relay.register(phone)
        #expect(try await stage.relay.push(again).status == 202)
    }
}
