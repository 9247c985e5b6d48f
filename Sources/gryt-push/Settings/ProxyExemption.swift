import Limits

/// One entry of `NO_PROXY`: hosts that are reached without the proxy.
///
/// As most programs read it: `*` is everything; a name is itself and what is below it; with a dot (or `*.`) in front it
/// is only what is below it; an address is itself, and a CIDR block the addresses in it. A port behind it narrows it to
/// that port. Names are not looked up, so an address matches only where a setting has an address.
struct ProxyExemption: Sendable, Equatable {
    /// What an entry may be, for the line about one that is not.
    static let form =
        "*, a name, .a-suffix or an address, with or without :port, nor a CIDR block with no bits behind its length"

    private enum Hosts: Equatable {
        case all
        /// A name in lower case, without a dot in front.
        case name(String)
        /// The same, without the name itself.
        case below(String)
        case block(AddressBlock)
    }

    private let hosts: Hosts
    /// Nil: any port.
    private let port: Int?

    /// Takes one entry; nil when it is none.
    init?(_ text: some StringProtocol) {
        guard text != "*" else {
            hosts = .all
            port = nil
            return
        }
        if let block = AddressBlock(text) {
            hosts = .block(block)
            port = nil
            return
        }
        var rest = Substring(text)
        let isSuffix = rest.hasPrefix(".") || rest.hasPrefix("*.")
        if isSuffix { rest = rest.dropFirst(rest.hasPrefix("*") ? 2 : 1) }
        guard let (host, port) = HTTPSAddress.hostAndPort(rest) else { return nil }
        self.port = port
        if let address = ClientAddress(host) {
            guard !isSuffix else { return nil }
            hosts = .block(AddressBlock(address))
        } else {
            hosts = isSuffix ? .below(host) : .name(host)
        }
    }

    /// Whether it speaks of this host, a name in lower case or an address without brackets, and this port.
    func covers(host: String, port: Int) -> Bool {
        if let own = self.port, own != port { return false }
        return switch hosts {
        case .all: true
        case .name(let name): host == name || host.hasSuffix(".\(name)")
        case .below(let name): host.hasSuffix(".\(name)")
        case .block(let block): ClientAddress(host).map { block.contains($0) } ?? false
        }
    }
}
