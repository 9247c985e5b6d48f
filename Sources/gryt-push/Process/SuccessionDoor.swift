import EventLoops
import Glibc

/// Where a successor knocks: it is given the estate, and this relay goes on serving until it hears that the successor does.
///
/// Lives on one loop, and ends with ``close()``. Several may knock at once, and one of them is let in.
final class SuccessionDoor {
    private let loop: EventLoop
    private var estate: Estate?
    private var watcher: DescriptorWatcher?
    private var pauseTimer: LoopTimer?
    private var visitors: [Visitor] = []
    private let succeeded: (pid_t) -> Void
    private let told: (Event, pid_t) -> Void
    private let couldNotAccept: (Int32) -> Void

    /// What happens at the door.
    enum Event {
        /// Somebody was given the estate.
        case handedOver
        /// Somebody who was given the estate is gone without having served.
        case abandoned
    }

    /// More at once than there is any reason for.
    private static let mostVisitors = 8
    /// How long nobody is heard when the system has no descriptors or no memory left: whoever knocks goes on knocking.
    private static let pause = Duration.milliseconds(100)

    /// Makes one that nobody can knock at yet. Loop thread.
    ///
    /// - Parameters:
    ///   - estate: what a successor is given; its door is where it knocks.
    ///   - told: hears what happens, for the log.
    ///   - couldNotAccept: hears, by the system's number, why somebody who knocks waits.
    ///   - succeeded: called once, with the process that serves from now on.
    init(
        on loop: EventLoop, estate: Estate, told: @escaping (Event, pid_t) -> Void,
        couldNotAccept: @escaping (Int32) -> Void, succeeded: @escaping (pid_t) -> Void
    ) {
        self.loop = loop
        self.estate = estate
        self.told = told
        self.couldNotAccept = couldNotAccept
        self.succeeded = succeeded
    }

    /// Lets successors knock.
    func open() {
        guard let door = estate?.door else { return }
        // Whoever knocks sees the process that listened last (unix(7), SO_PEERCRED), and a door changes hands.
        _ = listen(door.number, Estate.doorBacklog)
        let watcher = DescriptorWatcher(on: loop, descriptor: door.number) { [unowned self] in answer() }
        watcher.watchReads(true)
        self.watcher = watcher
        pauseTimer = LoopTimer(on: loop) { [unowned self] in self.watcher?.watchReads(true) }
    }

    /// Gives the estate up: nobody is let in any more, and what nobody else has is gone.
    func close() {
        watcher?.cancel()
        watcher = nil
        pauseTimer = nil
        estate = nil
    }

    private func answer() {
        guard let door = estate?.door else { return }
        // What is accepted blocks, whatever the door does.
        let number = accept(door.number, nil, nil)
        guard number >= 0 else { return pauseIfFull(errno) }
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        _ = fcntl(number, F_SETFL, O_NONBLOCK)
        let conversation = OwnedDescriptor(number)
        guard visitors.count < Self.mostVisitors, let peer = LocalSocket.peer(of: number), peer.user == geteuid() else {
            return
        }
        let visitor = Visitor(conversation, process: peer.process)
        visitor.watcher = DescriptorWatcher(on: loop, descriptor: number) { [unowned self, unowned visitor] in
            hear(visitor)
        }
        visitor.watcher?.watchReads(true)
        visitors.append(visitor)
    }

    /// The door stays ready as long as somebody knocks; looked at again at once it would take a core for itself.
    private func pauseIfFull(_ code: Int32) {
        guard [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(code) else { return }
        couldNotAccept(code)
        watcher?.watchReads(false)
        pauseTimer?.arm(after: Self.pause)
    }

    private func hear(_ visitor: Visitor) {
        guard let message = LocalSocket.receive(from: visitor.conversation.number) else {
            if errno != EAGAIN, errno != EINTR { sendAway(visitor) }
            return
        }
        switch Estate.Word(rawValue: message.text) {
        case .takeOver:
            // One at a time: of two, the second would go on beside the first. Sent away, it may ask the first.
            guard let estate, !visitors.contains(where: \.hasEstate), estate.send(to: visitor.conversation.number)
            else { return sendAway(visitor) }
            visitor.hasEstate = true
            told(.handedOver, visitor.process)
        case .serving where visitor.hasEstate && estate != nil:
            // The conversation stays open to the end of the process.
            visitor.watcher?.cancel()
            visitor.watcher = nil
            close()
            succeeded(visitor.process)
        default: sendAway(visitor)
        }
    }

    private func sendAway(_ visitor: Visitor) {
        visitor.watcher?.cancel()
        if visitor.hasEstate, estate != nil { told(.abandoned, visitor.process) }
        // The watcher that calls this holds itself to the end of the call.
        visitors.removeAll { $0 === visitor }
    }

    /// Somebody at the door.
    private final class Visitor {
        let conversation: OwnedDescriptor
        let process: pid_t
        var watcher: DescriptorWatcher?
        var hasEstate = false

        init(_ conversation: OwnedDescriptor, process: pid_t) {
            self.conversation = conversation
            self.process = process
        }
    }
}
