/// A header by which a proxy says whose request it passes on. Raw values are the names, in lower case.
package enum ForwardingHeader: String, Sendable, CaseIterable {
    /// One address. Cloudflare sets it and overwrites what came from outside; any other proxy passes a forged one on.
    case cfConnectingIP = "cf-connecting-ip"
    /// A list to which each proxy adds, on the right, the address it was asked from.
    case xForwardedFor = "x-forwarded-for"
}

/// Decides whose request it is: the peer's of the connection, or somebody's that a proxy names.
///
/// What it believes comes from the operator alone; with `isTrusting` false no header is looked at.
package struct TrustedProxies: Sendable, Equatable {
    /// Whether forwarding headers count at all.
    package var isTrusting: Bool
    /// Whose headers count. Empty means every peer's, which is safe only where nobody but the proxy can connect.
    package var blocks: [AddressBlock]
    /// The headers that count, in the order in which they are tried.
    package var headers: [ForwardingHeader]

    package init(isTrusting: Bool, blocks: [AddressBlock], headers: [ForwardingHeader]) {
        self.isTrusting = isTrusting
        self.blocks = blocks
        self.headers = headers
    }

    /// Believes nobody.
    package static let none = TrustedProxies(isTrusting: false, blocks: [], headers: [])

    /// The address whose request this is. `headerValues` gives the value of each line of a header, in order, for a name
    /// in lower case; it is asked only when the peer is believed.
    ///
    /// A `CF-Connecting-IP` that stands in several lines or is no address is passed over, and the next header is tried:
    /// whoever can spoil it could as well have left it out, so this gives nobody anything new.
    package func client(peer: ClientAddress, headerValues: (String) -> [String]) -> ClientAddress {
        guard believes(peer) else { return peer }
        for header in headers {
            let values = headerValues(header.rawValue)
            let named =
                switch header {
                case .cfConnectingIP: singleAddress(values)
                case .xForwardedFor: nearestStranger(values)
                }
            if let named { return named }
        }
        return peer
    }

    /// Whether this peer's forwarding headers count.
    package func believes(_ peer: ClientAddress) -> Bool { isTrusting && (blocks.isEmpty || isTrusted(peer)) }

    private func isTrusted(_ address: ClientAddress) -> Bool {
        blocks.contains { $0.contains(address) }
    }

    private func singleAddress(_ values: [String]) -> ClientAddress? {
        guard values.count == 1 else { return nil }
        return ClientAddress(trimmed(values[0][...]))
    }

    /// Walks the list from the right, over every trusted proxy, to the first address that is none.
    ///
    /// An entry that is no address ends the walk, because everything to its left came through somebody who writes such
    /// entries; the last proxy walked over is the answer then, and also when all of them are trusted. Nil when there is
    /// nothing to walk over. Empty elements do not count (RFC 9110 section 5.6.1.2).
    private func nearestStranger(_ values: [String]) -> ClientAddress? {
        var last: ClientAddress?
        for value in values.reversed() {
            let bytes = Array(value.utf8)
            var end = bytes.count
            while end >= 0 {
                let comma = bytes[..<end].lastIndex(of: UInt8(ascii: ","))
                var entry = (comma.map { $0 + 1 } ?? 0)..<end
                end = comma ?? -1
                while let first = entry.first, bytes[first].isBlank { entry.removeFirst() }
                while let last = entry.last, bytes[last].isBlank { entry.removeLast() }
                if entry.isEmpty { continue }
                guard let address = ClientAddress(forwardedEntry: bytes, in: entry) else { return last }
                guard isTrusted(address) else { return address }
                last = address
            }
        }
        return last
    }

    private func trimmed(_ text: Substring) -> Substring {
        guard let first = text.utf8.firstIndex(where: { !$0.isBlank }),
            let last = text.utf8.lastIndex(where: { !$0.isBlank })
        else { return "" }
        return text[first...last]
    }
}

extension UInt8 {
    fileprivate var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
}
