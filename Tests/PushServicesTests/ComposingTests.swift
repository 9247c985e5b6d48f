import HTTP2Client
import PushModel
import PushServices
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ComposingTests {
    static let preview = SealedPreview(String(repeating: "A_-9", count: 10))
    static let id = PushID(high: 0x0123_4567_89AB_CDEF, low: 0xFEDC_BA98_7654_3210)

    static func notification(_ kind: Kind, _ preview: SealedPreview?) -> PushNotification {
        PushNotification(
            kind: kind, tag: CapabilityTag(firstBytesOfHash: 0x0A), preview: preview, id: id)
    }

    static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    static func android(opens: Bool, token: String = "abc:def") -> Device {
        Device(
            token: DeviceToken(unchecked: token, for: .android), environment: .production, opensPreviews: opens,
            registeredAt: WallInstant(milliseconds: 0))
    }

    @Test func `Apple gets the fixed text and the tag`() {
        #expect(
            Self.text(APNsPayload.compose(Self.notification(.mention, nil)))
                == #"{"aps":{"alert":{"title":"Gryt","body":"Someone mentioned you"},"sound":"default","thread-id":"000000000000000a"},"c":"000000000000000a"}"#
        )
    }

    @Test func `Apple gets the preview byte for byte, and starts the extension for it`() {
        #expect(
            Self.text(APNsPayload.compose(Self.notification(.dm, Self.preview)))
                == #"{"aps":{"alert":{"title":"Gryt","body":"New direct message"},"sound":"default","thread-id":"000000000000000a","mutable-content":1},"c":"000000000000000a","p":"A_-9A_-9A_-9A_-9A_-9A_-9A_-9A_-9A_-9A_-9"}"#
        )
    }

    @Test(arguments: [
        (String(repeating: "0f", count: 32), String(repeating: "0f", count: 32)),
        ("a b/c?d#e%f\r\n\u{0}\u{e9}", "a%20b%2Fc%3Fd%23e%25f%0D%0A%00%C3%A9"), ("A-._~9", "A-._~9"),
    ])
    func `no token of Apple's leaves its place in the path, whatever an older relay let in`(
        token: String, segment: String
    ) throws {
        let apple = ScriptedService.apple { _, _ in answer(200) }
        let request = APNsRequest.compose(
            payload: [], id: "", topic: "org.example", to: DeviceToken(unchecked: token, for: .ios),
            as: try #require(apple.tokens).current())
        #expect(request.path == "/3/device/" + segment)
    }

    @Test func `the longest preview fits into what Apple takes`() throws {
        let longest = try #require(SealedPreview(String(repeating: "x", count: 2048)))
        #expect(APNsPayload.compose(Self.notification(.mention, longest)).count < APNsPayload.maximumLength)
    }

    @Test func `Google gets the fixed text, under a tag of this push`() {
        #expect(
            Self.text(FCMMessage.compose(Self.notification(.message, nil), to: Self.android(opens: true)))
                == #"{"message":{"token":"abc:def","notification":{"title":"Gryt","body":"New message"},"android":{"priority":"high","notification":{"channel_id":"messages","sound":"default","tag":"01234567-89ab-4def-bedc-ba9876543210"}},"data":{"c":"000000000000000a"}}}"#
        )
    }

    @Test func `Google gets a preview beside the fixed text where the app does not open it itself`() {
        #expect(
            Self.text(FCMMessage.compose(Self.notification(.message, Self.preview), to: Self.android(opens: false)))
                .hasSuffix(#""data":{"c":"000000000000000a","p":"A_-9A_-9A_-9A_-9A_-9A_-9A_-9A_-9A_-9A_-9"}}}"#))
    }

    @Test func `Google gets data alone where the app opens the preview itself`() {
        #expect(
            Self.text(FCMMessage.compose(Self.notification(.dm, Self.preview), to: Self.android(opens: true)))
                == #"{"message":{"token":"abc:def","android":{"priority":"high"},"data":{"c":"000000000000000a","p":"A_-9A_-9A_-9A_-9A_-9A_-9A_-9A_-9A_-9A_-9","t":"Gryt","b":"New direct message"}}}"#
        )
    }

    @Test func `Google is told to look only where that is asked for`() {
        let plain = Self.text(FCMMessage.compose(Self.notification(.message, nil), to: Self.android(opens: false)))
        let looking = Self.text(
            FCMMessage.compose(Self.notification(.message, nil), to: Self.android(opens: false), validateOnly: true))
        #expect(looking == #"{"validate_only":true,"# + plain.dropFirst())
    }

    @Test func `a token that an older relay let in cannot break the JSON`() {
        let message = Self.text(
            FCMMessage.compose(
                Self.notification(.dm, nil), to: Self.android(opens: false, token: "a\"b\\c\u{1}")))
        #expect(message.hasPrefix(#"{"message":{"token":"a\"b\\c\u0001","notification""#))
    }
}
