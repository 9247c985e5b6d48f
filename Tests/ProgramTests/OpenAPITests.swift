import Glibc
import OpenAPIDocument
import PushSimulator
import Synchronization
import Testing

/// What `docs/openapi.json` promises, asked of the running program. `RelayUnderTest` holds every other answer that the
/// tests of this folder get against the document as well.
@Suite(.timeLimit(.minutes(2)))
struct OpenAPITests {
    private let document = OpenAPIDocument.ofRepository

    /// All operations, as method and path.
    private var operations: [(method: String, path: String)] {
        document.methods.sorted { $0.key < $1.key }.flatMap { path, methods in
            methods.sorted().map { (method: $0, path: path) }
        }
    }

    @Test func `every answer of the document is given, and none that is not in it`() async throws {
        let seen = Sightings(document)
        try await Stage.run { stage in
            try await askInOrder(stage.relay, seen)
            try await askInDisorder(stage.relay, seen)
            try await meetPushServices(stage, seen)
            try await meetFullDisk(stage, seen)
        }
        try await Stage.run(["LIMIT_REGISTRATIONS_PER_HOUR_PER_IP": "2", "LIMIT_PUSHES_PER_MINUTE_PER_DEVICE": "1"]) {
            stage in
            let (_, capability) = try await stage.newPhone()
            _ = try await stage.relay.push(capability)
            seen.note(try await stage.relay.push(capability), to: "POST", "/v1/push")
            _ = try await stage.newPhone()
            seen.note(try await stage.relay.tryToRegister(SimulatedPhone(.ios)), to: "POST", "/v1/devices")
        }
        try await meetMissingCredentials(seen)
        try await meetLimitOfConnections(seen)
        try await meetItsEnd(seen)
        // It takes ten seconds to be met; `Tests/HTTPServerTests/TimeoutTests.swift` has shorter ones.
        let expected = document.answers.filter { !$0.contains(" 408") }
        #expect(expected.subtracting(seen.answers).sorted() == [], "in the document, and not given")
        #expect(seen.answers.subtracting(expected).sorted() == [], "given, and not in the document")
    }

    @Test func `the document is served to GET and HEAD as it stands in the repository`() async throws {
        try await Stage.run { stage in
            let get = try await stage.relay.ask("GET", "/openapi.json")
            #expect(Array(get.body.utf8) == document.bytes)
            let head = try await stage.relay.ask("HEAD", "/openapi.json?x=1")
            #expect(head.status == 200 && head["content-length"] == String(document.bytes.count))
        }
    }

