import Cryptography
import Glibc
import OpenAPIDocument
import PushSimulator
import Testing

/// The built program, running in a directory of its own, with its port.
final class RelayUnderTest: Sendable {
    let process: ChildProcess
    let port: UInt16
    /// Its working directory; `data` in it is its `DATA_DIR`.
    let directory: ScratchDirectory

    /// Starts it with nothing but these settings, those of ``usual`` and those for loopback, and waits until it listens.
    ///
    /// - Throws: ``StartFailure`` when it ends instead.
    convenience init(
        _ settings: [String: String], in directory: ScratchDirectory = ScratchDirectory(), handing: [Int32] = []
    ) async throws {
        try await self.init(try await Self.spawn(settings, in: directory, handing: handing), in: directory)
    }

    /// Waits until one that was started in some other way listens.
    ///
    /// - Throws: ``StartFailure`` when it ends instead.
    init(_ process: ChildProcess, in directory: ScratchDirectory) async throws {
        self.directory = directory
        self.process = process
        let record = await process.wait { Self.port(in: $0) != nil }
        guard let port = Self.port(in: record) else { throw StartFailure(record: record) }
        self.port = port
    }

    /// A relay that was let go of, by a test that failed, does not stay.
    deinit { process.signal(SIGKILL) }

    /// Starts it without waiting for anything.
    static func spawn(
        _ settings: [String: String], in directory: ScratchDirectory, arguments: [String] = [], handing: [Int32] = []
    ) async throws -> ChildProcess {
        try await ChildProcess(
            try programPath(), arguments: arguments, environment: usual.merging(settings) { $1 },
            directory: directory, handing: handing)
    }

    /// What tests leave as it is unless they are about it. No limit stands in the way, and every log line is written.
    static let usual = [
        "HOST": "127.0.0.1", "PORT": "0", "WORKERS": "2", "DATA_DIR": "data", "LOG_LEVEL": "debug",
        "PUSH_VERSION": "1.2.3-test", "LIMIT_REGISTRATIONS_PER_HOUR_PER_IP": "0",
        "LIMIT_PUSHES_PER_MINUTE_PER_DEVICE": "0", "LIMIT_PUSHES_PER_MINUTE_PER_IP": "0",
    ]

