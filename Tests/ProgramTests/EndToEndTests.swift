import Cryptography
import GrytPushPreview
import PushSimulator
import Testing

/// A push from the server's request to what stands on the phone's screen.
@Suite(.stage(), .timeLimit(.minutes(3)))
struct EndToEndTests {
    static let texts = [
        ("mention", "Someone mentioned you"), ("dm", "New direct message"), ("message", "New message"),
    ]
    static let preview = Preview(title: "Ada", subtitle: "#general", body: "Look at „this“ 🐈")

    /// Pushes once, and gives what the phone got for it.
    private func ring(
        _ phone: SimulatedPhone, _ capability: String, kind: String, preview: String?
    ) async throws -> DeliveredNotification {
        let stage = try Stage.current
        let answer = try await stage.relay.push(capability, kind: kind, preview: preview)
        #expect(answer.status == 202)
        #expect(answer.body == #"{"ok":true}"#)
        let all = stage.notifications(for: phone)
        #expect(all.count == 1)
        return try #require(all.first)
    }

    @Test(arguments: texts, [nil, "production", "sandbox"])
    func `an iPhone gets Apple's form of it, at its own environment`(
        text: (kind: String, body: String), env: String?
    ) async throws {
        let stage = try Stage.current
        for carriesPreview in [false, true] {
            let (phone, capability) = try await stage.newPhone(env: env)
            let tag = tag(of: capability)
            let preview = carriesPreview ? phone.seal(Self.preview, tag: tag) : nil
            let notification = try await ring(phone, capability, kind: text.kind, preview: preview)

            #expect(notification.service == (env == "sandbox" ? .apnsSandbox : .apnsProduction))
            var aps: [JSON.Member] = [
                .init("alert", ["title": "Gryt", "body": .string(text.body)]), .init("sound", "default"),
                .init("thread-id", .string(tag)),
            ]
            var payload: [JSON.Member] = [.init("c", .string(tag))]
            if let preview {
                aps.append(.init("mutable-content", 1))
                payload.append(.init("p", .string(preview)))
            }
            payload.append(.init("aps", .object(aps)))
            #expect(JSON(text: notification.payload)?.sorted == JSON.object(payload).sorted)
            #expect(
                Set(notification.headers.map(\.name)).subtracting(["content-length"])
                    == ["apns-topic", "apns-push-type", "apns-priority", "apns-id", "apns-collapse-id"])
            #expect(notification.header("apns-topic") == stage.simulator.topic)
            #expect(notification.header("apns-push-type") == "alert")
            #expect(notification.header("apns-priority") == "10")
            expectProviderToken(try request(to: "/3/device/\(phone.token)"))

            let shown = phone.show(notification)
            if carriesPreview {
                #expect(
                    shown
                        == .init(
                            title: "Ada", subtitle: "#general", body: Self.preview.body, tag: tag, isPreview: true))
            } else {
                #expect(shown == .init(title: "Gryt", subtitle: nil, body: text.body, tag: tag, isPreview: false))
            }
        }
    }

    @Test(arguments: texts, [nil, false, true])
    func `an Android phone gets Google's form of it, data-only where it opens a preview itself`(
        text: (kind: String, body: String), opens: Bool?
    ) async throws {
        let stage = try Stage.current
        for carriesPreview in [false, true] {
            let (phone, capability) = try await stage.newPhone(.android, opens: opens)
            let tag = tag(of: capability)
            let preview = carriesPreview ? phone.seal(Self.preview, tag: tag) : nil
            let notification = try await ring(phone, capability, kind: text.kind, preview: preview)

            #expect(notification.service == .fcm)
            var data: [JSON.Member] = [.init("c", .string(tag))]
            if let preview { data.append(.init("p", .string(preview))) }
            var message: [JSON.Member] = [.init("token", .string(phone.token))]
            if opens == true, carriesPreview {
                data += [.init("t", "Gryt"), .init("b", .string(text.body))]
                message.append(.init("android", ["priority": "high"]))
            } else {
                let replacementKey = try #require(notification.replacementKey)
                message.append(.init("notification", ["title": "Gryt", "body": .string(text.body)]))
                message.append(
                    .init(
                        "android",
                        [
                            "priority": "high",
                            "notification": [
                                "channel_id": "messages", "sound": "default", "tag": .string(replacementKey),
                            ],
                        ]))
            }
            message.append(.init("data", .object(data)))
            #expect(JSON(text: notification.payload)?.sorted == JSON.object(message).sorted)
            let sent = stage.simulator.books().requests.filter { $0.service == .fcm }
            #expect(sent.allSatisfy { $0.target == "/v1/projects/gryt-simulated/messages:send" && $0.method == "POST" })

            let shown = phone.show(notification)
            if opens == true, carriesPreview {
                #expect(
                    shown
                        == .init(
                            title: "Ada", subtitle: "#general", body: Self.preview.body, tag: tag, isPreview: true))
            } else {
                #expect(shown == .init(title: "Gryt", subtitle: nil, body: text.body, tag: tag, isPreview: false))
            }
        }
    }

    @Test func `an app that opens previews shows the fixed text for one that it cannot open`() async throws {
        let (phone, capability) = try await Stage.current.newPhone(.android, opens: true)
        let foreign = SimulatedPhone(.android).seal(Self.preview, tag: tag(of: capability))
        let notification = try await ring(phone, capability, kind: "dm", preview: foreign)
        #expect(phone.show(notification)?.body == "New direct message")
        #expect(phone.show(notification)?.isPreview == false)
    }

    @Test func `on iOS it does not matter whether the app says that it opens previews`() async throws {
        let (phone, capability) = try await Stage.current.newPhone(opens: true)
        let preview = phone.seal(Self.preview, tag: tag(of: capability))
        let notification = try await ring(phone, capability, kind: "dm", preview: preview)
        #expect(phone.show(notification)?.isPreview == true)
        #expect(JSON(text: notification.payload)?["aps"]?["alert"] != nil)
    }

    @Test(arguments: [40, 41, 2047, 2048], PhonePlatform.allCases)
    func `a preview of any length that is allowed is passed on byte for byte`(
        length: Int, platform: PhonePlatform
    ) async throws {
        let (phone, capability) = try await Stage.current.newPhone(platform)
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let preview = String((0..<length).map { alphabet[$0 % 64] })
        let notification = try await ring(phone, capability, kind: "message", preview: preview)
        let payload = JSON(text: notification.payload)
        #expect((payload?["p"] ?? payload?["data"]?["p"])?.string == preview)
    }

    @Test func `each push has ids of its own, each server of a phone a tag of its own`() async throws {
        let stage = try Stage.current
        for platform in PhonePlatform.allCases {
            let (phone, first) = try await stage.newPhone(platform)
            let second = try await stage.relay.register(phone)
            #expect(first != second)
            for capability in [first, first, second] {
                #expect(try await stage.relay.push(capability).status == 202)
            }
            let notifications = stage.notifications(for: phone)
            #expect(Set(notifications.map(\.replacementKey)).count == 3)
            #expect(!notifications.contains { $0.isDouble || $0.replacesEarlier })
            #expect(notifications.map { phone.show($0)?.tag } == [first, first, second].map { tag(of: $0) })
            guard platform == .ios else { continue }
            #expect(Set(notifications.map(\.id)).count == 3)
            for id in notifications.map(\.id) {
                #expect(id.wholeMatch(of: /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/) != nil)
            }
        }
    }

    @Test(arguments: [64, 108, 160, 400])
    func `an Apple token is taken in either case and in any length that Apple has spoken of`(
        digits: Int
    ) async throws {
        let stage = try Stage.current
        let lower = SecureRandom.bytes(digits / 2).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        for token in [lower, lower.uppercased()] {
            let phone = SimulatedPhone(.ios, token: token, previewKey: SecureRandom.bytes(32))
            let capability = try await stage.relay.register(phone)
            #expect(try await stage.relay.push(capability).status == 202)
        }
        #expect(stage.simulator.deliveredCount(to: lower, platform: .ios) == 2)
    }

    @Test func `a capability that was taken back is unknown, and a new one of the same phone works`() async throws {
        let stage = try Stage.current
        for platform in PhonePlatform.allCases {
            let (phone, first) = try await stage.newPhone(platform)
            let other = try await stage.relay.register(phone)
            let removed = try await stage.relay.remove(first)
            #expect(removed.status == 204)
            #expect(removed.body == "")
            #expect(removed["content-type"] == nil)
            #expect(try await stage.relay.push(first).summary == "404 unknown_capability")
            #expect(try await stage.relay.remove(first).summary == "404 unknown_capability")
            let again = try await stage.relay.register(phone)
            #expect(try await stage.relay.push(again).status == 202)
            #expect(try await stage.relay.push(other).status == 202)
        }
    }

    // MARK: What the simulator saw

    private func request(to target: String) throws -> RequestRecord {
        let all = try Stage.current.simulator.books().requests.filter { $0.target == target }
        #expect(all.count == 1)
        return try #require(all.first)
    }

    private func expectProviderToken(_ request: RequestRecord) {
        #expect(request.method == "POST")
        let authorization = request.headers.filter { $0.name == "authorization" }.map(\.value)
        #expect(authorization.count == 1)
        #expect(authorization.first?.hasPrefix("bearer ") == true)
        let parts = authorization.first?.dropFirst(7).split(separator: ".").map { Base64URL.decode(String($0)) } ?? []
        #expect(parts.count == 3)
        let header = parts.first.flatMap { $0 }.flatMap { JSON($0) }
        let claims = parts.dropFirst().first.flatMap { $0 }.flatMap { JSON($0) }
        #expect(header?["alg"]?.string == "ES256")
        #expect(header?["kid"]?.string == "SIMKEY0001")
        #expect(claims?["iss"]?.string == "SIMTEAM001")
        #expect(claims?["iat"]?.integer != nil)
    }
}

extension JSON {
    /// The same with the members of every object by name.
    var sorted: JSON {
        switch self {
        case .object(let members):
            .object(members.map { Member($0.name, $0.value.sorted) }.sorted { $0.name < $1.name })
        case .array(let values): .array(values.map(\.sorted))
        case .null, .bool, .number, .string: self
        }
    }
}
