import LoopbackProxy
import PushSimulator
import Testing

/// A relay that may reach Apple and Google only through a proxy.
@Suite(.timeLimit(.minutes(3)))
struct ProxyTests {
    private static let login = "gryt:geheim"
    /// The same in base64, as it goes to the proxy.
    private static let field = "Z3J5dDpnZWhlaW0="

    /// A proxy, and a relay told to use it, beside a simulator.
    private func with(
        _ manner: LoopbackProxy.Manner, _ more: @Sendable (Stage) -> [String: String] = { _ in [:] },
        body: @Sendable (Stage, RelayUnderTest, LoopbackProxy) async throws -> Void
    ) async throws {
        let proxy = LoopbackProxy(manner)
        defer { proxy.stop() }
        try await Stage.run { stage in
            let own = ["HTTPS_PROXY": "http://\(Self.login)@127.0.0.1:\(proxy.port)", "WORKERS": "1"]
            let relay = try await RelayUnderTest(
                stage.settings.merging(own) { $1 }.merging(more(stage)) { $1 }, in: ScratchDirectory())
            try await body(stage, relay, proxy)
            let record = await relay.end()
            #expect(record.status == 0)
            #expect(record.errorText == "")
            for secret in ["geheim", Self.field] { #expect(!record.outputText.contains(secret)) }
        }
    }

    private func target(_ service: SimulatedService, _ stage: Stage) -> String {
        "localhost:\(stage.simulator.port(of: service))"
    }

    @Test func `Apple, Google and Google's token endpoint are reached through the proxy, all of them`() async throws {
        try await with(LoopbackProxy.established) { stage, relay, proxy in
            for (platform, env) in [(PhonePlatform.ios, "production"), (.ios, "sandbox"), (.android, nil)] {
                let phone = SimulatedPhone(platform)
                let capability = try await relay.register(phone, env: env)
                #expect(try await relay.push(capability).summary == "202")
                #expect(stage.notifications(for: phone).count == 1)
            }
            let requests = proxy.requests
            let services: [SimulatedService] = [.apnsProduction, .apnsSandbox, .fcm, .oauth]
            #expect(requests.count == services.count)
            for service in services {
                let target = target(service, stage)
                let expected =
                    "CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\nProxy-Authorization: Basic \(Self.field)\r\n\r\n"
                #expect(requests.contains(expected), "\(service)")
            }
            #expect(await relay.logged("https_proxy=127.0.0.1:\(proxy.port) https_proxy_login=set no_proxy=unset"))
        }
    }

    @Test func `what NO_PROXY names is reached directly`() async throws {
        try await with(
            LoopbackProxy.established, { ["NO_PROXY": "other.example,\(target(.fcm, $0)),\(target(.oauth, $0))"] }
        ) { stage, relay, proxy in
            for platform in PhonePlatform.allCases {
                let capability = try await relay.register(SimulatedPhone(platform))
                #expect(try await relay.push(capability).summary == "202")
            }
            #expect(proxy.requests.map { String($0.split(separator: " ")[1]) } == [target(.apnsProduction, stage)])
        }
    }

    @Test(arguments: [
        (407, "error", "proxy_wants_credentials", "(check the user name and password)"),
        (403, "error", "proxy_forbids", "(it must allow this host and port)"), (502, "warning", "proxy_refused", ""),
    ])
    func `a proxy that refuses is told to the operator with its status, and senders are asked to come back`(
        status: Int, level: String, label: String, hint: String
    ) async throws {
        try await with(.says("HTTP/1.1 \(status) No\r\nContent-Length: 0\r\n\r\n")) { stage, relay, _ in
            for platform in PhonePlatform.allCases {
                let phone = SimulatedPhone(platform)
                let answer = try await relay.push(relay.register(phone))
                #expect(answer.summary == "502 upstream_failed unreachable")
                #expect((answer.retryAfter ?? 0) > 0)
                #expect(stage.notifications(for: phone).isEmpty)
            }
            for service in ["apns", "oauth"] {
                #expect(await relay.logged("event=connection_failed service=\(service) fault=\(label) "))
            }
            let lines = relay.process.record.outputText.split(separator: "\n").filter {
                $0.contains("connection_failed")
            }
            #expect(
                lines.allSatisfy {
                    $0.contains("level=\(level)") && $0.contains("proxy refused with status \(status)")
                        && $0.contains(hint)
                })
        }
    }

