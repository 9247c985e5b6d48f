import EventLoops
import Glibc
import Synchronization

/// Finds the addresses of a host. It may block; it is called on a thread of its own.
typealias Resolve = @Sendable (Endpoint) -> Result<[SocketAddress], Unreachable>

/// One question to the name servers, asked on a thread of its own because `getaddrinfo` blocks.
///
/// The thread tells by a socket pair that the loop watches. Giving up (releasing the lookup) leaves the thread to end by
/// itself whenever the resolver lets it; a pool asks at most once per connection attempt, so only a few can be left.
///
/// Nothing is cached: an answer is good for the attempt that asked, and the next attempt sees what has changed.
final class NameLookup {
    private let mailbox: Mailbox
    private let watcher: DescriptorWatcher

    /// Where the thread leaves its answer. Both sides hold it, so the descriptors outlive whichever goes first.
    private final class Mailbox: Sendable {
        let endpoint: Endpoint
        let resolve: Resolve
        let loopEnd: Int32
        let threadEnd: Int32
        let answer = Mutex<Result<[SocketAddress], Unreachable>?>(nil)

        init(_ endpoint: Endpoint, resolve: @escaping Resolve, loopEnd: Int32, threadEnd: Int32) {
            self.endpoint = endpoint
            self.resolve = resolve
            self.loopEnd = loopEnd
            self.threadEnd = threadEnd
        }

        deinit {
            close(loopEnd)
            close(threadEnd)
        }
    }

    /// Starts asking. `answered` is called at most once, on the loop's thread and never from within this call. Loop
    /// thread.
    ///
    /// - Throws: ``Unreachable/nameNotResolved(code:)`` when the system has no descriptor or thread left.
    init(
        _ endpoint: Endpoint, by resolve: @escaping Resolve, on loop: EventLoop,
        answered: @escaping (Result<[SocketAddress], Unreachable>) -> Void
    ) throws(Unreachable) {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw .nameNotResolved(code: EAI_SYSTEM) }
        let mailbox = Mailbox(endpoint, resolve: resolve, loopEnd: ends[0], threadEnd: ends[1])
        self.mailbox = mailbox
        var thread = pthread_t()
        let context = unsafe Unmanaged.passRetained(mailbox).toOpaque()
        guard unsafe pthread_create(&thread, nil, askNameServers, context) == 0 else {
            unsafe Unmanaged<Mailbox>.fromOpaque(context).release()
            throw .nameNotResolved(code: EAI_SYSTEM)
        }
        pthread_detach(thread)
        watcher = DescriptorWatcher(
            on: loop, descriptor: ends[0],
            readable: {
                let answer = mailbox.answer.withLock { answer in
                    defer { answer = nil }
                    return answer
                }
                if let answer { answered(answer) }
            })
        watcher.watchReads(true)
    }

    /// Stops listening. Loop thread.
    func cancel() { watcher.cancel() }

    fileprivate static func ask(_ context: UnsafeMutableRawPointer) {
        let mailbox = unsafe Unmanaged<Mailbox>.fromOpaque(context).takeRetainedValue()
        let answer = mailbox.resolve(mailbox.endpoint)
        mailbox.answer.withLock { $0 = answer }
        var one: UInt8 = 1
        unsafe _ = write(mailbox.threadEnd, &one, 1)
    }
}

private func askNameServers(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context else { preconditionFailure("a lookup thread without its question") }
    unsafe NameLookup.ask(context)
    return nil
}
