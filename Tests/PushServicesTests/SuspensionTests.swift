import PushModel
import PushServices
import Testing

@testable import HTTP2Client

/// The machine was suspended for two hours: when it goes on, both clocks are two hours further, all at once.
@Suite(.timeLimit(.minutes(1)))
struct SuspensionTests {
    private static let nap = Duration.seconds(7200)

    private func pushAtOnce(_ count: Int, by service: ScriptedService) async -> [DeliveryOutcome] {
        await withTaskGroup(of: DeliveryOutcome.self) { group in
            for phone in 1...count { group.addTask { await service.push(to: phone) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test func `the provider token is renewed, once for all who come`() async {
        let apple = ScriptedService.apple { _, _ in answer(200) }
        #expect(await apple.push() == .accepted)
        apple.time.advance(by: Self.nap)
        #expect(await pushAtOnce(200, by: apple).allSatisfy { $0 == .accepted })
        let tokens = apple.pool.calls.compactMap { $0.header("authorization") }
        #expect(tokens.count == 201)
        #expect(Set(tokens).count == 2 && Set(tokens.dropFirst()).count == 1)
    }

    @Test func `the access token is asked for, once for all who come`() async {
        let google = ScriptedService.google { _, _ in answer(200) }
        #expect(await google.push() == .accepted)
        #expect(google.endpoint.calls.count == 1)
        google.time.advance(by: Self.nap)
        #expect(await pushAtOnce(200, by: google).allSatisfy { $0 == .accepted })
        #expect(google.endpoint.calls.count == 2)
    }

    @Test func `an access token that ends soon serves on while the next one is asked for, and nobody waits`() async {
        let google = ScriptedService.google { _, _ in answer(200) }
        #expect(await google.push() == .accepted)
        google.time.advance(by: .seconds(3600 - 300))
        // Whoever comes goes on with the old one; the next one may be there for some of them.
        #expect(await pushAtOnce(20, by: google).allSatisfy { $0 == .accepted })
        while google.endpoint.calls.count < 2 { await Task.yield() }
        google.time.advance(by: .seconds(3600 - 301))
        #expect(await pushAtOnce(20, by: google).allSatisfy { $0 == .accepted })
        #expect(google.endpoint.calls.count == 2)
    }

    @Test func `a breaker that was open lets one push try, and not all who come`() async {
        let apple = ScriptedService.apple { _, _ in refusal(400, "BadTopic") }
        for phone in 1...3 { _ = await apple.push(to: phone) }
        let asked = apple.pool.calls.count
        apple.time.advance(by: Self.nap)
        _ = await pushAtOnce(200, by: apple)
        #expect(apple.pool.calls.count == asked + 1)
    }

    @Test func `a push that was under way is not repeated two hours late`() async {
        let ready = ScriptedService.apple { _, _ in answer(200) }
        ready.pool.follow { [time = ready.time] _, _ in
            time.advance(by: Self.nap)
            return .failure(.unknownOutcome(.connectionLost))
        }
        let outcome = await ready.push()
        guard case .failed = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(ready.pool.calls.count == 1)
    }
}
