import EventLoops
import Glibc

/// Makes one TLS connection: asks the name servers, lets the addresses race, shakes hands. Loop thread.
///
/// It has no clock of its own but the race's; its owner bounds each step and gives up by ``cancel()``.
final class TLSDialer {
    /// How far it has come.
    enum Progress {
        /// The addresses are known.
        case resolved
        /// TCP stands.
        case connected
        /// TLS stands, and the channel belongs to whoever is told. The dialer is done.
        case done(TLSChannel)
        /// It came to nothing. The dialer is done.
        case failed(Unreachable)
    }

    private let loop: EventLoop
    private let origin: Origin
    private let trust: TLSTrust
    private let told: (Progress) -> Void
    private var lookup: NameLookup?
    private var connector: TCPConnector?
    private var channel: TLSChannel?
    private var watcher: DescriptorWatcher?
    private var isOver = false

    /// Makes a dialer; `told` is called for each step, possibly from within ``start()``, and never after ``cancel()``.
    init(_ origin: Origin, trust: TLSTrust, on loop: EventLoop, told: @escaping (Progress) -> Void) {
        self.origin = origin
        self.trust = trust
        self.loop = loop
        self.told = told
    }

    /// Begins.
    func start() {
        if origin.isLiteral {
            resolved(SocketAddress.all(of: origin.host, port: origin.port, onlyLiteral: true))
            return
        }
        do throws(Unreachable) {
            lookup = try NameLookup(origin, on: loop) { [weak self] in self?.resolved($0) }
        } catch {
            fail(error)
        }
    }

    /// Gives up and closes what there is.
    func cancel() {
        isOver = true
        lookup?.cancel()
        connector?.cancel()
        watcher?.cancel()
        channel?.close()
        lookup = nil
        connector = nil
        watcher = nil
        channel = nil
    }

    private func fail(_ reason: Unreachable) {
        cancel()
        told(.failed(reason))
    }

    private func resolved(_ answer: Result<[SocketAddress], Unreachable>) {
        lookup?.cancel()
        lookup = nil
        switch answer {
        case .failure(let reason): fail(reason)
        case .success(let addresses):
            told(.resolved)
            guard !isOver else { return }
            // Within a family by lot, to spread the load over what the name servers offer.
            connector = TCPConnector(addresses.shuffledWithinFamilies(), on: loop) { [weak self] in
                self?.connected($0)
            }
            connector?.start()
        }
    }

    private func connected(_ answer: Result<Int32, Unreachable>) {
        connector = nil
        switch answer {
        case .failure(let reason): fail(reason)
        case .success(let descriptor):
            guard let channel = TLSChannel(descriptor: descriptor, origin: origin, trust: trust) else {
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

extension [SocketAddress] {
    /// The same addresses, each family at the places it had and shuffled among them.
    fileprivate func shuffledWithinFamilies() -> [SocketAddress] {
        var ofSix = filter(\.isIPv6).shuffled()
        var ofFour = filter { !$0.isIPv6 }.shuffled()
        return map { $0.isIPv6 ? ofSix.removeLast() : ofFour.removeLast() }
    }
}
