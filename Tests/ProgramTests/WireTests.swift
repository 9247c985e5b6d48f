import PushSimulator
import Testing

/// Every way in which a request may be written, and is written by those who want two programs to read it differently.
/// The tables are in `Wire/`; `docs/http.md` says why each is answered so.
@Suite(.stage(), .timeLimit(.minutes(5)))
struct WireTests {
    @Test(arguments: Wire.all)
    func `what comes over the wire is answered as the table says`(row: WireCase) async throws {
        try await check(row, mostInvitations: 0) { client, bytes in try client.send(bytes) }
    }

    @Test(arguments: Wire.all)
    func `it does not matter where it is cut`(row: WireCase) async throws {
        // Each byte on its own where there are few, else in pieces that meet no boundary of the server's.
        let size = row.bytes.count < 1000 ? 1 : 509
        try await check(row, mostInvitations: row.invitations) { client, bytes in
            for start in stride(from: 0, to: bytes.count, by: size) {
                try client.send(Array(bytes[start..<min(start + size, bytes.count)]))
            }
        }
    }

    private func check(
        _ row: WireCase, mostInvitations: Int, send: @escaping @Sendable (RawClient, [UInt8]) throws -> Void
    ) async throws {
        let stage = try Stage.current
        let (phone, capability) = try await stage.newPhone()
        let bytes = row.bytes.replacing(Array("{capability}".utf8), with: Array(capability.utf8))
        let port = stage.relay.port
        let heard = try await onOwnThread {
            let client = try RawClient(port: port)
            // The relay may have closed before the last byte.
            try? send(client, bytes)
            if row.endsWriting { client.endWriting() }
            return Heard(on: client, row: row)
        }
        #expect(heard.summaries == row.answers)
        #expect(heard.ending == row.ending)
        #expect(heard.invitations <= mostInvitations)
        for (index, answer) in heard.answers.enumerated() {
            if answer.status != 204, !(row.toHead && index == 0) { expectForm(of: answer) }
            let isLast = index == row.answers.count - 1
            #expect((answer["connection"]?.lowercased() == "close") == (isLast && row.ending == .closed))
        }
        #expect(stage.simulator.attemptedCount(on: phone.token, platform: phone.platform) == row.pushes)
    }
}

/// What came back on a connection. Gathered on the thread that reads, judged by the test.
private struct Heard: Sendable {
    var answers: [Answer] = []
    /// Status and code of each; an answer to a HEAD has no code.
    var summaries: [String] = []
    /// How often the sender was told to go on.
    var invitations = 0
    /// Nil where the connection neither ends nor goes on as it should.
    var ending: WireCase.Ending?

    /// Reads as many answers as the row has, and then whether the connection goes on.
    init(on client: RawClient, row: WireCase) {
        while answers.count < row.answers.count {
            let toHead = row.toHead && answers.isEmpty
            guard let answer = try? client.nextAnswer(toHead: toHead) else { break }
            guard answer.status != 100 else {
                invitations += 1
                continue
            }
            answers.append(answer)
            summaries.append(toHead ? String(answer.status) : answer.summary)
        }
        switch row.ending {
        case .closed:
            if (try? client.isAtEnd()) == true { ending = .closed }
        case .open:
            try? client.send(request("GET", "/healthz"))
            if let next = try? client.nextAnswer(), next.summary == "200" { ending = .open }
        }
    }
}
