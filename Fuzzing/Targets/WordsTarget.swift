import Cryptography
import Glibc
import PushModel

@testable import DeviceStore
@testable import Limits

/// What else comes from outside or from the disk: addresses and forwarding headers, capabilities, sealed tokens, the
/// relay's secret.
enum WordsTarget {
    static func take(_ bytes: [UInt8]) {
        let text = bytes.text
        checkAddress(text)
        checkProxies(text)
        checkCapability(bytes)
        checkSeal(bytes)
        _ = try? RelaySecret(text: text)
    }

    // MARK: Addresses

    /// Against `inet_pton`, which takes the same forms (POSIX; RFC 4291 section 2.2).
    private static func checkAddress(_ text: String) {
        let mine = ClientAddress(text)
        if !text.utf8.contains(0) {
            let other = systemAddress(text)
            expect(mine?.high == other?.high && mine?.low == other?.low, "an address is what the system takes it for")
        } else {
            expect(mine == nil, "no address has a zero byte")
        }
        if let mine {
            expect("\(mine)" == "(address)", "an address does not print")
            expect(mine.bucket.bucket == mine.bucket, "a bucket is its own")
            guard let block = AddressBlock(text) else { fail("an address is a block of one") }
            expect(block.contains(mine), "a block holds its address")
        }
        if let block = AddressBlock(text) { expect(block.contains(block.first), "a block holds its first address") }
    }

    private static func systemAddress(_ text: String) -> (high: UInt64, low: UInt64)? {
        var four = in_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            return (0, 0xFFFF_0000_0000 | UInt64(UInt32(bigEndian: four.s_addr)))
        }
        var six = [UInt8](repeating: 0, count: 16)
        guard inet_pton(AF_INET6, text, &six) == 1 else { return nil }
        let halves = [six[..<8], six[8...]].map { $0.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
        return (halves[0], halves[1])
    }

    private static func checkProxies(_ text: String) {
        let peer = ClientAddress(ipv4: 0x0A00_0001)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let believed = TrustedProxies(
            isTrusting: true, blocks: [AddressBlock(peer)], headers: ForwardingHeader.allCases)
        let client = believed.client(peer: peer) { name in name == "x-forwarded-for" ? lines : [] }
        if client != peer {
            // It is the right-most entry that is not the proxy's own, or nothing readable stands to its right.
            let entries = lines.joined(separator: ",").split(separator: ",")
            let named = entries.compactMap { ClientAddress(forwardedEntry: trimmed($0)) }
            expect(named.contains(client), "a client is one of those that are named")
            expect(named.last { $0 != peer } == client, "a client is the nearest stranger")
        }
        let distrusted = TrustedProxies(
            isTrusting: true, blocks: [AddressBlock(ClientAddress(ipv4: 1))], headers: ForwardingHeader.allCases)
        expect(distrusted.client(peer: peer) { _ in lines } == peer, "a stranger's headers do not count")
        expect(TrustedProxies.none.client(peer: peer) { _ in lines } == peer, "without trust no header counts")
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text
        while let first = text.utf8.first, first == 0x20 || first == 0x09 { text.unicodeScalars.removeFirst() }
        while let last = text.utf8.last, last == 0x20 || last == 0x09 { text.unicodeScalars.removeLast() }
        return text
    }

    // MARK: Capabilities and seals

    private static func checkCapability(_ bytes: [UInt8]) {
        let isOne =
            bytes.count == 45 && bytes.starts(with: "p_".utf8)
            && bytes.dropFirst(2).allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: true
                default: false
                }
            }
        let capability = Capability(bytes)
        expect((capability != nil) == isOne, "a capability is p_ and 43 characters of base64url")
        if let capability {
            expect(Array(capability.disclosed.utf8) == bytes, "a capability stays what it is")
            expect("\(capability)" == "p_…", "a capability does not print")
        }
    }

    private static let capability = Capability(randomBytes: InlineArray(repeating: 7))
    private static let row = SealedRow(
        hash: CapabilityHash(of: capability), platform: .android, environment: .production, opensPreviews: true,
        registeredAt: WallInstant(milliseconds: 1_700_000_000_000))
    private static let token = DeviceToken(unchecked: String(repeating: "a:B-", count: 40), for: .android)
    private static let sealed = TokenSealing.seal(token, into: row, with: capability)

    private static func checkSeal(_ bytes: [UInt8]) {
        _ = TokenSealing.version(of: bytes.span)
        let opener = TokenOpener()
        expect(opener.open(bytes.span, from: row, with: capability) == nil, "nobody makes a seal by chance")
        // A good seal with the input laid over its front: any change must show.
        var spoilt = sealed
        for (index, byte) in bytes.prefix(sealed.count).enumerated() { spoilt[index] ^= byte }
        let opened = opener.open(spoilt.span, from: row, with: capability)
        expect((opened != nil) == (spoilt == sealed), "a seal opens only as it was made")
        if let opened { expect(opened == token, "a seal holds what was put in") }
        // What is inside, as if the seal had held.
        for platform in Platform.allCases {
            if let token = TokenPlaintext.decode(bytes.span, for: platform) {
                let again = TokenPlaintext.decode(TokenPlaintext.encode(token).span, for: platform)
                expect(again == token, "a token stays what it is")
            }
            let text = DeviceToken(unchecked: bytes.text, for: platform)
            let decoded = TokenPlaintext.decode(TokenPlaintext.encode(text).span, for: platform)
            expect(decoded == text, "every token that an older relay kept comes back")
        }
    }
}
