import Limits
import Testing

/// One request behind proxies, and whose it is.
private struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var proxies: [String]? = []
    var headers: [ForwardingHeader] = [.cfConnectingIP, .xForwardedFor]
    var peer = "10.0.0.1"
    var cf: [String] = []
    var xff: [String] = []
    var client: String
}

private let cases: [Case] = [
    Case(
        testDescription: "no trust: headers from the net are forged", proxies: nil, peer: "203.0.113.9",
        cf: ["1.2.3.4"], xff: ["1.2.3.4"], client: "203.0.113.9"),
    Case(
        testDescription: "a peer outside the list is not believed", proxies: ["10.0.0.0/8"], peer: "203.0.113.9",
        cf: ["1.2.3.4"], xff: ["1.2.3.4"], client: "203.0.113.9"),
    Case(
        testDescription: "a peer in the list is", proxies: ["10.0.0.0/8"], xff: ["198.51.100.7"], client: "198.51.100.7"
    ),
    Case(
        testDescription: "a mapped peer is in an IPv4 list", proxies: ["10.0.0.0/8"], peer: "::ffff:10.0.0.1",
        xff: ["198.51.100.7"], client: "198.51.100.7"),
    Case(
        testDescription: "an empty list believes any peer", peer: "203.0.113.9", xff: ["198.51.100.7"],
        client: "198.51.100.7"),
    Case(
        testDescription: "with an empty list the right-most entry counts", xff: ["1.2.3.4, 10.0.0.9"],
        client: "10.0.0.9"),
    Case(
        testDescription: "a forged entry on the left is not reached", proxies: ["10.0.0.0/8"],
        xff: ["1.2.3.4, 198.51.100.7"], client: "198.51.100.7"),
    Case(
        testDescription: "trusted proxies on the right are walked over", proxies: ["10.0.0.0/8", "192.0.2.1"],
        xff: ["1.2.3.4, 198.51.100.7, 192.0.2.1, 10.0.0.2"], client: "198.51.100.7"),
    Case(
        testDescription: "several lines are one list", proxies: ["10.0.0.0/8"],
        xff: ["1.2.3.4", "198.51.100.7", "10.0.0.2"], client: "198.51.100.7"),
    Case(
        testDescription: "a forged first line is not reached", proxies: ["10.0.0.0/8"],
        xff: ["1.2.3.4", "198.51.100.7"], client: "198.51.100.7"),
    Case(
        testDescription: "where all are trusted the left-most is the client", proxies: ["10.0.0.0/8"],
        xff: ["10.0.0.5, 10.0.0.2"], client: "10.0.0.5"),
    Case(
        testDescription: "an entry that is no address ends the walk at the last proxy", proxies: ["10.0.0.0/8"],
        xff: ["1.2.3.4, unknown, 10.0.0.2"], client: "10.0.0.2"),
    Case(
        testDescription: "an entry that is no address on the right leaves the peer", proxies: ["10.0.0.0/8"],
        xff: ["1.2.3.4, unknown"], client: "10.0.0.1"),
    Case(
        testDescription: "a hidden name is no address", proxies: ["10.0.0.0/8"], xff: ["1.2.3.4, _hidden"],
        client: "10.0.0.1"),
    Case(
        testDescription: "empty elements and blanks do not count", proxies: ["10.0.0.0/8"],
        xff: [" 1.2.3.4 ,\t198.51.100.7 , ,", ""], client: "198.51.100.7"),
    Case(testDescription: "a port is dropped", xff: ["198.51.100.7:4711"], client: "198.51.100.7"),
    Case(testDescription: "brackets and a port are dropped", xff: ["[2001:db8::1]:4711"], client: "2001:db8::1"),
    Case(testDescription: "brackets alone are dropped", xff: ["[2001:db8::1]"], client: "2001:db8::1"),
    Case(testDescription: "IPv6 without brackets has no port", xff: ["2001:db8::1:4711"], client: "2001:db8::1:4711"),
    Case(testDescription: "a port that cannot be is no address", xff: ["198.51.100.7:70000"], client: "10.0.0.1"),
    Case(testDescription: "a port without digits is no address", xff: ["198.51.100.7:"], client: "10.0.0.1"),
    Case(testDescription: "IPv4 in brackets is no address", xff: ["[198.51.100.7]:80"], client: "10.0.0.1"),
    Case(testDescription: "a bracket without its other is no address", xff: ["[2001:db8::1"], client: "10.0.0.1"),
    Case(testDescription: "a zone is no address", xff: ["fe80::1%eth0"], client: "10.0.0.1"),
    Case(testDescription: "a mapped entry is the IPv4 address", xff: ["::ffff:198.51.100.7"], client: "198.51.100.7"),
    Case(
        testDescription: "a mapped trusted proxy is walked over", proxies: ["10.0.0.0/8"],
        xff: ["198.51.100.7, ::ffff:10.0.0.2"], client: "198.51.100.7"),
    Case(
        testDescription: "Cloudflare's header comes first", proxies: ["10.0.0.0/8"], cf: ["198.51.100.7"],
        xff: ["203.0.113.5"], client: "198.51.100.7"),
    Case(
        testDescription: "Cloudflare's header is not believed where it is not asked for", proxies: ["10.0.0.0/8"],
        headers: [.xForwardedFor], cf: ["1.2.3.4"], xff: ["198.51.100.7"], client: "198.51.100.7"),
    Case(
        testDescription: "the other order is obeyed", headers: [.xForwardedFor, .cfConnectingIP], cf: ["1.2.3.4"],
        xff: ["198.51.100.7"], client: "198.51.100.7"),
    Case(
        testDescription: "two of Cloudflare's headers are passed over", cf: ["1.2.3.4", "198.51.100.7"],
        xff: ["203.0.113.5"], client: "203.0.113.5"),
    Case(
        testDescription: "a list in Cloudflare's header is passed over", cf: ["1.2.3.4, 198.51.100.7"],
        xff: ["203.0.113.5"], client: "203.0.113.5"),
    Case(testDescription: "Cloudflare's header takes no port", cf: ["198.51.100.7:80"], client: "10.0.0.1"),
    Case(testDescription: "no header leaves the peer", client: "10.0.0.1"),
    Case(testDescription: "an empty header leaves the peer", cf: [""], xff: [""], client: "10.0.0.1"),
    Case(
        testDescription: "no header believed leaves the peer", headers: [], cf: ["1.2.3.4"], xff: ["1.2.3.4"],
        client: "10.0.0.1"),
]

@Suite(.timeLimit(.minutes(1)))
struct TrustedProxiesTests {
    @Test(arguments: cases)
    private func `the client is found`(of request: Case) throws {
        let blocks = try (request.proxies ?? []).map { try #require(AddressBlock($0)) }
        let proxies = TrustedProxies(isTrusting: request.proxies != nil, blocks: blocks, headers: request.headers)
        let peer = try #require(ClientAddress(request.peer))
        let client = proxies.client(peer: peer) { name in
            switch name {
            case "cf-connecting-ip": request.cf
            case "x-forwarded-for": request.xff
            default: []
            }
        }
        // Compared as booleans, because an address does not print.
        #expect((client == ClientAddress(request.client)) == true)
    }

    @Test func `headers of a peer that is not believed are not even read`() throws {
        let proxies = TrustedProxies(
            isTrusting: true, blocks: [AddressBlock(ClientAddress(ipv4: 1))], headers: [.xForwardedFor])
        let peer = ClientAddress(ipv4: 2)
        let client = proxies.client(peer: peer) { name in
            Issue.record("\(name) was read")
            return []
        }
        #expect(client == peer)
    }
}