    /// The program stands beside the test bundle.
    static func programPath() throws -> String {
        var buffer = [CChar](repeating: 0, count: 4096)
        let length = max(unsafe readlink("/proc/self/exe", &buffer, buffer.count), 0)
        let bundle = String(decoding: buffer[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let path = bundle.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 } + "/gryt-push"
        guard unsafe access(path, X_OK) == 0 else { throw ProcessFault(call: "access \(path)", errno: errno) }
        return path
    }

    private static func port(in record: ChildProcess.Record) -> UInt16? {
        let line = record.outputText.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            .first { $0.contains("event=listening") }
        return line?.split(separator: " ").first { $0.hasPrefix("port=") }.flatMap { UInt16($0.dropFirst(5)) }
    }

    // MARK: Asking

    private var document: OpenAPIDocument { .ofRepository }

    /// Sends exactly this on a connection of its own, and gives the first answer.
    func raw(_ text: String, toHead: Bool = false) async throws -> Answer {
        try await raw(Array(text.utf8), toHead: toHead)
    }

    /// Likewise.
    func raw(_ bytes: [UInt8], toHead: Bool = false) async throws -> Answer {
        let port = port
        let answer = try await onOwnThread {
            let client = try RawClient(port: port)
            try client.send(bytes)
            return try client.nextAnswer(toHead: toHead)
        }
        // Whatever a test is about: what the document promises holds.
        if let (method, path) = operation(in: bytes), document.methods[path]?.contains(method) == true {
            expectDocumented(answer, to: method, path)
        }
        return answer
    }

    /// Asks in the ordinary way.
    func ask(
        _ method: String, _ path: String, headers: [(String, String)] = [], body: [UInt8]? = nil
    ) async throws -> Answer {
        try await raw(request(method, path, headers: headers, body: body), toHead: method == "HEAD")
    }

    /// Likewise, with a body of text.
    func ask(
        _ method: String, _ path: String, headers: [(String, String)] = [], body: String
    ) async throws -> Answer {
        try await ask(method, path, headers: headers, body: Array(body.utf8))
    }

    // MARK: As phones and servers do

    /// Registers a token and gives the whole answer.
    func tryToRegister(
        _ phone: SimulatedPhone, env: String? = nil, opens: Bool? = nil, headers: [(String, String)] = []
    ) async throws -> Answer {
        try await raw(registrationRequest(phone, env: env, opens: opens, headers: headers))
    }

    /// Registers a token and gives its capability.
    func register(_ phone: SimulatedPhone, env: String? = nil, opens: Bool? = nil) async throws -> String {
        let answer = try await tryToRegister(phone, env: env, opens: opens)
        guard answer.status == 201, let capability = answer.json?["capability"]?.string else {
            throw UnexpectedAnswer(answer: answer)
        }
        return capability
    }

    /// Rings a phone.
    func push(
        _ capability: String, kind: String = "message", preview: String? = nil, headers: [(String, String)] = []
    ) async throws -> Answer {
        try await raw(pushRequest(capability, kind: kind, preview: preview, headers: headers))
    }

    /// Takes a capability back.
    func remove(_ capability: String) async throws -> Answer {
        try await ask("DELETE", "/v1/push", headers: [bearer(capability)])
    }

    func health() async throws -> Answer { try await ask("GET", "/healthz") }

    /// The memory that it has at this moment, in bytes; 0 once it has ended.
    var residentBytes: Int {
        let pages = String(decoding: fileBytes("/proc/\(process.id)/statm"), as: UTF8.self).split(separator: " ")
        return pages.count > 1 ? (Int(pages[1]) ?? 0) * sysconf(Int32(_SC_PAGESIZE)) : 0
    }

    // MARK: Its end

    /// Sends a signal and waits for the end.
    @discardableResult
    func end(by signal: Int32 = SIGTERM) async -> ChildProcess.Record {
        process.signal(signal)
        return await process.end()
    }

    /// Waits for a line of the log with this in it.
    @discardableResult
    func logged(_ part: String) async -> Bool {
        await process.wait { $0.outputText.contains(part) }.outputText.contains(part)
    }
}

/// The program ended before it listened.
struct StartFailure: Error {
    var record: ChildProcess.Record
}

/// An answer that a test cannot go on with.
struct UnexpectedAnswer: Error {
    var answer: Answer
}

/// The header that carries a capability.
func bearer(_ capability: String) -> (String, String) { ("Authorization", "Bearer \(capability)") }

/// The bytes of a request in the ordinary form.
func request(_ method: String, _ path: String, headers: [(String, String)] = [], body: [UInt8]? = nil) -> [UInt8] {
    var head = "\(method) \(path) HTTP/1.1\r\nHost: relay.test\r\n"
    for (name, value) in headers { head += "\(name): \(value)\r\n" }
    if let body { head += "Content-Length: \(body.count)\r\n" }
    return Array((head + "\r\n").utf8) + (body ?? [])
}

/// The bytes of a registration.
func registrationRequest(
    _ phone: SimulatedPhone, env: String? = nil, opens: Bool? = nil, headers: [(String, String)] = []
) -> [UInt8] {
    var members: [JSON.Member] = [
        .init("platform", .string(phone.platform.rawValue)), .init("token", .string(phone.token)),
    ]
    if let env { members.append(.init("env", .string(env))) }
    if let opens { members.append(.init("opens", .bool(opens))) }
    return request("POST", "/v1/devices", headers: headers, body: Array(JSON.object(members).text.utf8))
}

/// The bytes of a push.
func pushRequest(
    _ capability: String, kind: String = "message", preview: String? = nil, headers: [(String, String)] = []
) -> [UInt8] {
    var members: [JSON.Member] = [.init("kind", .string(kind))]
    if let preview { members.append(.init("preview", .string(preview))) }
    return request(
        "POST", "/v1/push", headers: [bearer(capability)] + headers, body: Array(JSON.object(members).text.utf8))
}

/// What a phone knows one of its servers by: the first 16 hex digits of the SHA-256 of the capability.
func tag(of capability: String) -> String {
    String(SHA256.hash(Array(capability.utf8)).hex.prefix(16))
}

/// A capability that nobody has.
func unknownCapability() -> String { "p_" + Base64URL.encode(SecureRandom.bytes(32)) }

/// Starts it with a signal to stop that waits for it before its first line.
func toldToStop(_ settings: [String: String], in directory: ScratchDirectory) async throws -> ChildProcess {
    let script = """
        import os, signal, sys
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        os.kill(os.getpid(), signal.SIGTERM)
        os.execv(sys.argv[1], sys.argv[1:])
        """
    return try await ChildProcess(
        "/usr/bin/env", arguments: ["python3", "-c", script, try RelayUnderTest.programPath()],
        environment: RelayUnderTest.usual.merging(settings) { $1 }, directory: directory)
}

/// Starts a program for which the modes of files count, whoever runs the tests.
func unprivileged(
    _ settings: [String: String], in directory: ScratchDirectory, arguments: [String] = []
) async throws -> ChildProcess {
    guard geteuid() == 0 else {
        return try await RelayUnderTest.spawn(settings, in: directory, arguments: arguments)
    }
    let without = "-dac_override,-dac_read_search,-fowner"
    return try await ChildProcess(
        "/usr/bin/setpriv",
        arguments: ["--bounding-set", without, "--inh-caps", without, try RelayUnderTest.programPath()] + arguments,
        environment: RelayUnderTest.usual.merging(settings) { $1 }, directory: directory)
}
