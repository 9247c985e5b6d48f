import Cryptography
import DeviceStore
import PushModel
import Testing

private let appleToken = String(repeating: "0a1b2c3d", count: 8)
private let googleToken = "c" + String(repeating: "Xy_-:.9", count: 20)

private func capability() -> Capability { Capability(randomBytes: SecureRandom.bytes32()) }

private func row(_ capability: Capability, _ platform: Platform) -> SealedRow {
    SealedRow(
        hash: CapabilityHash(of: capability), platform: platform, environment: .production, opensPreviews: false,
        registeredAt: WallInstant(milliseconds: 1_700_000_000_123))
}

@Suite(.timeLimit(.minutes(1)))
struct TokenSealingTests {
    private static let tokens: [(text: String, platform: Platform, sealedLength: Int)] = [
        (appleToken, .ios, 29 + 48),
        (String(repeating: "ab", count: 46), .ios, 29 + 48),
        (String(repeating: "ab", count: 47), .ios, 29 + 96),
        (String(repeating: "ab", count: 200), .ios, 29 + 384),
        (googleToken, .android, 29 + 192),
        (String(repeating: "x", count: 4096), .android, 29 + 6144),
        // What an older relay may have let in.
        (appleToken.uppercased(), .ios, 29 + 96),
        ("abc", .ios, 29 + 48),
        ("", .android, 29 + 48),
        ("tökén", .android, 29 + 48),
        ("ends in nul\0", .android, 29 + 48),
        ("deadbeef", .android, 29 + 48),
    ]

    @Test(arguments: tokens)
    func `a token comes back as it was, and its sealed length is one of a few`(
        text: String, platform: Platform, sealedLength: Int
    ) {
        let capability = capability()
        let secret = RelaySecret.generate()
        let row = row(capability, platform)
        let token = DeviceToken(unchecked: text, for: platform)
        let sealed = TokenSealing.seal(token, into: row, with: capability)
        #expect(sealed.count == sealedLength)
        #expect(TokenSealing.version(of: sealed.span) == .byCapability)
        #expect(TokenOpener().open(sealed.span, from: row, with: capability) == token)
        let older = TokenSealing.seal(token, into: row, with: secret)
        #expect(older.count == sealed.count)
        #expect(TokenSealing.version(of: older.span) == .byRelaySecret)
        #expect(TokenOpener().open(older.span, from: row, with: secret) == token)
    }

    @Test func `one opener opens many seals, and one that it does not open spoils none of them`() {
        let opener = TokenOpener()
        let stranger = capability()
        for (text, platform, _) in Self.tokens {
            let capability = capability()
            let row = row(capability, platform)
            let token = DeviceToken(unchecked: text, for: platform)
            let sealed = TokenSealing.seal(token, into: row, with: capability)
            #expect(opener.hash(of: capability) == row.hash)
            #expect(opener.open(sealed.span, from: row, with: stranger) == nil)
            #expect(opener.open(sealed.span, from: row, with: capability) == token)
            #expect(opener.open(Array(sealed.dropLast()).span, from: row, with: capability) == nil)
        }
    }

    @Test func `only the right key opens a seal, and each key only its own version`() {
        let capability = capability()
        let secret = RelaySecret.generate()
        let row = row(capability, .ios)
        let token = DeviceToken(unchecked: appleToken, for: .ios)
        let sealed = TokenSealing.seal(token, into: row, with: capability)
        let older = TokenSealing.seal(token, into: row, with: secret)
        let stranger = Capability(randomBytes: SecureRandom.bytes32())
        #expect(TokenOpener().open(sealed.span, from: row, with: stranger) == nil)
        #expect(TokenOpener().open(sealed.span, from: row, with: secret) == nil)
        #expect(TokenOpener().open(older.span, from: row, with: capability) == nil)
        #expect(TokenOpener().open(older.span, from: row, with: RelaySecret.generate()) == nil)
    }

    @Test func `a seal does not open in another row or a changed one`() {
        let capability = capability()
        let secret = RelaySecret.generate()
        let token = DeviceToken(unchecked: appleToken, for: .ios)
        let row = row(capability, .ios)
        let sealed = TokenSealing.seal(token, into: row, with: capability)
        let older = TokenSealing.seal(token, into: row, with: secret)
        var changed = Array(repeating: row, count: 5)
        changed[0].hash = CapabilityHash(of: Capability(randomBytes: SecureRandom.bytes32()))
        changed[1].platform = .android
        changed[2].environment = .sandbox
        changed[3].opensPreviews = true
        changed[4].registeredAt = WallInstant(milliseconds: row.registeredAt.milliseconds + 1)
        for other in changed {
            #expect(TokenOpener().open(sealed.span, from: other, with: capability) == nil)
            #expect(TokenOpener().open(older.span, from: other, with: secret) == nil)
        }
    }

    @Test func `no byte of a seal can be changed, taken away or added`() {
        let capability = capability()
        let row = row(capability, .ios)
        let sealed = TokenSealing.seal(DeviceToken(unchecked: appleToken, for: .ios), into: row, with: capability)
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 0x10
            #expect(TokenOpener().open(changed.span, from: row, with: capability) == nil)
            #expect(TokenOpener().open(Array(sealed.prefix(index)).span, from: row, with: capability) == nil)
        }
        #expect(TokenOpener().open((sealed + [0]).span, from: row, with: capability) == nil)
        #expect(TokenSealing.version(of: [UInt8]().span) == nil)
        #expect(TokenSealing.version(of: ([0] as [UInt8]).span) == nil)
    }

    @Test func `sealing twice gives two seals, and nothing of the token shows`() {
        let capability = capability()
        let row = row(capability, .ios)
        let token = DeviceToken(unchecked: appleToken, for: .ios)
        let seals = (0..<100).map { _ in TokenSealing.seal(token, into: row, with: capability) }
        #expect(Set(seals).count == 100)
        let packed: [UInt8] = [0x0a, 0x1b, 0x2c, 0x3d]
        for sealed in seals {
            #expect(sealed.firstRange(of: packed) == nil)
            #expect(sealed.firstRange(of: Array("0a1b".utf8)) == nil)
        }
    }

    @Test func `two texts that stand for the same bytes are two rows with two keys`() throws {
        let zeros = String(repeating: "A", count: 42)
        let first = try #require(Capability(Array("p_\(zeros)A".utf8)))
        let second = try #require(Capability(Array("p_\(zeros)B".utf8)))
        #expect(CapabilityHash(of: first) != CapabilityHash(of: second))
        let sealed = TokenSealing.seal(
            DeviceToken(unchecked: appleToken, for: .ios), into: row(first, .ios), with: first)
        #expect(TokenOpener().open(sealed.span, from: row(first, .ios), with: second) != nil)
        #expect(TokenOpener().open(sealed.span, from: row(second, .ios), with: second) == nil)
    }

    @Test func `a hash is that of the whole text and its tag the first sixteen digits`() throws {
        let text = "p_" + String(repeating: "A", count: 43)
        let hash = CapabilityHash(of: try #require(Capability(Array(text.utf8))))
        #expect(hash.digest == SHA256.hash(Array(text.utf8)))
        #expect(hash.tag.disclosed == String(hash.digest.hex.prefix(16)))
        #expect("\(hash)" == "(capability hash)")
    }
}
