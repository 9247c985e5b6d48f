import PushSimulator
import Testing

/// A thousand pushes that find a relay with neither a connection nor a token.
@Suite(.timeLimit(.minutes(1)))
struct ColdStartTests {
    @Test func `a thousand pushes at once make one provider token and one access token, and none is lost or doubled`()
        async throws
    {
        // What matters here are the counts, however slow the machine.
        try await Stage.run(["PUSH_BUDGET_MS": "40000"]) { stage in
            var capabilities: [String] = []
            for index in 0..<100 {
                capabilities.append(
                    try await stage.newPhone(index.isMultiple(of: 2) ? .ios : .android).capability)
            }
            let pushes = (0..<1000).map { pushRequest(capabilities[$0 % 100]) }
            let statuses = try await send(pushes, over: 64, to: stage.relay.port)
            #expect(statuses == [202: 1000])
            let books = stage.simulator.books()
            #expect(books.providerTokens == 1)
            #expect(books.oauthCalls == 1)
            #expect(books.delivered == 1000)
            #expect(books.doubles == 0)
            for service in [SimulatedService.apnsProduction, .fcm] {
                #expect(books[service].requests == 500)
                #expect(books[service].delivered == 500)
                #expect(books[service].overLimitStreams == 0)
                // Two loops, and Apple lets but one stream onto a connection before it has accepted a token.
                #expect(books[service].connectionsOpened <= 8, "\(service)")
            }
            #expect(books[.apnsSandbox].requests == 0)
        }
    }

    /// Sends the requests over so many connections at once, and counts the answers.
    private func send(_ requests: [[UInt8]], over connections: Int, to port: UInt16) async throws -> [Int: Int] {
        try await withThrowingTaskGroup(of: [Int].self) { group in
            for connection in 0..<connections {
                let own = stride(from: connection, to: requests.count, by: connections).map { requests[$0] }
                group.addTask { try await onOwnThread { try statuses(of: own, from: port) } }
            }
            var counts: [Int: Int] = [:]
            for try await statuses in group {
                for status in statuses { counts[status, default: 0] += 1 }
            }
            return counts
        }
    }
}

/// Sends requests one after the other on one connection.
private func statuses(of requests: [[UInt8]], from port: UInt16) throws -> [Int] {
    let client = try RawClient(port: port)
    var statuses: [Int] = []
    for request in requests {
        try client.send(request)
        statuses.append(try client.nextAnswer().status)
    }
    return statuses
}
