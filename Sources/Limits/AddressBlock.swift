/// A block of addresses: one address, or a CIDR block of them (RFC 4632, RFC 4291 section 2.3).
package struct AddressBlock: Sendable, Hashable {
    /// The first address of the block.
    package let first: ClientAddress
    /// How many leading bits an address shares with the block, from 0 to 128; an IPv4 block counts from 96.
    package let prefixLength: Int

    /// The block that holds one address.
    package init(_ address: ClientAddress) {
        first = address
        prefixLength = 128
    }

    /// Takes `address` or `address/length`; nil for anything else.
    ///
    /// The length is 0 to 32 behind an IPv4 address and 0 to 128 behind an IPv6 one, without leading zeros. Bits behind
    /// the length must be zero: `10.1.2.3/8` is more likely a slip than a wish.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = ClientAddress(parts[0]) else { return nil }
        guard parts.count == 2 else {
            self.init(address)
            return
        }
        var reader = AddressReader(parts[1])
        // `::ffff:10.0.0.0/104` is written as an IPv6 block and counts from 0; `10.0.0.0/8` from 96.
        let offset = parts[0].utf8.contains(UInt8(ascii: ":")) ? 0 : 96
        guard let length = reader.decimal(atMost: 3), reader.isAtEnd, String(length) == parts[1], offset + length <= 128
        else { return nil }
        let block = AddressBlock(uncheckedFirst: address, prefixLength: offset + length)
        guard block.contains(address) else { return nil }
        self = block
    }

    private init(uncheckedFirst first: ClientAddress, prefixLength: Int) {
        self.first = first
        self.prefixLength = prefixLength
    }

    /// Whether the address lies in the block. A block of IPv6 that reaches around `::ffff:0:0/96`, such as `::/0`, holds
    /// every IPv4 address too.
    package func contains(_ address: ClientAddress) -> Bool {
        mask(address) == first
    }

    private func mask(_ address: ClientAddress) -> ClientAddress {
        // Shifts by the whole width give 0, which is what a length of 0 asks for.
        let highMask = ~UInt64(0) << UInt64(64 - min(prefixLength, 64))
        let lowMask = ~UInt64(0) << UInt64(64 - max(prefixLength - 64, 0))
        return ClientAddress(high: address.high & highMask, low: address.low & lowMask)
    }
}
