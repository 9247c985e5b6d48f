import GrytPushPreview
import PushSimulator
import Testing

/// Many different pushes at once.
@Suite(.timeLimit(.minutes(3)))
struct CrossTalkTests {
    private struct Order: Sendable {
        var phone: SimulatedPhone
        var request: [UInt8]
        var title: String
        var body: String
    }

    @Test func `a thousand pushes at once reach each its own phone, with its own words`() async throws {
        // What matters is what arrives, however slow the machine.
        try await Stage.run(["PUSH_BUDGET_MS": "40000"]) { stage in
            var orders: [Order] = []
            for index in 0..<250 {
                let (phone, capability) = try await stage.newPhone(
                    index.isMultiple(of: 2) ? .ios : .android, opens: true)
                let (kind, text) = EndToEndTests.texts[index % 3]
                orders.append(
                    Order(phone: phone, request: pushRequest(capability, kind: kind), title: "Gryt", body: text))
                for number in 0..<3 {
                    let words = Preview(title: "\(index)", body: "\(number)")
                    let sealed = phone.seal(words, tag: tag(of: capability))
                    orders.append(
                        Order(
                            phone: phone, request: pushRequest(capability, kind: kind, preview: sealed),
                            title: "\(index)", body: "\(number)"))
                }
            }
            orders.shuffle()
            let port = stage.relay.port
            try await withThrowingTaskGroup { group in
                for connection in 0..<50 {
                    let own = stride(from: connection, to: orders.count, by: 50).map { orders[$0].request }
                    group.addTask {
                        try await onOwnThread {
                            let client = try RawClient(port: port)
                            for request in own {
                                try client.send(request)
                                #expect(try client.nextAnswer().status == 202)
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            let ordered = Dictionary(grouping: orders) { $0.phone.token }
            for (_, own) in ordered {
                let phone = own[0].phone
                let shown = stage.notifications(for: phone).compactMap { phone.show($0) }
                #expect(
                    shown.map { "\($0.title) \($0.body)" }.sorted() == own.map { "\($0.title) \($0.body)" }.sorted())
            }
        }
    }
}
