import CLibevent
import CSystem
import Synchronization

#if canImport(Glibc)
    import Glibc
#endif

/// One thread that waits for sockets, timers and jobs, and runs whatever is due.
///
/// A loop is a serial executor: an actor that returns it from `unownedExecutor` lives on the loop's thread, so C
/// callbacks that arrive there may enter the actor by `assumeIsolated`. It is a task executor too: a task that prefers
/// the loop runs all its unisolated parts there. A request therefore lives and dies without a thread hop.
///
/// The loop goes round in *turns*. A turn waits for events and runs their callbacks, then runs every job that those
/// callbacks made ready, then calls each ``TurnEnd`` that asked for it. What many jobs produced in one turn can so leave
/// in one system call.
///
/// Everything marked "loop thread" traps, in release builds too, when called from any other thread.
///
/// `@unchecked Sendable`: `inbox` is guarded by its mutex and the atomics guard themselves; every other variable is
/// touched by the loop thread alone, which ``preconditionOnLoop()`` checks.
@safe package final class EventLoop: SerialExecutor, TaskExecutor, @unchecked Sendable {
    /// The thread's name, as `top -H` and `perf` show it; at most 15 bytes are kept.
    package let name: String

    let base: OpaquePointer

    private let inbox = Mutex<Inbox>(Inbox())
    private let wakeDescriptor: Int32
    private let threadIdentity = Atomic<UInt>(0)
    private let stopRequested = Atomic<Bool>(false)
    private let thread = Mutex<pthread_t?>(nil)

    // Loop thread only. Each touch is over before the next begins: nothing that could touch it runs within one, no job, no
    // turn end and nobody's deinit. That is seen from the few lines that do, and looking out for it at run time would cost
    // more than the touch, a dozen times a push.
    @exclusivity(unchecked) private var work = TurnWork()
    private var wakeWatcher: OpaquePointer?

    /// What other threads hand over. `awake` is true while a wake-up is on its way, so that a thousand jobs cost one.
    private struct Inbox {
        var jobs: [UnownedJob] = []
        var awake = false
    }

    /// Rounds of jobs and turn ends that may follow one another before sockets are looked at again. Two is the ordinary
    /// case: a job queues a write, the write's end wakes a job. More than this and a busy task would starve the sockets.
    private static let roundsPerTurn = 4

    /// Makes a loop that does not run yet.
    ///
    /// - Throws: ``EventLoopError`` when the system gives no epoll or eventfd descriptor.
    package init(name: String) throws(EventLoopError) {
        guard let base = unsafe event_base_new() else { throw .noEventBase }
        let descriptor = eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC))
        guard descriptor >= 0 else {
            unsafe event_base_free(base)
            throw .noWakeDescriptor(errno: errno)
        }
        self.name = name
        unsafe self.base = base
        self.wakeDescriptor = descriptor
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe wakeWatcher = event_new(base, descriptor, gryt_ev_read | gryt_ev_persist, wokenUp, context)
        unsafe event_add(wakeWatcher, nil)
    }

    deinit {
        unsafe event_free(wakeWatcher)
        unsafe event_base_free(base)
        close(wakeDescriptor)
    }

    // MARK: Running

    /// Starts the loop's thread. The loop keeps itself alive until ``stop()``.
    ///
    /// - Throws: ``EventLoopError/noThread(errno:)`` when the system gives no thread.
    package func start() throws(EventLoopError) {
        let context = unsafe Unmanaged.passRetained(self).toOpaque()
        var handle = pthread_t()
        let code = unsafe pthread_create(&handle, nil, runLoopThread, context)
        guard code == 0 else {
            unsafe Unmanaged<EventLoop>.fromOpaque(context).release()
            throw .noThread(errno: code)
        }
        thread.withLock { $0 = handle }
    }

    /// Asks the loop to end after the turn it is in. Jobs that arrive later never run, so whoever stops a loop has first
    /// seen to it that nothing waits on it.
    package func stop() {
        stopRequested.store(true, ordering: .releasing)
        wakeUp()
    }

    /// Stops the loop and waits until its thread has ended. Never call it from the loop's own thread.
    package func stopAndJoin() {
        precondition(!isOnLoop, "a loop cannot wait for its own end")
        stop()
        let handle = thread.withLock { handle in
            defer { handle = nil }
            return handle
        }
        if let handle { pthread_join(handle, nil) }
    }

    fileprivate func run() {
        threadIdentity.store(UInt(pthread_self()), ordering: .releasing)
        unsafe name.withCString { unsafe gryt_name_this_thread($0) }
        while !stopRequested.load(ordering: .acquiring) {
            let flags = EVLOOP_ONCE | (unsafe work.rest == .nothing ? 0 : EVLOOP_NONBLOCK)
            unsafe _ = event_base_loop(base, flags)
            var rest = unsafe work.rest
            for _ in 0..<Self.roundsPerTurn where rest != .nothing {
                while rest == .jobs { rest = runJobs() }
                if rest == .ends { rest = runTurnEnds() }
                if rest != .jobs { break }
            }
        }
    }

    private func runJobs() -> TurnWork.Rest {
        var jobs = unsafe work.takeJobs()
        for job in jobs {
            unsafe job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
        }
        jobs.removeAll(keepingCapacity: true)
        return unsafe work.finish(consume jobs)
    }

    private func runTurnEnds() -> TurnWork.Rest {
        var ends = unsafe work.takeEnds()
        for end in ends { end.turnEnds() }
        ends.removeAll(keepingCapacity: true)
        return unsafe work.finish(consume ends)
    }

    fileprivate func takeInbox() {
        var value: UInt64 = 0
        unsafe _ = read(wakeDescriptor, &value, 8)
        inbox.withLock { inbox in
            inbox.awake = false
            unsafe work.add(inbox.jobs)
            inbox.jobs.removeAll(keepingCapacity: inbox.jobs.count <= 4096)
        }
    }

    private func wakeUp() {
        var one: UInt64 = 1
        unsafe _ = write(wakeDescriptor, &one, 8)
    }

    // MARK: Turn ends

    /// Calls `end` once: when the jobs that are ready have run, before any job that is queued after this call, and before
    /// sockets are looked at again. The store's look-ups count on it. Asking twice in one turn calls it twice, so the asker
    /// keeps a flag. Loop thread.
    package func atTurnEnd(_ end: any TurnEnd) {
        preconditionOnLoop()
        unsafe work.add(end)
    }

    // MARK: Threads

    /// Whether the caller runs on this loop's thread.
    package var isOnLoop: Bool {
        threadIdentity.load(ordering: .acquiring) == UInt(pthread_self())
    }

    /// Traps unless the caller runs on this loop's thread.
    package func preconditionOnLoop() {
        precondition(isOnLoop, "called from outside the thread of its event loop")
    }

    // MARK: Executor

    /// Runs the job on the loop's thread: in this turn when called from there, else in the turn that the wake-up starts.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if isOnLoop {
            unsafe work.add(job)
            return
        }
        let mustWake = inbox.withLock { inbox in
            inbox.jobs.append(job)
            defer { inbox.awake = true }
            return !inbox.awake
        }
        if mustWake { wakeUp() }
    }

    /// Both protocols bring one; the loop is compared by identity.
    package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        unsafe UnownedSerialExecutor(ordinary: self)
    }

    /// Both protocols bring one; the loop is compared by identity.
    package func asUnownedTaskExecutor() -> UnownedTaskExecutor {
        unsafe UnownedTaskExecutor(ordinary: self)
    }

    /// Answers `assumeIsolated` on actors of this loop.
    package func isIsolatingCurrentContext() -> Bool? { isOnLoop }

    /// Traps off the loop's thread; what `assumeIsolated` falls back to.
    package func checkIsolated() { preconditionOnLoop() }
}

