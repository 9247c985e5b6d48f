import Glibc
import PushSimulator
import Telemetry
import Testing

/// What Prometheus, an orchestrator and a person get from the operator's port of a running relay.
@Suite(.timeLimit(.minutes(1)))
struct OperatorPortTests {
    @Test func `the port answers what it has, and refuses the rest as the public one does`() async throws {
        try await Stage.run { stage in
            let operated = try await OperatedRelay(stage.settings)
            let metrics = try await operated.ask("/metrics")
            #expect(metrics.status == 200)
            #expect(metrics["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
            #expect(metrics["cache-control"] == "no-store")
            for path in ["/", "/metrics", "/stats", "/readyz", "/livez"] {
                let head = try await operated.ask(path, method: "HEAD")
                #expect(head.status == 200)
                #expect(head.body == "")
                let refused = try await operated.ask(path, method: "DELETE")
                #expect(refused.summary == "405 method_not_allowed")
                #expect(refused["allow"] == "GET, HEAD")
            }
            for path in ["/metrics/", "/healthz", "/v1/push"] {
                #expect(try await operated.ask(path).summary == "404 not_found")
            }
            #expect(try await operated.ask("/livez").body == #"{"ok":true}"#)
            let ready = try await operated.ask("/readyz")
            #expect(ready["content-type"] == "application/json; charset=utf-8")
            #expect(
                ready.body
                    == #"{"ready":true,"checks":[{"name":"serving","ok":true},{"name":"store","ok":true},"#
                    + #"{"name":"credentials","ok":true}]}"#)
            // What is for operators is not to be had from outside.
            for path in ["/metrics", "/stats", "/readyz", "/livez"] {
                #expect(try await operated.relay.ask("GET", path).summary == "404 not_found")
            }
            await operated.relay.end()
        }
    }

    @Test func `without METRICS_PORT there is no such port`() async throws {
        let relay = try await RelayUnderTest([:])
        #expect(!relay.process.record.outputText.contains("operator_listening"))
        await relay.end()
    }

    @Test func `a port that is taken stops the start, with a line that names the settings`() async throws {
        let taken = try await RelayUnderTest([:])
        let directory = ScratchDirectory()
        let process = try await RelayUnderTest.spawn(["METRICS_PORT": String(taken.port)], in: directory)
        let record = await process.end()
        #expect(record.status == 1)
        #expect(record.errorText.hasPrefix("METRICS_HOST, METRICS_PORT: cannot listen on 127.0.0.1 port \(taken.port)"))
        #expect(directory.text("data/push.db") != "")
        await taken.end()
    }

