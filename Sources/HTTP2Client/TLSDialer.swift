import EventLoops
import Glibc

/// Makes one TLS connection: asks the name servers, lets the addresses race, asks the proxy for a tunnel where there is
/// one, shakes hands. Loop thread.
///
/// It has no clock of its own but the race's; its owner bounds each step and gives up by ``cancel()``.
final class TLSDialer {
    /// How far it has come.
    enum Progress {
        /// The addresses are known.
        case resolved
        /// TCP stands to the proxy, which is asked for a tunnel.
        case tunnelling
        /// TCP stands, through the tunnel where there is a proxy.
        case connected
        /// TLS stands, and the channel belongs to whoever is told. The dialer is done.
        case done(TLSChannel)
        /// It came to nothing. The dialer is done.
        case failed(Unreachable)
    }

    /// The address to which TCP stands; nil before.
    private(set) var address: SocketAddress?

    private let loop: EventLoop
    private let route: Route
    private let trust: TLSTrust
    private let told: (Progress) -> Void
    private var lookup: NameLookup?
    private var connector: TCPConnector?
    private var tunnel: ProxyTunnel?
    private var channel: TLSChannel?
    private var watcher: DescriptorWatcher?
    private var isOver = false

    /// Makes a dialer; `told` is called for each step, possibly from within ``start()``, and never after ``cancel()``.
    init(_ route: Route, trust: TLSTrust, on loop: EventLoop, told: @escaping (Progress) -> Void) {
        self.route = route
        self.trust = trust
        self.loop = loop
        self.told = told
    }

    /// Begins.
    func start() {
        let next = route.firstStop
        if next.isLiteral {
            resolved(SocketAddress.all(of: next.host, port: next.port, onlyLiteral: true))
            return
        }
        do throws(Unreachable) {
            lookup = try NameLookup(next, by: route.resolve, on: loop) { [weak self] in self?.resolved($0) }
        } catch {
            failOnTheWay(error)
        }
    }

    /// Gives up and closes what there is.
    func cancel() {
        isOver = true
        lookup?.cancel()
        connector?.cancel()
        tunnel?.cancel()
        watcher?.cancel()
        channel?.close()
        lookup = nil
        connector = nil
        tunnel = nil
        watcher = nil
        channel = nil
    }

    /// Whoever does not reach the proxy must not be told that it is the origin.
    private func failOnTheWay(_ reason: Unreachable) {
        fail(route.proxy == nil ? reason : .proxyUnreachable(reason))
    }

    private func fail(_ reason: Unreachable) {
        cancel()
        told(.failed(reason))
    }

    private func resolved(_ answer: Result<[SocketAddress], Unreachable>) {
        lookup?.cancel()
        lookup = nil
        switch answer {
        case .failure(let reason): failOnTheWay(reason)
        case .success(let addresses):
            told(.resolved)
            guard !isOver else { return }
            // Within a family by lot, to spread the load over what the name servers offer.
            let race = AddressRace(addresses.shuffledWithinFamilies(), behindOthers: route.uselessAddresses())
            connector = TCPConnector(race, on: loop) { [weak self] address, isUseful in
                if isUseful { self?.address = address }
                self?.route.found(address, isUseful)
            } ended: { [weak self] in
                self?.connected($0)
            }
            connector?.start()
        }
    }

    private func connected(_ answer: Result<Int32, Unreachable>) {
        connector = nil
        switch answer {
        case .failure(let reason): failOnTheWay(reason)
        case .success(let descriptor):
            guard let proxy = route.proxy else {
                stands(descriptor)
                return
            }
            let tunnel = ProxyTunnel(descriptor, request: proxy.request(for: route.origin), on: loop) { [weak self] in
                self?.tunnelled($0)
            }
            self.tunnel = tunnel
            told(.tunnelling)
            if !isOver { tunnel.start() }
        }
    }

    private func tunnelled(_ answer: Result<Int32, Unreachable>) {
        tunnel = nil
        switch answer {
        case .failure(let reason): fail(reason)
        case .success(let descriptor): stands(descriptor)
        }
    }

    private func stands(_ descriptor: Int32) {
        guard let channel = TLSChannel(descriptor: descriptor, origin: route.origin, trust: trust) else {
            fail(.tlsFailed(reason: 0))
            return
        }
        self.channel = channel
        watcher = DescriptorWatcher(
            on: loop, descriptor: descriptor,
            readable: { [weak self] in self?.handshake() },
            writable: { [weak self] in self?.handshake() })
        told(.connected)
        if !isOver { handshake() }
    }

    private func handshake() {
        guard let channel, let watcher else { return }
        do throws(Unreachable) {
            switch try channel.handshake() {
            case .done:
                watcher.cancel()
                self.watcher = nil
                self.channel = nil
                isOver = true
                told(.done(channel))
            case .wantsRead:
                watcher.watchReads(true)
                watcher.watchWrites(false)
            case .wantsWrite: watcher.watchWrites(true)
            case .ended: fail(.tlsFailed(reason: 0))
            }
        } catch {
            fail(error)
        }
    }
}

/// Where a connection goes and by which way.
struct Route {
    /// With whom TLS is spoken, whose name the certificate must carry.
    var origin: Origin
    /// Who is asked for a tunnel on the way; nil: nobody.
    var proxy: HTTPProxy?
    /// Finds the addresses of what TCP goes to.
    var resolve: Resolve
    /// The addresses that were of no use lately.
    var uselessAddresses: () -> Set<SocketAddress>
    /// Is told of an address whether it was of use.
    var found: (SocketAddress, _ isUseful: Bool) -> Void

    /// What TCP goes to.
    var firstStop: Endpoint { proxy?.endpoint ?? origin.endpoint }
}

extension [SocketAddress] {
    /// The same addresses, each family at the places it had and shuffled among them.
    fileprivate func shuffledWithinFamilies() -> [SocketAddress] {
        var ofSix = filter(\.isIPv6).shuffled()
        var ofFour = filter { !$0.isIPv6 }.shuffled()
        return map { $0.isIPv6 ? ofSix.removeLast() : ofFour.removeLast() }
    }
}
