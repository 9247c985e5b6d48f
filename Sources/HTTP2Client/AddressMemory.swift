/// Which addresses were of no use a while ago, so that the next connection tries the others first: one that refuses
/// costs a moment each time, one that swallows everything a quarter of a second, and one by which TCP stands but never
/// TLS ten seconds. A value without I/O.
struct AddressMemory {
    /// How long an address is put behind the others. Then it is tried in its turn again.
    static let span = Duration.seconds(60)
    /// Addresses that are remembered; beyond it the oldest are forgotten. A name rarely has more than a dozen.
    static let limit = 64

    private var uselessSince: [SocketAddress: Moment] = [:]

    /// Notes what became of an address.
    mutating func found(_ address: SocketAddress, isUseful: Bool, now: Moment) {
        uselessSince[address] = isUseful ? nil : now
        guard uselessSince.count > Self.limit else { return }
        uselessSince = uselessSince.filter { now < $0.value + Self.span }
        guard uselessSince.count > Self.limit, let oldest = uselessSince.min(by: { $0.value < $1.value }) else {
            return
        }
        uselessSince[oldest.key] = nil
    }

    /// Those that were of no use lately.
    func useless(now: Moment) -> Set<SocketAddress> {
        Set(uselessSince.filter { now < $0.value + Self.span }.keys)
    }
}
