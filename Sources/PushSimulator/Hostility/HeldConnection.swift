import EventLoops

#if canImport(Glibc)
    import Glibc
#endif

/// A connection that is kept from TLS: for ever, for a while, or with something else said in its place. Loop thread.
final class HeldConnection {
    private let loop: EventLoop
    private let descriptor: Int32
    private let onEnd: (HeldConnection) -> Void
    private var watcher: DescriptorWatcher?
    private var timer: LoopTimer?
    private var isOver = false

    /// Takes over an accepted descriptor. `onEnd` is called once it is closed or given up by ``handOver(after:_:)``.
    init(on loop: EventLoop, descriptor: Int32, onEnd: @escaping (HeldConnection) -> Void) {
        self.loop = loop
        self.descriptor = descriptor
        self.onEnd = onEnd
    }

    /// Reads and drops what comes, until the client leaves; says `noise` to its first bytes, and closes then.
    func hold(noise: String? = nil) {
        let watcher = DescriptorWatcher(on: loop, descriptor: descriptor) { [weak self] in self?.read(noise) }
        watcher.watchReads(true)
        self.watcher = watcher
    }

    /// Gives the descriptor to `taker` after so long.
    func handOver(after wait: Duration, to taker: @escaping (Int32) -> Void) {
        let timer = LoopTimer(on: loop) { [weak self] in
            guard let self, !isOver else { return }
            isOver = true
            taker(descriptor)
            onEnd(self)
        }
        timer.arm(after: wait)
        self.timer = timer
    }

    /// Closes the connection.
    func end() {
        guard !isOver else { return }
        isOver = true
        watcher?.cancel()
        timer?.disarm()
        close(descriptor)
        onEnd(self)
    }

    private func read(_ noise: String?) {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = unsafe recv(descriptor, &bytes, bytes.count, 0)
        if count > 0 {
            guard let noise else { return }
            let text = Array(noise.utf8)
            unsafe _ = send(descriptor, text, text.count, Int32(MSG_NOSIGNAL))
            end()
        } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
            end()
        }
    }
}
