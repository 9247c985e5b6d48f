import Limits
import Testing

private func parsed(_ text: String) -> [UInt64]? {
    ClientAddress(text).map { [$0.high, $0.low] }
}

@Suite(.timeLimit(.minutes(1)))
struct ClientAddressTests {
    @Test(arguments: [
        ("0.0.0.0", 0xFFFF_0000_0000 as UInt64), ("192.0.2.1", 0xFFFF_C000_0201), ("255.255.255.255", 0xFFFF_FFFF_FFFF),
    ])
    func `an IPv4 address is read`(text: String, low: UInt64) {
        #expect(parsed(text) == [0, low])
        #expect(ClientAddress(text)?.isIPv4 == true)
        #expect(ClientAddress(text) == ClientAddress(ipv4: UInt32(truncatingIfNeeded: low)))
    }

    @Test(
        arguments: [
            ("::", 0, 0), ("::1", 0, 1), ("1::", 1 << 48, 0),
            ("2001:db8::8:800:200C:417A", 0x2001_0DB8_0000_0000, 0x0008_0800_200C_417A),
            ("2001:DB8:0:0:8:800:200C:417A", 0x2001_0DB8_0000_0000, 0x0008_0800_200C_417A),
            ("1:2:3:4:5:6:7:8", 0x0001_0002_0003_0004, 0x0005_0006_0007_0008),
            ("1:2:3:4:5:6:7::", 0x0001_0002_0003_0004, 0x0005_0006_0007_0000),
            ("::2:3:4:5:6:7:8", 0x0000_0002_0003_0004, 0x0005_0006_0007_0008),
            ("1:2:3::5:6:7:8", 0x0001_0002_0003_0000, 0x0005_0006_0007_0008),
            ("::13.1.68.3", 0, 0x0D01_4403), ("::FFFF:129.144.52.38", 0, 0xFFFF_8190_3426),
            ("::ffff:8190:3426", 0, 0xFFFF_8190_3426),
            ("0:0:0:0:0:ffff:129.144.52.38", 0, 0xFFFF_8190_3426),
            ("64:ff9b::192.0.2.33", 0x0064_FF9B_0000_0000, 0xC000_0221),
            ("1:2:3:4:5:6:1.2.3.4", 0x0001_0002_0003_0004, 0x0005_0006_0102_0304), ("0001:0::0000", 1 << 48, 0),
            ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", .max, .max),
        ] as [(String, UInt64, UInt64)])
    func `an IPv6 address is read in every form of RFC 4291`(text: String, high: UInt64, low: UInt64) {
        #expect(parsed(text) == [high, low])
    }

    @Test(arguments: [
        "", " ", "1", "1.2.3", "1.2.3.4.5", "1.2.3.256", "1.2.3.", ".1.2.3", "1..2.3", "01.2.3.4", "1.2.3.00",
        "1.2.3.4 ", " 1.2.3.4",
        "1.2.3.-4", "+1.2.3.4", "0x1.2.3.4", "1.2.3.4:80", "[::1]", "[::1]:80", ":", ":::", "::1::", "1::2::3",
        "1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "::1:2:3:4:5:6:7:8", "1:2:3:4::5:6:7:8", ":1:2:3:4:5:6:7:8",
        "1:2:3:4:5:6:7:", "1:", "::1:", "1::2:",
        "12345::", "g::", "::1%eth0", "fe80::1%1", "::1.2.3", "::1.2.3.4.5", "::1.2.3.4:5", "1:2:3:4:5:6:7:1.2.3.4",
        "1.2.3.4::", "::01.2.3.4",
        "1.2.3.4\n", "1.2.3.4\0", "unknown", "localhost", "１.2.3.4", "::/0",
    ])
    func `anything else is no address`(text: String) {
        #expect(ClientAddress(text) == nil)
    }

    @Test func `a mapped address is the IPv4 address itself`() {
        #expect(ClientAddress("::ffff:192.0.2.1") == ClientAddress("192.0.2.1"))
        #expect(ClientAddress("::ffff:192.0.2.1")?.bucket == ClientAddress("192.0.2.1"))
        #expect(ClientAddress("::192.0.2.1") != ClientAddress("192.0.2.1"))
    }

    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1"), ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2:ffff::", "2001:db8:1:2::"),
        ("2001:db8:1:3::1", "2001:db8:1:3::"), ("::1", "::"),
    ])
    func `a bucket is an IPv4 address or an IPv6 slash 64`(text: String, bucket: String) {
        #expect(ClientAddress(text)?.bucket == ClientAddress(bucket))
    }

    @Test func `an address does not print`() throws {
        let address = try #require(ClientAddress("192.0.2.1"))
        var dumped = ""
        dump(address, to: &dumped)
        for text in ["\(address)", String(reflecting: address), dumped, "\([address])", "\(Optional(address) as Any)"] {
            #expect(text.contains("(address)"))
            #expect(!text.contains(where: \.isNumber) || text == dumped)
        }
        #expect(!dumped.contains("low"))
        #expect(!dumped.contains("281473902969345"))
    }
}

@Suite(.timeLimit(.minutes(1)))
struct AddressBlockTests {
    @Test(arguments: [
        ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.0", false), ("10.0.0.0/8", "::ffff:10.0.0.1", true),
        ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false), ("192.0.2.1/32", "192.0.2.0", false),
        ("0.0.0.0/0", "203.0.113.9", true), ("0.0.0.0/0", "2001:db8::1", false), ("::/0", "203.0.113.9", true),
        ("::/0", "2001:db8::1", true), ("2001:db8::/32", "2001:db8:ffff::1", true),
        ("2001:db8::/32", "2001:db9::", false),
        ("2001:db8::1/128", "2001:db8::2", false), ("fc00::/7", "fdff::1", true), ("fc00::/7", "fe00::1", false),
        ("2001:db8:0:0:8000::/65", "2001:db8::8000:0:0:1", true), ("2001:db8:0:0:8000::/65", "2001:db8::1", false),
        ("::ffff:10.0.0.0/104", "10.9.9.9", true), ("2001:db8::/64", "2001:db8::ffff", true),
        ("172.16.0.0/12", "172.31.255.255", true),
        ("172.16.0.0/12", "172.32.0.0", false),
    ])
    func `a block holds the addresses that share its bits`(block: String, address: String, isInside: Bool) throws {
        let block = try #require(AddressBlock(block))
        #expect(block.contains(try #require(ClientAddress(address))) == isInside)
    }

    @Test(arguments: [
        "", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/08", "10.0.0.0/8/8", "10.0.0.0/ 8",
        "10.1.2.3/8",
        "2001:db8::/129", "2001:db8::1/64", "10.0.0.0/255.0.0.0", "10.0.0.0/1000", "10.0.0.0/８", "example.org",
        "[::]/0",
    ])
    func `anything else is no block`(text: String) {
        #expect(AddressBlock(text) == nil)
    }
}
