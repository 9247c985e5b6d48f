import Cryptography
import GrytPushPreview
import PushSimulator
import Testing

/// What somebody learns who takes a copy of the database, or reads the log, while the relay runs.
@Suite(.timeLimit(.minutes(3)))
struct ThiefTests {
    @Test func `neither the database nor the log says anything about fifty phones that were rung`() async throws {
        try await Stage.run { stage in
            var needles = Needles()
            var digests: Set<UInt64> = []
            for index in 0..<50 {
                let (phone, capability) = try await stage.newPhone(
                    index.isMultiple(of: 2) ? .ios : .android, opens: index.isMultiple(of: 4))
                let tag = tag(of: capability)
                let preview = phone.seal(.init(title: "Ada", body: "Lovelace \(index)"), tag: tag)
                needles.add(text: phone.token)
                if phone.platform == .ios { needles.add(bytes: hexBytes(phone.token)) }
                needles.add(text: capability)
                needles.add(bytes: try #require(Base64URL.decode(String(capability.dropFirst(2)))))
                needles.add(text: preview)
                needles.add(bytes: try #require(Base64URL.decode(preview)))
                // Its bytes begin the capability's hash, which is what the database finds a phone by.
                needles.add(text: tag)
                digests.insert(SHA256.hash(Array(capability.utf8)).firstEightBytes)
                _ = try await use(phone, capability, preview: preview, of: stage.relay, on: stage)
            }
            let files = stage.relay.directory.databaseBytes()
            let record = stage.relay.process.record
            #expect(files.count > 10_000)
            #expect(needles.found(in: files) == [])
            #expect(needles.found(in: record.standardOutput) == [])
            #expect(needles.found(in: record.standardError) == [])

            // The search finds what is there: the hashes, and whatever of the needles is put in.
            let hashes = Needles(pieces: digests.reduce(into: [:]) { $0[$1] = "hash" })
            #expect(hashes.found(in: files) == ["hash"])
            for (form, writing) in needles.samples {
                #expect(!needles.found(in: files.prefix(100) + writing + files.prefix(100)).isEmpty, "\(form)")
            }
            let ended = await stage.relay.end()
            #expect(needles.found(in: stage.relay.directory.databaseBytes()) == [])
            #expect(needles.found(in: ended.standardOutput + ended.standardError) == [])
        }
    }

    @Test func `neither the operator's port nor any refusal says anything about phones that were rung`() async throws {
        try await Stage.run { stage in
            let operated = try await OperatedRelay(stage.settings)
            var needles = Needles()
            var answers: [Answer] = []
            for platform in PhonePlatform.allCases + PhonePlatform.allCases {
                let phone = SimulatedPhone(platform)
                let capability = try await operated.relay.register(phone, opens: true)
                let preview = phone.seal(.init(title: "Ada", body: "Lovelace"), tag: tag(of: capability))
                for text in [phone.token, capability, preview, tag(of: capability)] { needles.add(text: text) }
                answers += try await use(phone, capability, preview: preview, of: operated.relay, on: stage)
            }
            for path in ["/", "/metrics", "/stats", "/readyz", "/livez"] {
                let answer = try await operated.ask(path)
                #expect([200, 503].contains(answer.status) && !answer.body.isEmpty, "\(path)")
                answers.append(answer)
            }
            #expect(answers.count { $0.status >= 400 } >= 28)
            for answer in answers {
                let said = answer.fields.map { "\($0.name): \($0.value)\n" }.joined() + answer.body
                #expect(needles.found(in: Array(said.utf8)) == [], "\(said)")
            }
            await operated.relay.end()
        }
    }

    /// Rings a phone in every way that may leave something behind, mistaken ones among them. Gives the answers.
    private func use(
        _ phone: SimulatedPhone, _ capability: String, preview: String, of relay: RelayUnderTest, on stage: Stage
    ) async throws -> [Answer] {
        var answers: [Answer] = []
        func keep(_ answer: Answer, status: Int) {
            #expect(answer.status == status)
            answers.append(answer)
        }
        keep(try await relay.push(capability, preview: preview), status: 202)
        keep(try await relay.push(capability, kind: preview), status: 400)
        keep(try await relay.ask("GET", "/v1/push/\(capability)?token=\(phone.token)"), status: 404)
        keep(try await relay.ask("POST", "/v1/devices", body: "[\"\(phone.token)\"]"), status: 400)
        for action in [
            Fault.Action.refuse(status: 418, reason: phone.token),
            .refuse(status: 500, reason: capability, retryAfter: capability), PushServiceCase.page(400),
            PushServiceCase.json(503, #"{"reason":"\#(preview)","error":{"message":"\#(phone.token)"}}"#),
        ] {
            stage.force(Fault(action), on: phone)
            keep(try await relay.push(capability, preview: preview), status: 502)
            stage.simulator.clearFaults(of: phone.token, platform: phone.platform)
        }
        return answers
    }
}

func hexBytes(_ text: String) -> [UInt8] {
    let digits = Array(text)
    return stride(from: 0, to: digits.count - 1, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
}

/// Secrets in every writing in which one may have been left, as pieces of eight bytes.
private struct Needles {
    /// The writing that each piece is of.
    private var pieces: [UInt64: String] = [:]
    /// One whole writing of each form.
    private(set) var samples: [String: [UInt8]] = [:]

    init(pieces: [UInt64: String] = [:]) { self.pieces = pieces }

    mutating func add(text: String) {
        add(Array(text.utf8), "text")
        add(Array(text.uppercased().utf8), "upper case")
        add(Array(text.lowercased().utf8), "lower case")
        add(bytes: Array(text.utf8), of: "of the text")
    }

    mutating func add(bytes: [UInt8]) {
        add(bytes, "bytes")
        add(bytes: bytes, of: "of the bytes")
    }

    private mutating func add(bytes: [UInt8], of what: String) {
        let hex = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        add(Array(hex.utf8), "hex \(what)")
        add(Array(hex.uppercased().utf8), "upper-case hex \(what)")
        // Within a longer text it may begin at any of three places of a group.
        for skipped in 0..<3 {
            let base64URL = Base64URL.encode(Array(bytes.dropFirst(skipped)))
            add(Array(base64URL.utf8), "base64url \(what)")
            let base64 = base64URL.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
            add(Array(String(base64).utf8), "base64 \(what)")
        }
    }

    private mutating func add(_ writing: [UInt8], _ form: String) {
        samples[form] = writing
        for start in stride(from: 0, through: writing.count - 8, by: 4) {
            pieces[writing[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) }] = form
        }
    }

    /// The forms in which something is there.
    func found(in bytes: [UInt8]) -> Set<String> {
        var found: Set<String> = []
        var run: UInt64 = 0
        for (index, byte) in bytes.enumerated() {
            run = run << 8 | UInt64(byte)
            if index >= 7, let form = pieces[run] { found.insert(form) }
        }
        return found
    }
}
