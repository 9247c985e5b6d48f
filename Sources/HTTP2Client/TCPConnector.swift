import EventLoops
import Glibc

/// Runs an ``AddressRace`` with real sockets until one is connected. Loop thread throughout.
final class TCPConnector {
    private let loop: EventLoop
    private let ended: (Result<Int32, Unreachable>) -> Void
    private let found: (SocketAddress, _ isUseful: Bool) -> Void
    private var race: AddressRace
    private var attempts: [Int: Attempt] = [:]
    private var timer: LoopTimer?
    private var isOver = false

    private struct Attempt {
        let descriptor: Int32
        let watcher: DescriptorWatcher
    }

    /// Makes a connector for a race.
    ///
    /// `ended` is called once, possibly from within ``start()``, with the connected socket, which then belongs to the
    /// callee; never after ``cancel()``. Before it, `found` is told of each address whether it was of use: one that
    /// failed, or still had no answer when one that started later had it, was not.
    init(
        _ race: AddressRace, on loop: EventLoop,
        found: @escaping (SocketAddress, _ isUseful: Bool) -> Void = { _, _ in },
        ended: @escaping (Result<Int32, Unreachable>) -> Void
    ) {
        self.loop = loop
        self.found = found
        self.ended = ended
        self.race = race
    }

    deinit { cancel() }

    /// Begins.
    func start() {
        timer = LoopTimer(on: loop) { [weak self] in
            guard let self, !isOver else { return }
            perform(race.goOn(now: .now))
        }
        perform(race.goOn(now: .now))
    }

    /// Closes whatever is under way.
    func cancel() {
        isOver = true
        timer?.disarm()
        for attempt in attempts.values {
            attempt.watcher.cancel()
            close(attempt.descriptor)
        }
        attempts = [:]
    }

    private func perform(_ first: AddressRace.Step) {
        var step = first
        while case .attempt(let index) = step {
            do throws(Unreachable) {
                let descriptor = try race.addresses[index].startConnecting()
                let watcher = DescriptorWatcher(
                    on: loop, descriptor: descriptor, readable: {},
                    writable: { [weak self] in self?.settled(index) })
                watcher.watchWrites(true)
                attempts[index] = Attempt(descriptor: descriptor, watcher: watcher)
                step = .wait
            } catch {
                guard case .connectFailed(let errno) = error else { preconditionFailure("an unforeseen failure") }
                found(race.addresses[index], false)
                step = race.failed(index, errno: errno, now: .now)
            }
        }
        if case .lost(let reason) = step {
            cancel()
            ended(.failure(reason))
        } else if let start = race.nextStart {
            timer?.arm(after: start.duration(since: .now))
        }
    }

    private func settled(_ index: Int) {
        guard let attempt = attempts.removeValue(forKey: index) else { return }
        attempt.watcher.cancel()
        let errno = SocketAddress.connectResult(of: attempt.descriptor)
        guard errno == 0 else {
            close(attempt.descriptor)
            found(race.addresses[index], false)
            perform(race.failed(index, errno: errno, now: .now))
            return
        }
        for earlier in race.underWay where earlier < index { found(race.addresses[earlier], false) }
        found(race.addresses[index], true)
        cancel()
        ended(.success(attempt.descriptor))
    }
}
