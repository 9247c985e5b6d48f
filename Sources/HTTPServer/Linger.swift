import CMicrohttpd
import EventLoops

#if canImport(Glibc)
    import Glibc
#endif

/// Keeps the socket of a refused request open for a moment after the library has closed it, reading and dropping what
/// still comes.
///
/// A socket that is closed with bytes unread sends a reset, and the reset makes the peer's system throw away the
/// refusal before the peer has read it (RFC 9112 section 9.6). The library closes at once, so a second descriptor of
/// the same socket stays here until the peer closes, a bound of bytes has come, or patience ends. The library takes its
/// own descriptor out of its epoll set before it closes it. Loop thread.
final class Linger {
    /// How long a peer may take to read a refusal and close.
    static let patience = Duration.seconds(2)
    private static let maximumBytes = 64 * 1024
    /// Beyond so many the refusal may get lost; nothing else happens.
    private static let maximumSockets = 128

    private final class Socket {
        let descriptor: Int32
        let due: ContinuousClock.Instant
        var bytes = 0
        var watcher: DescriptorWatcher?

        init(descriptor: Int32, due: ContinuousClock.Instant) {
            self.descriptor = descriptor
            self.due = due
        }
    }

    private let loop: EventLoop
    private var sockets: [Int32: Socket] = [:]
    private var timer: LoopTimer?
    private var scratch = [UInt8](repeating: 0, count: 16 * 1024)

    init(on loop: EventLoop) {
        self.loop = loop
        timer = LoopTimer(on: loop) { [unowned self] in expire() }
    }

    /// Takes a second descriptor of a socket that the library is about to close.
    func take(_ original: Int32) {
        guard timer != nil, sockets.count < Self.maximumSockets else { return }
        let descriptor = fcntl(original, F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else { return }
        let socket = Socket(descriptor: descriptor, due: .now + Self.patience)
        if sockets.isEmpty { timer?.arm(after: Self.patience) }
        sockets[descriptor] = socket
        socket.watcher = DescriptorWatcher(on: loop, descriptor: descriptor) { [unowned self, unowned socket] in
            drop(socket)
        }
        socket.watcher?.watchReads(true)
    }

    /// Closes all of them; nothing is taken any more.
    func stop() {
        timer = nil
        for socket in sockets.values { close(socket) }
    }

    private func drop(_ socket: Socket) {
        let count = unsafe scratch.withUnsafeMutableBytes { buffer in
            unsafe recv(socket.descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
        }
        if count < 0 && (errno == EAGAIN || errno == EINTR) { return }
        socket.bytes += max(count, 0)
        if count <= 0 || socket.bytes > Self.maximumBytes { close(socket) }
    }

    private func expire() {
        let now = ContinuousClock.now
        for socket in sockets.values where socket.due <= now { close(socket) }
        if let next = sockets.values.map(\.due).min() { timer?.arm(after: next - now) }
    }

    private func close(_ socket: Socket) {
        socket.watcher?.cancel()
        sockets[socket.descriptor] = nil
        closeDescriptor(socket.descriptor)
    }
}

/// `close`, where a method of that name is in the way.
func closeDescriptor(_ descriptor: Int32) { close(descriptor) }
