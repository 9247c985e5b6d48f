import EventLoops
import Glibc

/// Asks a proxy for a tunnel over a connected, non-blocking socket, which it owns until it has ended. Loop thread.
///
/// It has no clock of its own; its owner bounds it and gives up by ``cancel()``.
final class ProxyTunnel {
    private let descriptor: Int32
    private let ended: (Result<Int32, Unreachable>) -> Void
    private var unsent: ArraySlice<UInt8>
    private var answer = ProxyAnswer()
    private var watcher: DescriptorWatcher?

    /// Makes a tunnel that has asked for nothing yet. `ended` is called once, possibly from within ``start()``, with the
    /// socket, which then belongs to the callee and whose next byte is the origin's; never after ``cancel()``.
    init(
        _ descriptor: Int32, request: [UInt8], on loop: EventLoop, ended: @escaping (Result<Int32, Unreachable>) -> Void
    ) {
        self.descriptor = descriptor
        self.ended = ended
        unsent = request[...]
        watcher = DescriptorWatcher(
            on: loop, descriptor: descriptor, readable: { [weak self] in self?.read() },
            writable: { [weak self] in self?.write() })
    }

    deinit { cancel() }

    /// Begins.
    func start() {
        watcher?.watchReads(true)
        write()
    }

    /// Closes the socket, unless it has been handed on.
    func cancel() {
        guard let watcher else { return }
        watcher.cancel()
        self.watcher = nil
        close(descriptor)
    }

    private func finish(_ reason: Unreachable?) {
        guard let watcher else { return }
        guard let reason else {
            watcher.cancel()
            self.watcher = nil
            ended(.success(descriptor))
            return
        }
        cancel()
        ended(.failure(reason))
    }

    private func write() {
        while !unsent.isEmpty {
            let count = unsafe unsent.withUnsafeBytes { bytes in
                unsafe send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else {
                // A broken connection is told by reading, after whatever the proxy may have said before.
                watcher?.watchWrites(errno == EAGAIN)
                return
            }
            unsent = unsent.dropFirst(count)
        }
        watcher?.watchWrites(false)
    }

    private func read() {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while watcher != nil {
            // Looked at first and taken then, so that nothing behind the head is taken.
            let count = unsafe recv(descriptor, &buffer, buffer.count, Int32(MSG_PEEK))
            guard count > 0 else {
                if count < 0, errno == EAGAIN || errno == EINTR { return }
                finish(.proxyHungUp)
                return
            }
            let (taken, verdict) = answer.take(buffer[..<count])
            unsafe _ = recv(descriptor, &buffer, taken, 0)
            switch verdict {
            case .wantsMore: break
            case .opened: finish(nil)
            case .refused(let reason): finish(reason)
            }
        }
    }
}