/// Something that wants to act once all jobs of a turn have run, most often to write out what they produced.
package protocol TurnEnd: AnyObject {
    /// Called on the loop's thread, once for each ``EventLoop/atTurnEnd(_:)``.
    func turnEnds()
}

/// Why a loop, timer or watcher could not be made.
package enum EventLoopError: Error, Equatable, CustomStringConvertible {
    /// libevent found no way to wait for events (out of memory or of descriptors).
    case noEventBase
    /// `eventfd` failed.
    case noWakeDescriptor(errno: Int32)
    /// `pthread_create` failed.
    case noThread(errno: Int32)

    package var description: String {
        switch self {
        case .noEventBase: "no event base could be made (out of memory or file descriptors)"
        case .noWakeDescriptor(let errno): "eventfd failed with errno \(errno)"
        case .noThread(let errno): "pthread_create failed with errno \(errno)"
        }
    }
}

// Named, at file scope, and without isolation: a closure written inside an isolated context would carry that isolation
// into C and trap on the loop's thread.

private func runLoopThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context else { preconditionFailure("a loop thread without its loop") }
    let loop = unsafe Unmanaged<EventLoop>.fromOpaque(context).takeRetainedValue()
    loop.run()
    return nil
}

private func wokenUp(_: Int32, _: Int16, _ context: UnsafeMutableRawPointer?) {
    guard let context = unsafe context else { preconditionFailure("a wake-up without its loop") }
    unsafe Unmanaged<EventLoop>.fromOpaque(context).takeUnretainedValue().takeInbox()
}