    @Test func `a path has the methods that the document has for it, and no other`() async throws {
        let methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "QUERY"]
        try await Stage.run { stage in
            for (path, known) in document.methods {
                for method in methods {
                    let answer = try await stage.relay.ask(method, path)
                    #expect((answer.status == 405) == !known.contains(method), "\(method) \(path)")
                    guard answer.status == 405 else { continue }
                    let allowed = answer["allow"]?.split(separator: ",").map { String($0.drop { $0 == " " }) }
                    #expect(Set(allowed ?? []) == known)
                }
            }
        }
    }

    // MARK: What is to be met

    private func askInOrder(_ relay: RelayUnderTest, _ seen: Sightings) async throws {
        for path in ["/healthz", "/openapi.json"] {
            for method in ["GET", "HEAD"] { seen.note(try await relay.ask(method, path), to: method, path) }
        }
        let phone = SimulatedPhone(.ios)
        let token = phone.token
        for body in [
            "{", #"{"platform":"x"}"#, #"{"platform":"ios","token":"x"}"#,
            #"{"platform":"ios","token":"\#(token)","env":"x"}"#, #"{"platform":"ios","token":"\#(token)"}"#,
            String(repeating: " ", count: 8193),
        ] {
            seen.note(try await relay.ask("POST", "/v1/devices", body: body), to: "POST", "/v1/devices")
        }
        let capability = try await relay.register(phone)
        let unknown = unknownCapability()
        for (capability, body) in [
            (capability, "{"), (capability, #"{"kind":"x"}"#), (capability, #"{"kind":"dm","preview":"x"}"#),
            ("x", ""), (unknown, #"{"kind":"dm"}"#), (capability, String(repeating: " ", count: 8193)),
            (capability, #"{"kind":"dm"}"#),
        ] {
            let answer = try await relay.ask("POST", "/v1/push", headers: [bearer(capability)], body: body)
            seen.note(answer, to: "POST", "/v1/push")
        }
        for capability in ["x", unknown, capability] {
            seen.note(try await relay.remove(capability), to: "DELETE", "/v1/push")
        }
    }

    /// Requests that break a rule of HTTP, one of each kind to each operation.
    private func askInDisorder(_ relay: RelayUnderTest, _ seen: Sightings) async throws {
        let long = String(repeating: "x", count: 9000)
        for (method, path) in operations {
            let fields = "Host: a\r\nAuthorization: Bearer \(unknownCapability())\r\n"
            for text in [
                "\(method) \(path) HTTP/1.1\r\n\r\n", "\(method) \(path)?\(long) HTTP/1.1\r\n\(fields)\r\n",
                "\(method) \(path) HTTP/1.1\r\n\(fields)Content-Length: 2\r\nExpect: x\r\n\r\n{}",
                "\(method) \(path) HTTP/1.1\r\n\(fields)X: \(long)\r\n\r\n",
                "\(method) \(path) HTTP/1.1\r\n\(fields)Transfer-Encoding: gzip\r\n\r\n",
                "\(method) \(path) HTTP/3.0\r\n\(fields)\r\n",
            ] {
                seen.note(try await relay.raw(text, toHead: method == "HEAD"), to: method, path)
            }
        }
    }

    private func meetPushServices(_ stage: Stage, _ seen: Sightings) async throws {
        // Nobody is forgotten for a refusal before the service has taken anything from us.
        let (_, living) = try await stage.newPhone()
        #expect(try await stage.relay.push(living).status == 202)
        for fault: Fault.Action in [
            .refuse(status: 410, reason: "Unregistered"), .refuse(status: 429, reason: "TooManyRequests"),
            .refuse(status: 413, reason: "PayloadTooLarge"),
        ] {
            let (phone, capability) = try await stage.newPhone()
            stage.force(Fault(fault), on: phone)
            seen.note(try await stage.relay.push(capability), to: "POST", "/v1/push")
        }
    }

    private func meetFullDisk(_ stage: Stage, _ seen: Sightings) async throws {
        let (phone, capability) = try await stage.newPhone()
        #expect(shell("prlimit --pid \(stage.relay.process.id) --fsize=0:") == 0)
        seen.note(try await stage.relay.tryToRegister(SimulatedPhone(.ios)), to: "POST", "/v1/devices")
        seen.note(try await stage.relay.remove(capability), to: "DELETE", "/v1/push")
        stage.simulator.declareDead(phone.token, platform: .ios)
        seen.note(try await stage.relay.push(capability), to: "POST", "/v1/push")
        #expect(shell("prlimit --pid \(stage.relay.process.id) --fsize=unlimited:") == 0)
    }

    private func meetMissingCredentials(_ seen: Sightings) async throws {
        let none = ["APNS_KEY_PATH": "", "APNS_KEY_ID": "", "APNS_TEAM_ID": "", "FCM_SERVICE_ACCOUNT_PATH": ""]
        let directory = ScratchDirectory()
        try await Stage.run { stage in
            let before = try await RelayUnderTest(stage.settings, in: directory)
            let capabilities = [
                try await before.register(SimulatedPhone(.ios)), try await before.register(SimulatedPhone(.android)),
            ]
            await before.end()
            let poor = try await RelayUnderTest(stage.settings.merging(none) { $1 }, in: directory)
            for platform in PhonePlatform.allCases {
                seen.note(try await poor.tryToRegister(SimulatedPhone(platform)), to: "POST", "/v1/devices")
            }
            for capability in capabilities { seen.note(try await poor.push(capability), to: "POST", "/v1/push") }
            await poor.end()
        }
    }

    /// A connection that is one too many is told so before anything is asked over it.
    private func meetLimitOfConnections(_ seen: Sightings) async throws {
        let operations = operations
        try await Stage.run(["MAX_CONNECTIONS": "1", "WORKERS": "1"]) { stage in
            let port = stage.relay.port
            let answers = try await onOwnThread {
                let holder = try RawClient(port: port)
                try holder.send(request("GET", "/healthz"))
                _ = try holder.nextAnswer()
                return try operations.map { _ in try RawClient(port: port).nextAnswer() }
            }
            for (operation, answer) in zip(operations, answers) {
                // It comes whole, since nobody can know yet that a HEAD will be asked.
                seen.note(answer, to: operation.method, operation.path, isBodyKept: false)
            }
        }
    }

    /// A request that does not become whole during a drain is told that the relay shuts down.
    private func meetItsEnd(_ seen: Sightings) async throws {
        let operations = operations
        try await Stage.run { stage in
            let relay = stage.relay
            let answers = try await onOwnThread {
                let clients = try operations.map { method, path in
                    let client = try RawClient(port: relay.port)
                    // What comes with the first request has been read once that is answered.
                    try client.send(
                        request("GET", "/healthz") + Array("\(method) \(path) HTTP/1.1\r\nHost: a\r\n".utf8))
                    _ = try client.nextAnswer()
                    return client
                }
                relay.process.signal(SIGTERM)
                return try zip(operations, clients).map { try $1.nextAnswer(toHead: $0.method == "HEAD") }
            }
            for (operation, answer) in zip(operations, answers) {
                seen.note(answer, to: operation.method, operation.path, isBodyKept: false)
            }
        }
    }
}

/// What was answered so far. Each answer is held against the document.
private final class Sightings: Sendable {
    private let document: OpenAPIDocument
    private let seen = Mutex<Set<String>>([])

    init(_ document: OpenAPIDocument) { self.document = document }

    /// Each as `POST /v1/push 404 unknown_capability`.
    var answers: Set<String> { seen.withLock { $0 } }

    func note(_ answer: Answer, to method: String, _ path: String, isBodyKept: Bool = true) {
        var answer = answer
        if !isBodyKept, method == "HEAD" { answer.body = "" }
        expectDocumented(answer, to: method, path)
        seen.withLock { _ = $0.insert("\(method) \(path) \(OpenAPIDocument.Answer(answer).summary)") }
    }
}
