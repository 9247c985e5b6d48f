import PushSimulator
import Testing

/// Whose address a request counts for.
@Suite(.timeLimit(.minutes(3)))
struct ClientAddressTests {
    /// Registers once for each of these headers, with a limit of one an hour for an address.
    private func statuses(
        _ settings: [String: String], _ requests: [[(String, String)]]
    ) async throws -> [Int] {
        try await Stage.run(settings.merging(["LIMIT_REGISTRATIONS_PER_HOUR_PER_IP": "1"]) { $1 }) { stage in
            var statuses: [Int] = []
            for headers in requests {
                statuses.append(try await stage.relay.tryToRegister(SimulatedPhone(.ios), headers: headers).status)
            }
            return statuses
        }
    }

    private static func forwarded(_ value: String) -> [(String, String)] { [("X-Forwarded-For", value)] }
    private static func cloudflare(_ value: String) -> [(String, String)] { [("CF-Connecting-IP", value)] }

    @Test func `a forged header is ignored where no proxy is trusted`() async throws {
        let requests = [
            [], Self.forwarded("1.2.3.4"), Self.cloudflare("1.2.3.5"), [("Forwarded", "for=1.2.3.6")],
            [("X-Real-IP", "1.2.3.7")],
        ]
        #expect(try await statuses([:], requests) == [201, 429, 429, 429, 429])
        // With a list, but without the switch, it is the same.
        #expect(try await statuses(["TRUSTED_PROXIES": "127.0.0.0/8"], Array(requests.prefix(2))) == [201, 429])
    }

    @Test(arguments: [
        (Trust("nobody", [:]), 1), (Trust("the peer", ["TRUST_PROXY": "true", "TRUSTED_PROXIES": "127.0.0.1"]), 0),
        (Trust("anybody", ["TRUST_PROXY": "true"]), 0),
        (Trust("another address than the proxy's", ["TRUST_PROXY": "true", "TRUSTED_PROXIES": "10.42.0.0/16"]), 1),
    ])
    func `a forwarding header that nobody believes is told of once, without what it says`(
        trust: Trust, lines: Int
    ) async throws {
        try await Stage.run(trust.settings) { stage in
            let (_, capability) = try await stage.newPhone()
            #expect(try await stage.relay.push(capability).status == 202)
            #expect(!stage.relay.process.record.outputText.contains("forwarded_ignored"))
            // Each has a connection of its own, which goes to any of the loops.
            for number in 0..<20 {
                let header = number % 2 == 0 ? Self.cloudflare("1.2.3.4") : Self.forwarded("1.2.3.5")
                #expect(try await stage.relay.push(capability, headers: header).status == 202)
                let answer = try await stage.relay.tryToRegister(SimulatedPhone(.ios), headers: header)
                #expect(answer.status == 201)
            }
            let output = await stage.relay.end().outputText
            let told = output.split(separator: "\n").filter { $0.contains("event=forwarded_ignored") }
            #expect(told.count == lines)
            #expect(
                told.allSatisfy {
                    $0.contains("level=warning") && $0.contains("TRUST_PROXY") && $0.contains("TRUSTED_PROXIES")
                })
            #expect(!output.contains("1.2.3."))
        }
    }

    /// Whom a relay believes.
    struct Trust: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var settings: [String: String]

        init(_ whom: String, _ settings: [String: String]) {
            testDescription = whom
            self.settings = settings
        }
    }

    @Test func `a peer that is no trusted proxy is not believed`() async throws {
        let settings = ["TRUST_PROXY": "true", "TRUSTED_PROXIES": "10.0.0.0/8, 192.0.2.1"]
        #expect(
            try await statuses(settings, [Self.forwarded("1.2.3.4"), Self.cloudflare("1.2.3.5"), []])
                == [201, 429, 429])
    }

    @Test func `a trusted proxy's word counts: the right-most address that is not itself a proxy`() async throws {
        let settings = ["TRUST_PROXY": "true", "TRUSTED_PROXIES": "127.0.0.0/8 10.0.0.0/8"]
        let requests = [
            Self.forwarded("1.2.3.4"), Self.forwarded("1.2.3.5"), Self.forwarded("1.2.3.4"),
            // What the client wrote stands to the left of what the proxy saw.
            Self.forwarded("9.9.9.9, 1.2.3.4"), Self.forwarded("1.2.3.5, 10.1.1.1, 10.2.2.2"),
            Self.forwarded("1.2.3.6,10.1.1.1"),
            [("X-Forwarded-For", "8.8.8.8"), ("X-Forwarded-For", "1.2.3.6")],
            // Cloudflare's header comes first where both are there.
            Self.cloudflare("1.2.3.7") + Self.forwarded("1.2.3.4"), Self.cloudflare("1.2.3.7"),
            // The same address, written otherwise.
            Self.forwarded("::ffff:1.2.3.4"),
            // All addresses of a /64 are one.
            Self.forwarded("2001:db8:1:2::1"), Self.forwarded("2001:db8:1:2:ffff::9"),
            Self.forwarded("2001:db8:1:3::1"),
        ]
        #expect(
            try await statuses(settings, requests)
                == [201, 201, 429, 429, 429, 201, 429, 201, 429, 429, 201, 429, 201])
    }

    @Test func `CLIENT_ADDRESS_HEADERS keeps a proxy from passing on what a client forged`() async throws {
        let settings = [
            "TRUST_PROXY": "true", "TRUSTED_PROXIES": "127.0.0.1", "CLIENT_ADDRESS_HEADERS": "x-forwarded-for",
        ]
        let requests = ["1.1.1.1", "1.1.1.2", "1.1.1.3"].map { Self.cloudflare($0) + Self.forwarded("5.5.5.5") }
        #expect(try await statuses(settings, requests) == [201, 429, 429])
    }

    @Test func `with an empty list any peer is believed, and the start says so`() async throws {
        try await Stage.run(["TRUST_PROXY": "true", "LIMIT_REGISTRATIONS_PER_HOUR_PER_IP": "1"]) { stage in
            for (address, status) in [("1.2.3.4", 201), ("1.2.3.5", 201), ("1.2.3.4", 429)] {
                let answer = try await stage.relay.tryToRegister(
                    SimulatedPhone(.ios), headers: Self.forwarded(address))
                #expect(answer.status == status)
            }
            let output = stage.relay.process.record.outputText
            #expect(output.contains("level=warning event=setting name=TRUST_PROXY"))
            #expect(output.contains("client_address_from=\"cf-connecting-ip,x-forwarded-for of any peer\""))
        }
    }
}
