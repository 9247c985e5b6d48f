import DeviceStore
import PushModel
import PushServices
import RelayAPI
import SQLiteDeviceStore
import Telemetry
import Testing

@testable import gryt_push

@Suite(.timeLimit(.minutes(1)))
struct DiagnosisTests {
    private func problems(_ change: (inout OperatorFacts) -> Void) -> [Problem] {
        var facts = quietFacts()
        change(&facts)
        return Diagnosis(facts).problems
    }

    private func failed(_ change: (inout OperatorFacts) -> Void) -> [ReadinessCheck.Name] {
        var facts = quietFacts()
        change(&facts)
        return Diagnosis(facts).checks.filter { !$0.hasPassed }.map(\.name)
    }

    @Test func `of a quiet relay nothing is wrong`() {
        #expect(problems { _ in } == [])
        #expect(failed { _ in } == [])
    }

    @Test func `readiness says which condition is not met`() {
        #expect(failed { $0.isDraining = true } == [.serving])
        #expect(failed { $0.devices = nil } == [.store])
        #expect(failed { $0.writer.lastFailure = .full } == [.store])
        #expect(failed { $0.isDatabaseReplaced = true } == [.store])
        #expect(failed { $0.credentials[.ios].state = .refused(since: $0.reckoning.wall) } == [])
        #expect(failed { $0.credentials[.ios].state = .unset } == [])
        #expect(
            failed {
                $0.credentials[.ios].state = .refused(since: $0.reckoning.wall)
                $0.credentials[.android].state = .unset
            } == [.credentials])
        #expect(
            failed {
                $0.credentials[.ios].state = .untried
                $0.credentials[.android].state = .unset
            } == [])
    }

    /// With nothing to show that they are good by now, a relay behind a proxy that asks for readiness would stay away for ever.
    @Test func `credentials whose last refusal is ten minutes ago are to be tried again`() {
        func isReady(refused ago: Duration, since: Duration) -> Bool {
            var facts = quietFacts()
            let wall = facts.reckoning.wall
            facts.credentials[.android].state = .unset
            facts.credentials[.ios].state = .refused(since: wall.advanced(by: .zero - since))
            facts.credentials[.ios].lastRefused = wall.advanced(by: .zero - ago)
            return Diagnosis(facts).checks.allSatisfy { $0.fault == nil }
        }
        #expect(!isReady(refused: .seconds(1), since: .seconds(1)))
        #expect(!isReady(refused: .seconds(600), since: .seconds(86_400)))
        #expect(isReady(refused: .seconds(601), since: .seconds(86_400)))
    }

    @Test(arguments: BreakerCause.allCases)
    func `a push service that is left alone is named, with the cause and since when`(_ cause: BreakerCause) throws {
        let found = problems {
            $0.breakers[2].open = (cause, $0.reckoning.monotonic.advanced(by: .seconds(-60)))
        }
        let problem = try #require(found.first)
        #expect(found.count == 1)
        #expect(problem.text.hasPrefix("FCM is not asked for the time being: "))
        #expect(problem.severity == .error)
        #expect(problem.since == quietFacts().reckoning.wall.advanced(by: .seconds(-60)))
    }

    @Test func `what is wrong is said in words, with the setting or the place to look at`() {
        func texts(_ change: (inout OperatorFacts) -> Void) -> [String] { problems(change).map(\.text) }
        func said(_ part: String, _ change: (inout OperatorFacts) -> Void) -> Bool {
            let texts = texts(change)
            return texts.count == 1 && texts[0].contains(part)
        }
        #expect(
            said("Google asks to be sent less: 13 pushes a second") { $0.pace = PaceFacts(limit: 12.5, heldBack: 0) })
        #expect(said("the disk is full") { $0.writer.lastFailure = .full })
        #expect(said("does not answer") { $0.devices = nil })
        #expect(said("push.db was removed") { $0.isDatabaseReplaced = true })
        #expect(said("almost full") { $0.disk.freeBytes = 100 << 20 })
        #expect(said("The disk is full") { $0.disk.freeBytes = 1 << 20 })
        #expect(said("APNS_") { $0.credentials[.ios].state = .refused(since: $0.reckoning.wall) })
        #expect(said("service account") { $0.credentials[.android].state = .refused(since: $0.reckoning.wall) })
        #expect(
            said("no credentials") { facts in
                for platform in Platform.allCases { facts.credentials[platform].state = .unset }
            })
        #expect(said("No connection to FCM: gone fishing") { $0.upstreams[2].snapshot.lastFault = "gone fishing" })
        #expect(
            said("Some connections to APNs fail") {
                $0.upstreams[0].snapshot.lastFault = "gone fishing"
                $0.upstreams[0].snapshot.open = 1
            })
        #expect(said("APNS_TOPIC") { $0.massDeathSuspected[.ios] = true })
        #expect(said("project") { $0.massDeathSuspected[.android] = true })
        #expect(said("12 of the last 20 pushes through APNs failed") { $0.recent[.ios].pushes = [7, 1, 0, 12, 9] })
        #expect(said("remembers 800 of 1000") { $0.limiters[1].keys = 800 })
        #expect(said("MAX_PUSHES_IN_FLIGHT") { $0.pushesInFlight = 90 })
        #expect(said("1 of 2 event loops") { $0.silentLoops = 1 })
        #expect(said("file descriptors") { $0.process.openDescriptors = 1000 })
        #expect(said("31 s ahead of") { $0.platforms[.android].skew = (31_000_000_000, 0) })
        #expect(said("400 s behind") { $0.platforms[.ios].skew = (-400_000_000_000, 0) })
        #expect(
            said("Event loops are up to 250 ms late") {
                $0.recentLag = HistogramReading(
                    bounds: [249_000_000, 251_000_000], counts: [0, 100, 0], sum: 0, unit: .nanoseconds)
            })
    }

    @Test func `what is only near a threshold is not told`() {
        #expect(problems { $0.limiters[1].keys = 799 } == [])
        #expect(problems { $0.pushesInFlight = 89 } == [])
        #expect(problems { $0.recent[.ios].pushes = [7, 0, 0, 12, 0] } == [])
        #expect(problems { $0.recent[.ios].pushes = [10, 0, 0, 10, 0] } == [])
        #expect(problems { $0.platforms[.ios].skew = (30_000_000_000, 0) } == [])
        #expect(problems { $0.disk.freeBytes = nil } == [])
        #expect(problems { $0.process.openDescriptors = nil } == [])
    }

    @Test func `the worst stands first`() {
        let severities = problems {
            $0.disk.freeBytes = 100 << 20
            $0.silentLoops = 1
            $0.limiters[0].keys = 900
            $0.limiters[2].keys = 1000
        }.map(\.severity)
        #expect(severities == [.error, .error, .warning, .warning])
    }

    @Test func `a refusal says since when`() {
        let found = problems { facts in
            let since = facts.reckoning.wall.advanced(by: .seconds(-300))
            facts.credentials[.android].state = .refused(since: since)
        }
        #expect(found.map(\.since) == [WallInstant(milliseconds: 1_790_000_000_000 - 300_000)])
    }
}
