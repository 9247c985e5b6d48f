import PushModel
import Testing

/// Every way in which a value may end up in a log line or a crash message.
private func printed(_ value: Any) -> String {
    var text = ""
    dump(value, to: &text)
    print(value, [value], ["k": value], Optional(value) as Any, to: &text)
    debugPrint(value, [value], ["k": value], Optional(value) as Any, to: &text)
    text += "\(value)" + String(describing: value) + String(reflecting: value)
    text += "\(Array(Mirror(reflecting: value).children))"
    return text
}

@Suite(.timeLimit(.minutes(1)))
struct PrintingTests {
    private static let capabilityText = "p_" + String(repeating: "Q", count: 43)
    private static let tokenText = String(repeating: "ab12", count: 16)
    private static let previewText = String(repeating: "preview1", count: 8)

    @Test func `nothing secret prints, alone or inside of something`() throws {
        let capability = try #require(Capability(Array(Self.capabilityText.utf8)))
        let token = try #require(DeviceToken(Self.tokenText, for: .ios))
        let tag = CapabilityTag(firstBytesOfHash: 0x1234_5678_9ABC_DEF0)
        let preview = try #require(SealedPreview(Self.previewText))
        let device = Device(
            token: token, environment: .production, opensPreviews: false, registeredAt: WallInstant(milliseconds: 7))
        let push = PushNotification(kind: .dm, tag: tag, preview: preview, id: PushID(high: 1, low: 2))
        for value in [capability, token, tag, preview, device, push, (capability, token)] as [Any] {
            let text = printed(value)
            for secret in ["QQQ", "ab12", "12345678", "preview1", "81, 81"] {
                #expect(!text.contains(secret), "\(type(of: value))")
            }
        }
    }

    @Test func `what is to be disclosed is disclosed to whoever asks by that word`() throws {
        #expect(try #require(Capability(Array(Self.capabilityText.utf8))).disclosed == Self.capabilityText)
        #expect(try #require(DeviceToken(Self.tokenText, for: .ios)).disclosed == Self.tokenText)
        #expect(try #require(SealedPreview(Self.previewText)).disclosed == Self.previewText)
    }
}
