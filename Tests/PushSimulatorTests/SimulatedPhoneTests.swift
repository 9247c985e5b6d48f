import Cryptography
import GrytPushPreview
import PushSimulator
import Testing

@Suite(.timeLimit(.minutes(1)))
struct SimulatedPhoneTests {
    private static let tag = "0123456789abcdef"
    private static let preview = Preview(title: "Anna", subtitle: "#général", body: "Tschüß \"🐙\"\n\\")

    private static func apns(tag: String = tag, mutable: Bool, preview: String?) -> JSON {
        var aps: [JSON.Member] = [.init("alert", ["title": "Gryt", "body": "New message"])]
        if mutable { aps.append(.init("mutable-content", 1)) }
        var members: [JSON.Member] = [.init("aps", .object(aps)), .init("c", .string(tag))]
        if let preview { members.append(.init("p", .string(preview))) }
        return .object(members)
    }

    private static let fixed = SimulatedPhone.Shown(
        title: "Gryt", subtitle: nil, body: "New message", tag: tag, isPreview: false)
    private static let opened = SimulatedPhone.Shown(
        title: preview.title, subtitle: preview.subtitle, body: preview.body, tag: tag, isPreview: true)

    @Test(arguments: PhonePlatform.allCases)
    func `a token has the form that the relay takes`(platform: PhonePlatform) {
        let token = SimulatedPhone(platform).token
        switch platform {
        case .ios: #expect(token.utf8.count == 64 && token.allSatisfy { $0.isHexDigit && !$0.isUppercase })
        case .android:
            #expect((120...200).contains(token.utf8.count))
            #expect(token.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "_:-".contains($0)) })
        }
    }

    @Test func `what is sealed has the form of a preview and opens with the right key and tag only`() {
        let phone = SimulatedPhone(.ios)
        let sealed = phone.seal(Self.preview, tag: Self.tag)
        #expect((40...2048).contains(sealed.utf8.count))
        #expect(Base64URL.decode(sealed)?.first == 1)
        #expect(phone.open(sealed, tag: Self.tag) == Self.preview)
        #expect(phone.open(sealed, tag: "fedcba9876543210") == nil)
        #expect(SimulatedPhone(.ios).open(sealed, tag: Self.tag) == nil)
        #expect(phone.open(String(sealed.dropLast(4)), tag: Self.tag) == nil)
        #expect(phone.open("B" + sealed.dropFirst(), tag: Self.tag) == nil)
        #expect(phone.seal(Self.preview, tag: Self.tag) != sealed)
    }

    @Test func `a preview that was sealed elsewhere opens`() {
        // Made by Python's cryptography package: key 00…1f, nonce 00…0b, tag 0123456789abcdef, {"t":"A","b":"B"}.
        let phone = SimulatedPhone(.ios, token: "ab", previewKey: Array(0..<32))
        #expect(
            phone.open("AQABAgMEBQYHCAkKCzwgojn_x4M5oWP1qYvLOk_-IA6asXisUUpSVW6k7WQ0Vg", tag: Self.tag)
                == Preview(title: "A", body: "B"))
    }

    @Test func `iOS opens a preview when the payload is mutable, and else shows the fixed text`() {
        let phone = SimulatedPhone(.ios)
        let sealed = phone.seal(Self.preview, tag: Self.tag)
        #expect(phone.show(payload: Self.apns(mutable: true, preview: sealed).text) == Self.opened)
        #expect(phone.show(payload: Self.apns(mutable: false, preview: sealed).text) == Self.fixed)
        #expect(phone.show(payload: Self.apns(mutable: true, preview: nil).text) == Self.fixed)
        #expect(phone.show(payload: Self.apns(mutable: true, preview: "x" + sealed).text) == Self.fixed)
        #expect(phone.show(payload: (["aps": ["content-available": 1]] as JSON).text) == nil)
    }

    @Test func `Android opens a preview in a message of nothing but data`() {
        let phone = SimulatedPhone(.android)
        let sealed = phone.seal(Self.preview, tag: Self.tag)
        let data: JSON = [
            "c": .string(Self.tag), "p": .string(sealed), "t": "Gryt", "b": "New message",
        ]
        let notification: JSON = ["title": "Gryt", "body": "New message"]
        let token = JSON.string(phone.token)
        #expect(phone.show(payload: (["token": token, "data": data] as JSON).text) == Self.opened)
        // The system shows what has a notification, and the app is not asked.
        #expect(
            phone.show(payload: (["token": token, "notification": notification, "data": data] as JSON).text)
                == Self.fixed)
        let spoilt: JSON = ["c": .string(Self.tag), "p": "AQ", "t": "Gryt", "b": "New message"]
        #expect(phone.show(payload: (["token": token, "data": spoilt] as JSON).text) == Self.fixed)
        #expect(phone.show(payload: (["token": token, "data": ["c": .string(Self.tag)]] as JSON).text) == nil)
    }

    @Test func `a preview comes through APNs and opens on the phone`() async throws {
        let fixture = try await Fixture.shared()
        let phone = SimulatedPhone(.ios)
        var request = fixture.apnsRequest(phone.token)
        request.body = Array(Self.apns(mutable: true, preview: phone.seal(Self.preview, tag: Self.tag)).text.utf8)
        #expect(try fixture.client(.apnsProduction).exchange(request).status == 200)
        let got = try await fixture.simulator.delivered(to: phone.token, platform: .ios)
        #expect(got.map { phone.show($0) } == [Self.opened])
        #expect(got[0].carriesPreview)
    }
}
