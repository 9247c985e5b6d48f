import Testing

@testable import gryt_push

@Suite(.timeLimit(.minutes(1)))
struct DescriptorPlanTests {
    @Test(arguments: [1, 2, 3, 8, 64], [0, 1, 100, 1000, 100_000])
    func `whatever comes, what the relay needs itself is left`(loops: Int, more: Int) {
        let openFiles = DescriptorPlan.fewest(loops: loops) + more
        for servers in [loops, loops + 1, 2 * loops] {
            for hasOperatorPort in [false, true] {
                let plan = DescriptorPlan(
                    openFiles: openFiles, loops: loops, servers: servers, hasOperatorPort: hasOperatorPort)
                let forOperator = hasOperatorPort ? plan.operatorConnections + DescriptorPlan.operatorRefusalRoom : 0
                let taken = plan.connections + plan.refusalRoom * servers + forOperator
                // A server that no loop was reckoned with has its socket twice. Each has one connection, and one to refuse by,
                // however many there are.
                let left = more + 8 - 2 * (servers - loops)
                #expect(taken <= max(left, 2 * servers + forOperator), "\(plan)")
                #expect(plan.connections >= servers && plan.refusalRoom >= 1 && plan.operatorConnections >= 2)
            }
        }
    }

    @Test func `where the system lets enough be open, so does the plan`() {
        let plan = DescriptorPlan(openFiles: 65_536, loops: 4, servers: 4, hasOperatorPort: true)
        #expect(plan.connections > 64_000)
        #expect(plan.refusalRoom == 256 && plan.operatorConnections == 64)
    }
}