    @Test func `every metric appears after one of each event, and promtool finds no fault`() async throws {
        try await Stage.run { stage in
            let operated = try await OperatedRelay(stage.settings)
            let relay = operated.relay
            for platform in PhonePlatform.allCases {
                let phone = SimulatedPhone(platform)
                let capability = try await relay.register(phone)
                for kind in ["mention", "dm", "message"] {
                    #expect(try await relay.push(capability, kind: kind).status == 202)
                }
                // Refused once and repeated, throttled, failed, without an answer and repeated, gone.
                stage.force(Fault(.reset(7), times: 1), on: phone)
                #expect(try await relay.push(capability).status == 202)
                let throttling = platform == .ios ? "TooManyRequests" : "QUOTA_EXCEEDED"
                stage.force(Fault(.refuse(status: 429, reason: throttling), times: 1), on: phone)
                _ = try await relay.push(capability)
                stage.force(
                    Fault(.refuse(status: 503, reason: "ServiceUnavailable", retryAfter: "20"), times: 1), on: phone)
                #expect(try await relay.push(capability).status == 502)
                stage.force(Fault(.disconnect, times: 1), on: phone)
                #expect(try await relay.push(capability).status == 202)
                stage.simulator.declareDead(phone.token, platform: platform)
                #expect(try await relay.push(capability).status == 410)
                #expect(try await relay.push(capability).status == 404)
            }
            // The last that was counted; with it all is on disk.
            let scrape = try await operated.scrape { $0[#"gryt_push_gone_total{platform="android"}"#] == 1 }
            #expect(scrape.names == Set(Metric.allCases.map(\.rawValue)))
            #expect(!scrape.values.values.contains("twice"))
            for platform in ["ios", "android"] {
                func value(_ name: String, _ labels: String = "") -> Int? {
                    scrape[#"\#(name){platform="\#(platform)"\#(labels)}"#]
                }
                for kind in ["mention", "dm"] {
                    #expect(value("gryt_push_sent_total", #",kind="\#(kind)""#) == 1)
                }
                #expect(value("gryt_push_sent_total", #",kind="message""#) == 3)
                #expect(value("gryt_push_registrations_total") == 1)
                #expect(value("gryt_push_gone_total") == 1)
                #expect(value("gryt_push_failed_total") == 2)
                #expect(value("gryt_push_devices") == 0)
                #expect(value("gryt_push_retries_total") == 2)
                #expect(value("gryt_push_duration_seconds_count", #",outcome="accepted""#) == 5)
                #expect(value("gryt_push_duration_seconds_count", #",outcome="gone""#) == 1)
                #expect(value("gryt_push_upstream_answers_total", #",class="2xx",reason="accepted""#) == 5)
                #expect(value("gryt_push_upstream_answers_total", #",class="5xx",reason="service_unavailable""#) == 1)
                #expect(value("gryt_push_upstream_failures_total", #",reason="stream_refused""#) == 1)
                #expect(value("gryt_push_upstream_failures_total", #",reason="connection_lost""#) == 1)
                #expect(value("gryt_push_credential_state", #",state="accepted""#) == 1)
            }
            #expect(
                scrape[#"gryt_push_upstream_answers_total{platform="ios",class="4xx",reason="phone_throttled"}"#] == 1)
            #expect(scrape[#"gryt_push_duration_seconds_count{platform="ios",outcome="throttled"}"#] == 1)
            #expect(scrape[#"gryt_push_refusals_total{code="unknown_capability"}"#] == 2)
            #expect(scrape[#"gryt_push_refusals_total{code="gone"}"#] == 2)
            #expect(scrape[#"gryt_push_access_token_requests_total{result="renewed"}"#] == 1)
            #expect(scrape["gryt_push_store_up"] == 1)
            #expect(scrape["gryt_push_silent_loops"] == 0)
            #expect(scrape[#"gryt_push_build_info{version="1.2.3-test"}"#] == 1)
            #expect((scrape["process_open_fds"] ?? 0) > 10)

            let files = ScratchDirectory()
            files.write(scrape.text, to: "metrics")
            let verdict = shell("promtool check metrics < '\(files.path)/metrics' > '\(files.path)/verdict' 2>&1")
            #expect(verdict == 0, "\(files.text("verdict"))")
            await relay.end()
        }
    }

    @Test func `stats are as dashboards read them, for as many days as are asked for`() async throws {
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            let first = try await OperatedRelay(stage.settings, in: directory)
            let (phone, capability) = (SimulatedPhone(.ios), try await first.relay.register(SimulatedPhone(.android)))
            #expect(try await first.relay.push(capability, kind: "dm").status == 202)
            _ = try await first.relay.register(phone)
            await first.relay.end()
            // History, in days before today.
            directory.sqlite(
                """
                INSERT INTO daily_count SELECT max(day) - 29, 'sent', 'ios', 'dm', 7 FROM daily_count;
                INSERT INTO daily_count SELECT max(day) - 30, 'gone', 'ios', '', 8 FROM daily_count;
                INSERT INTO daily_count SELECT max(day) - 3659, 'failed', 'android', '', 9 FROM daily_count;
                """, in: "data/push.db")

            let second = try await OperatedRelay(stage.settings, in: directory)
            func daily(_ query: String) async throws -> [[String]] {
                let answer = try await second.ask("/stats\(query)")
                #expect(answer.status == 200)
                #expect(answer.json?["devices"]?["ios"]?.integer == 1)
                #expect(answer.json?["devices"]?["android"]?.integer == 1)
                guard case .array(let rows) = answer.json?["daily"] else { return [] }
                return rows.map { row -> [String] in
                    let words = ["event", "platform", "kind"].map { row[$0]?.string ?? "?" }
                    return words + [String(row["n"]?.integer ?? -1)]
                }
            }
            let today = [
                ["registered", "android", "", "1"], ["registered", "ios", "", "1"], ["sent", "android", "dm", "1"],
            ]
            let month = [["sent", "ios", "dm", "7"]] + today
            #expect(try await daily("") == month)
            #expect(try await daily("?days=30") == month)
            #expect(try await daily("?days=0") == today)
            #expect(try await daily("?days=-7") == today)
            #expect(try await daily("?days=31") == [["gone", "ios", "", "8"]] + month)
            #expect(try await daily("?days=soon") == month)
            for query in ["?days=3660", "?days=99999999999999999999999", "?x=1&days=4000"] {
                #expect(try await daily(query) == [["failed", "android", "", "9"], ["gone", "ios", "", "8"]] + month)
            }
            let scrape = try await second.scrape()
            #expect(scrape[#"gryt_push_failed_total{platform="android"}"#] == 9)
            #expect(scrape[#"gryt_push_sent_total{platform="ios",kind="dm"}"#] == 7)
            await second.relay.end()
        }
    }

    @Test func `while the relay drains it is not ready, says why, and is alive`() async throws {
        try await Stage.run { stage in
            let operated = try await OperatedRelay(stage.settings)
            let phone = SimulatedPhone(.ios)
            let capability = try await operated.relay.register(phone)
            stage.force(Fault(.silence, times: 1), on: phone)
            let relay = operated.relay
            async let push = relay.push(capability)
            try await operated.scrape { $0["gryt_push_in_flight"] == 1 }
            relay.process.signal(SIGTERM)
            await relay.logged("event=draining")
            var ready = try await operated.ask("/readyz")
            while ready.status == 200 { ready = try await operated.ask("/readyz") }
            #expect(ready.status == 503)
            #expect(ready.json?["ready"] == .bool(false))
            #expect(ready.body.contains(#"{"name":"serving","ok":false,"detail":"the relay is draining"}"#))
            #expect(try await operated.ask("/livez").status == 200)
            #expect(try await operated.scrape()["gryt_push_draining"] == 1)
            #expect(try await push.summary == "502 upstream_failed timeout")
            await relay.end()
        }
    }

    @Test func `refused credentials are seen, told once, and the relay is ready as long as one platform's are good`()
        async throws
    {
        try await Stage.run { stage in
            let operated = try await OperatedRelay(stage.settings)
            let relay = operated.relay
            let iPhone = SimulatedPhone(.ios)
            let onIOS = try await relay.register(iPhone)
            stage.force(Fault(.refuse(status: 403, reason: "InvalidProviderToken")), on: iPhone)
            for _ in 0..<3 { #expect(try await relay.push(onIOS).summary == "502 upstream_failed credentials") }
            var scrape = try await operated.scrape()
            #expect(scrape[#"gryt_push_credential_state{platform="ios",state="refused"}"#] == 1)
            #expect(scrape[#"gryt_push_credential_state{platform="android",state="untried"}"#] == 1)
            #expect(scrape[#"gryt_push_credential_last_accepted_timestamp_seconds{platform="ios"}"#] == 0)
            #expect(try await operated.ask("/readyz").status == 200)

            let android = SimulatedPhone(.android)
            let onAndroid = try await relay.register(android)
            stage.force(Fault(.refuse(status: 403, reason: "PERMISSION_DENIED")), on: android)
            #expect(try await relay.push(onAndroid).summary == "502 upstream_failed credentials")
            let ready = try await operated.ask("/readyz")
            #expect(ready.status == 503)
            #expect(ready.body.contains(#"{"name":"credentials","ok":false"#))
            await relay.logged("event=credentials_refused platform=android")

            stage.simulator.clearFaults(of: iPhone.token, platform: .ios)
            #expect(try await relay.push(onIOS).status == 202)
            scrape = try await operated.scrape()
            #expect(scrape[#"gryt_push_credential_state{platform="ios",state="accepted"}"#] == 1)
            #expect(try await operated.ask("/readyz").status == 200)
            await relay.logged("event=credentials_accepted platform=ios")
            let log = await relay.end().outputText
            #expect(log.components("event=credentials_refused platform=ios") == 1)
        }
    }

    @Test(arguments: ["Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0001 00:00:00 GMT"])
    func `a date of any year is a date, and the relay goes on`(date: String) async throws {
        try await Stage.run { stage in
            let operated = try await OperatedRelay(stage.settings)
            let relay = operated.relay
            func isMeasured(_ platform: String) async throws -> Bool {
                try await operated.scrape().values[#"gryt_push_clock_skew_seconds{platform="\#(platform)"}"#] != nil
            }
            let dated = [HeaderField("date", date)]
            stage.simulator.force(Fault(.answer(SimulatedAnswer(status: 500, headers: dated)), times: 1), on: .oauth)
            let android = try await relay.register(SimulatedPhone(.android))
            #expect(try await relay.push(android).summary == "502 upstream_failed provider_unavailable")
            #expect(try await isMeasured("android"))
            await relay.logged("event=clock_wrong platform=android")
            stage.simulator.force(Fault(.answer(SimulatedAnswer(status: 200, headers: dated))), on: .apnsProduction)
            let ios = try await relay.register(SimulatedPhone(.ios))
            #expect(try await relay.push(ios).status == 202)
            #expect(try await isMeasured("ios"))
            await relay.logged("event=clock_wrong platform=ios")
            #expect(await relay.end().status == 0)
        }
    }

    @Test func `whoever asks while somebody else asks is told the same`() async throws {
        let operated = try await OperatedRelay(["WORKERS": "4"])
        // A loop of a busy machine may well be late; that all of them are late for one of two at once is the fault.
        for _ in 0..<20 {
            async let one = operated.scrape()["gryt_push_silent_loops"]
            async let other = operated.scrape()["gryt_push_silent_loops"]
            let silent = try await (one, other)
            #expect(silent.0 != 4 && silent.1 != 4)
        }
        await operated.relay.end()
    }

    /// The second is so far off that Google gives no token; its refusal has a `Date` as well.
    @Test(arguments: [(100, "warning", "202"), (600, "error", "502 upstream_failed credentials")])
    func `a clock that differs from Google's is measured with the first answer, and told`(
        seconds: Int, level: String, answer: String
    ) async throws {
        try await Stage.run { stage in
            stage.simulator.advanceClock(by: .seconds(seconds))
            let operated = try await OperatedRelay(stage.settings)
            let capability = try await operated.relay.register(SimulatedPhone(.android))
            #expect(try await operated.relay.push(capability).summary == answer)
            await operated.relay.logged("event=clock_wrong ")
            let scrape = try await operated.scrape()
            let skew = scrape.values[#"gryt_push_clock_skew_seconds{platform="android"}"#].flatMap { Double($0) }
            #expect(try abs(#require(skew) + Double(seconds)) < 2)
            #expect(scrape.values[#"gryt_push_clock_skew_seconds{platform="ios"}"#] == nil)
            let log = await operated.relay.end().outputText
            #expect(log.components("event=clock_wrong") == 1 && log.components("event=clock_right") == 0)
            let line = try #require(log.split(separator: "\n").first { $0.contains("event=clock_wrong ") })
            #expect(line.contains("level=\(level) event=clock_wrong platform=android ahead_s=-"))
            let told = line.split(separator: " ").first { $0.hasPrefix("ahead_s=") }.flatMap { Int($0.dropFirst(8)) }
            #expect(try abs(#require(told) + seconds) < 2)
        }
    }
}

extension String {
    /// How often this stands in it.
    func components(_ part: String) -> Int {
        var count = 0
        var rest = self[...]
        while let range = rest.firstRange(of: part) {
            count += 1
            rest = rest[range.upperBound...]
        }
        return count
    }
}
