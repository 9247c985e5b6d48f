import PushModel
import PushServices
import RelayAPI
import Testing

@testable import gryt_push

@Suite(.timeLimit(.minutes(1)))
struct CredentialTraceTests {
    private func trace(_ words: [(CredentialEvidence, Int64)]) -> CredentialTrace {
        let record = CredentialRecord()
        for (evidence, instant) in words { record.note(evidence, at: MonotonicInstant(nanoseconds: instant)) }
        return record.trace
    }

    @Test func `before any answer nothing is known`() {
        #expect(trace([]) == CredentialTrace())
        #expect(!trace([(.none, 5)]).isRefused)
    }

    @Test func `the last word counts, and what says nothing is no word`() {
        #expect(!trace([(.refused, 1), (.accepted, 2)]).isRefused)
        #expect(trace([(.accepted, 1), (.refused, 2), (.none, 3)]).isRefused)
    }

    @Test func `a row of refusals began with the first of them`() {
        #expect(trace([(.refused, 3), (.refused, 4), (.refused, 9)]).refusedSince == 3)
        #expect(trace([(.refused, 3), (.accepted, 5), (.refused, 8), (.refused, 9)]).refusedSince == 8)
        // Both within the clock's grain: the acceptance came first, as it was noted.
        #expect(trace([(.refused, 3), (.accepted, 3), (.refused, 7)]).refusedSince == 7)
    }

    @Test func `of several loops the latest word counts, whoever heard it`() {
        let one = trace([(.refused, 2), (.refused, 4)])
        let other = trace([(.accepted, 3)])
        let together = CredentialTrace.together([one, other])
        #expect(together.isRefused)
        // It was accepted at 3, so it has been refused since then and not since 2.
        #expect(together.refusedSince == 3)
        let later = CredentialTrace.together([one, trace([(.accepted, 5)])])
        #expect(!later.isRefused)
        #expect(later.refusedSince == nil)
        #expect(later.lastAccepted == 5)
    }

    @Test(
        arguments: [
            (false, [], [], "unset"), (true, [], [], "untried"), (true, [(.accepted, 1)], [], "accepted"),
            (true, [], [(.accepted, 1)], "accepted"), (true, [(.refused, 1)], [(.accepted, 2)], "refused"),
            (true, [(.accepted, 1)], [(.refused, 2)], "refused"),
        ] as [(Bool, [(CredentialEvidence, Int64)], [(CredentialEvidence, Int64)], String)])
    func `a platform's credentials are good when no part of them was refused last`(
        isSet: Bool, pushes: [(CredentialEvidence, Int64)], tokens: [(CredentialEvidence, Int64)], expected: String
    ) {
        let reckoning = WallReckoning(SetClocks().clocks)
        let state = CredentialSnapshot.State(
            isSet: isSet, pushes: trace(pushes), tokens: trace(tokens), reckoning: reckoning)
        #expect(CredentialStateLabel(state).rawValue == expected)
    }

    @Test func `since when is told by the clock on the wall`() {
        let clocks = SetClocks()
        let since = clocks.clocks.monotonic()
        clocks.advance(by: .seconds(90))
        var pushes = CredentialTrace()
        (pushes.lastRefused, pushes.refusedSince) = (since.nanoseconds, since.nanoseconds)
        let state = CredentialSnapshot.State(
            isSet: true, pushes: pushes, tokens: CredentialTrace(), reckoning: WallReckoning(clocks.clocks))
        #expect(state == .refused(since: clocks.clocks.wall().advanced(by: .seconds(-90))))
    }
}