    @Test func `a proxy that answers 503 for a while and then works is found back, for Apple and for Google`()
        async throws
    {
        try await with(.says("HTTP/1.1 503 Service Unavailable\r\n\r\n")) { stage, relay, proxy in
            var phones: [(phone: SimulatedPhone, capability: String)] = []
            for platform in PhonePlatform.allCases {
                let phone = SimulatedPhone(platform)
                phones.append((phone, try await relay.register(phone)))
            }
            // Long enough that the pauses between attempts have grown.
            while proxy.requests.count < 6 {
                for (_, capability) in phones {
                    #expect(try await relay.push(capability).summary == "502 upstream_failed unreachable")
                }
            }
            #expect(phones.allSatisfy { stage.notifications(for: $0.phone).isEmpty })
            proxy.manner = LoopbackProxy.established
            for (phone, capability) in phones {
                while try await relay.push(capability).status != 202 { try await Task.sleep(for: .milliseconds(50)) }
                #expect(stage.notifications(for: phone).count == 1)
            }
            // Started anew under connections that stand.
            proxy.cut()
            for (phone, capability) in phones {
                while try await relay.push(capability).status != 202 { try await Task.sleep(for: .milliseconds(50)) }
                #expect(!stage.notifications(for: phone).contains { $0.isDouble })
            }
        }
    }

    @Test func `a proxy that takes connections and hangs is found back within a budget of its recovery`() async throws {
        try await with(.isSilent, { _ in ["PUSH_BUDGET_MS": "1000"] }) { stage, relay, proxy in
            let phone = SimulatedPhone(.ios)
            let capability = try await relay.register(phone)
            #expect(try await relay.push(capability).status == 502)
            proxy.manner = LoopbackProxy.established
            while try await relay.push(capability).status != 202 {}
            // The attempt that hung had ten seconds, and nobody waited for its end.
            #expect(!relay.process.record.outputText.contains("connection_failed"))
            // One may have left within its sender's time and been answered after it.
            let shown = stage.notifications(for: phone)
            #expect(!shown.isEmpty && !shown.contains { $0.isDouble })
        }
    }

    @Test func `a breaker that opens for the proxy's sake says so`() async throws {
        try await with(.says("HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n")) { _, relay, proxy in
            for _ in 0..<3 {
                #expect(try await relay.push(relay.register(SimulatedPhone(.ios))).summary == Self.unreachable)
            }
            #expect(await relay.logged("event=breaker_opened about=\"apns proxy_refuses\""))
            let last = try await relay.push(relay.register(SimulatedPhone(.ios)))
            #expect(last.summary == Self.unreachable && (60...120).contains(last.retryAfter ?? 0))
            #expect(proxy.requests.count == 1)
        }
    }

    private static let unreachable = "502 upstream_failed unreachable"

    @Test(arguments: [
        ("HTTPS_PROXY", "socks5://gryt:geheim@127.0.0.1:1080", "no other kind is supported"),
        ("https_proxy", "http://gryt:geheim@proxy", "must be http://host:port"),
        ("NO_PROXY", "geheim/x", "entry 1 is not"),
    ])
    func `a proxy that cannot be right stops the start`(name: String, value: String, reason: String) async throws {
        let settings = ["HTTPS_PROXY": "p:1"].filter { $0.key == "HTTPS_PROXY" && name == "NO_PROXY" }
        let process = try await RelayUnderTest.spawn(settings.merging([name: value]) { $1 }, in: ScratchDirectory())
        let record = await process.end()
        #expect(record.status == 78)
        #expect(record.errorText.hasPrefix("\(name): "))
        #expect(record.errorText.contains(reason))
        #expect(!(record.errorText + record.outputText).contains("geheim"))
    }
}
