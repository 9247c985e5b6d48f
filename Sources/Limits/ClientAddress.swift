/// An IPv4 or IPv6 address of somebody who asks something of the relay. It identifies a server, so it does not print.
///
/// Sixteen bytes, IPv4 in its mapped form (RFC 4291 section 2.5.5.2), so that `::ffff:192.0.2.1` *is* `192.0.2.1`.
package struct ClientAddress: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The first eight bytes, the first of them in the most significant place.
    package let high: UInt64
    /// The last eight bytes, likewise.
    package let low: UInt64

    /// The IPv6 address of these sixteen bytes; an IPv4 address where they are a mapped one.
    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// The IPv4 address of these four bytes, the first in the most significant place.
    package init(ipv4: UInt32) {
        self.init(high: 0, low: 0xFFFF_0000_0000 | UInt64(ipv4))
    }

    /// Takes an address as text and nothing around it; nil for anything else.
    ///
    /// IPv4 is four decimal numbers without leading zeros, which some readers take for octal. IPv6 is any form of
    /// RFC 4291 section 2.2. A zone (`fe80::1%eth0`) is refused: it means something only on the machine that wrote it.
    package init?(_ text: some StringProtocol) {
        var reader = AddressReader(text)
        guard let address = reader.address(), reader.isAtEnd else { return nil }
        self = address
    }

    /// Takes an entry of `X-Forwarded-For`: an address, with a port behind it or in brackets where a proxy wrote them so.
    /// The port is dropped. Nil for anything else, `unknown` and obfuscated names among it.
    init?(forwardedEntry text: some StringProtocol) {
        let bytes = Array(text.utf8)
        self.init(forwardedEntry: bytes, in: bytes.indices)
    }

    /// The same for a part of some bytes.
    init?(forwardedEntry bytes: [UInt8], in range: Range<Int>) {
        var reader = AddressReader(bytes, in: range)
        if reader.take(UInt8(ascii: "[")) {
            guard let address = reader.ipv6(), reader.take(UInt8(ascii: "]")) else { return nil }
            self = address
        } else {
            guard let address = reader.address() else { return nil }
            self = address
        }
        if reader.isAtEnd { return }
        guard reader.take(UInt8(ascii: ":")), let port = reader.decimal(atMost: 5), port <= 65_535, reader.isAtEnd
        else {
            return nil
        }
    }

    /// Whether it is an IPv4 address, mapped or not.
    package var isIPv4: Bool { high == 0 && low >> 32 == 0xFFFF }

    /// What limits count: an IPv4 address itself, or the first address of an IPv6 /64, which one host commands whole.
    package var bucket: ClientAddress {
        isIPv4 ? self : ClientAddress(high: high, low: 0)
    }

    package var description: String { "(address)" }
    package var debugDescription: String { "(address)" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Reads addresses off the front of a text, byte by byte, strictly.
struct AddressReader {
    private let bytes: [UInt8]
    private var position: Int
    private let end: Int

    /// Reads a whole text.
    init(_ text: some StringProtocol) {
        let bytes = Array(text.utf8)
        self.init(bytes, in: bytes.indices)
    }

    /// Reads a part of some bytes.
    init(_ bytes: [UInt8], in range: Range<Int>) {
        self.bytes = bytes
        position = range.lowerBound
        end = range.upperBound
    }

    /// Whether all has been read.
    var isAtEnd: Bool { position == end }

    /// An IPv4 address, or an IPv6 address without brackets.
    mutating func address() -> ClientAddress? {
        let start = position
        if let ipv4 = ipv4() { return ClientAddress(ipv4: ipv4) }
        position = start
        return ipv6()
    }

    /// Takes the byte if it comes next.
    mutating func take(_ byte: UInt8) -> Bool {
        guard position < end, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    /// One or more digits, as many as there are but no more than `most`.
    mutating func decimal(atMost most: Int) -> Int? {
        let start = position
        var value = 0
        while position < end, bytes[position] >= UInt8(ascii: "0"), bytes[position] <= UInt8(ascii: "9") {
            guard position - start < most else { return nil }
            value = value * 10 + Int(bytes[position] - UInt8(ascii: "0"))
            position += 1
        }
        return position > start ? value : nil
    }

    mutating func ipv4() -> UInt32? {
        var value: UInt32 = 0
        for part in 0..<4 {
            if part > 0, !take(UInt8(ascii: ".")) { return nil }
            let start = position
            guard let number = decimal(atMost: 3), number <= 255 else { return nil }
            if bytes[start] == UInt8(ascii: "0"), position - start > 1 { return nil }
            value = value << 8 | UInt32(number)
        }
        return value
    }

    mutating func ipv6() -> ClientAddress? {
        var groups: [UInt16] = []
        /// Where `::` stands, as a count of the groups before it.
        var gap = takePair() ? 0 : nil as Int?
        var mustFollow = gap == nil
        while groups.count < 8 {
            let start = position
            if groups.count <= 6, let ipv4 = ipv4() {
                groups += [UInt16(ipv4 >> 16), UInt16(truncatingIfNeeded: ipv4)]
                break
            }
            position = start
            guard let group = group() else {
                guard !mustFollow else { return nil }
                break
            }
            groups.append(group)
            if takePair() {
                guard gap == nil else { return nil }
                gap = groups.count
                mustFollow = false
            } else if groups.count < 8, take(UInt8(ascii: ":")) {
                mustFollow = true
            } else {
                break
            }
        }
        if let gap {
            guard groups.count < 8 else { return nil }
            groups.insert(contentsOf: [UInt16](repeating: 0, count: 8 - groups.count), at: gap)
        }
        guard groups.count == 8 else { return nil }
        return ClientAddress(high: eightBytes(of: groups[..<4]), low: eightBytes(of: groups[4...]))
    }

    /// One to four hex digits.
    private mutating func group() -> UInt16? {
        let start = position
        var value: UInt16 = 0
        while position < end, let digit = hexValue(bytes[position]) {
            guard position - start < 4 else { return nil }
            value = value << 4 | digit
            position += 1
        }
        return position > start ? value : nil
    }

    private mutating func takePair() -> Bool {
        let colon = UInt8(ascii: ":")
        guard position + 1 < end, bytes[position] == colon, bytes[position + 1] == colon else { return false }
        position += 2
        return true
    }

    private func hexValue(_ byte: UInt8) -> UInt16? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt16(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt16(byte - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt16(byte - UInt8(ascii: "A") + 10)
        default: nil
        }
    }

    private func eightBytes(of groups: ArraySlice<UInt16>) -> UInt64 {
        groups.reduce(0) { $0 << 16 | UInt64($1) }
    }
}
