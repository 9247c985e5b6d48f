import PushModel
import PushServices
import Testing

/// The breaker alone, and phones of another Firebase project: strangers choose how many of them there are.
@Suite(.timeLimit(.minutes(1)))
struct ForeignProjectTests {
    @Test func `once a push was accepted, phones of another project are no sign against the service`() {
        var bench = CircuitBreakerTests.Bench()
        #expect(bench.end(.accepting, 0) == nil)
        for phone in 1...1000 {
            #expect(bench.admit(phone) == .pass)
            #expect(bench.end(.refusing(.foreignProject), phone) == nil)
        }
        // Nor are they after somebody has acted, which changes nothing about whose project it is.
        _ = bench.breaker.startAnew(at: bench.now)
        for phone in 1...1000 { #expect(bench.end(.refusing(.foreignProject), phone) == nil) }
        #expect(bench.breaker.isCalm)
    }

    @Test(arguments: [Health.well, .answering])
    func `what says nothing about the project does not vouch for it`(_ health: Health) {
        var bench = CircuitBreakerTests.Bench()
        bench.end(health, 0)
        for phone in 1..<20 { #expect(bench.end(.refusing(.foreignProject), phone) == nil) }
        #expect(bench.end(.refusing(.foreignProject), 20) == .opened(.foreignProject))
    }

    @Test func `before any was accepted, every phone finds out for itself whether it is of another project`() throws {
        var bench = try CircuitBreakerTests.Bench.open(.foreignProject)
        for phone in 1...20 { #expect(bench.admit(phone) == .refuse(.foreignProject, age: .zero)) }
        // Whoever brings more such phones does not keep out the first one of ours.
        for phone in 21...200 {
            #expect(bench.admit(phone) == .pass)
            #expect(bench.end(.refusing(.foreignProject), phone) == nil)
            #expect(bench.admit(phone) == .refuse(.foreignProject, age: .zero))
        }
        #expect(bench.admit(1000) == .pass)
        #expect(bench.end(.accepting, 1000) == .closed(.foreignProject, after: .zero))
    }

    @Test func `a project that every phone denies is asked by so many and then left alone`() throws {
        var bench = try CircuitBreakerTests.Bench.open(.foreignProject)
        for phone in 21...256 {
            #expect(bench.admit(phone) == .pass)
            bench.end(.refusing(.foreignProject), phone)
        }
        for phone in 1...1000 { #expect(bench.admit(phone) == .refuse(.foreignProject, age: .zero)) }
        bench.wait(.seconds(60))
        let probe = try bench.probe()
        #expect(bench.end(.refusing(.foreignProject), probe: probe) == nil)
        #expect(bench.admit(1001) == .refuse(.foreignProject, age: .seconds(60)))
    }

    @Test func `a probe that meets a phone of another project, where ours is known, ends a refusal of us`() throws {
        var bench = CircuitBreakerTests.Bench()
        bench.end(.accepting, 0)
        for phone in 1...3 { bench.end(.refusing(.credentials), phone) }
        bench.wait(.seconds(60))
        let probe = try bench.probe()
        // One that left before says nothing about now.
        #expect(bench.end(.refusing(.foreignProject), 4) == nil)
        #expect(bench.end(.refusing(.foreignProject), 5, probe: probe) == .closed(.credentials, after: .seconds(60)))
        #expect(bench.breaker.isCalm)
    }
}
