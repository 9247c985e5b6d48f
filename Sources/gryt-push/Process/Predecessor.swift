import Glibc
import PushModel

/// The relay that runs already, as the one that takes its place sees it.
///
/// It goes on until it is told that its successor serves. If the successor never says so, because it fails or is ended, the
/// predecessor goes on as if nothing had been.
struct Predecessor: Sendable {
    /// What it leaves.
    let estate: Estate
    /// Its process.
    let process: pid_t
    private let conversation: OwnedDescriptor

    /// How long it may take for its part. It needs milliseconds: one that needs longer is halted, or hangs.
    static let patience: Duration = .seconds(5)
    /// How long it is waited for in silence.
    static let silentPatience: Duration = .seconds(1)

    /// Knocks at the door of a data directory, and is given everything.
    ///
    /// Blocks, for ``patience`` at most; it is for the start of the process.
    ///
    /// - Parameter waiting: called once, with the process that is waited for, when that takes longer than ``silentPatience``.
    static func ask(in directory: String, waiting: (pid_t) -> Void) -> Result<Predecessor, Refusal> {
        let number = LocalSocket.make(.conversation)
        guard number >= 0 else { return .failure(.notThere(errno: errno)) }
        let conversation = OwnedDescriptor(number)
        let fault = Estate.withDoorName(in: directory) { name in
            LocalSocket.name(number, name, to: .connect)
        }
        guard fault == 0 else { return .failure(.notThere(errno: fault)) }
        guard let peer = LocalSocket.peer(of: number), peer.user == geteuid() else { return .failure(.anotherUser) }
        guard LocalSocket.send(Estate.Word.takeOver.rawValue, to: number) else { return .failure(.silent) }
        var estate = Estate()
        let began = ContinuousClock.now
        var next = silentPatience
        while true {
            let left = next - (ContinuousClock.now - began)
            guard LocalSocket.waitForNews(on: number, milliseconds: Int32(left.wholeMilliseconds)) else {
                guard next < patience else { return .failure(.hanging(process: peer.process)) }
                waiting(peer.process)
                next = patience
                continue
            }
            guard let message = LocalSocket.receive(from: number), let word = Estate.Word(rawValue: message.text) else {
                return .failure(.silent)
            }
            if word == .all {
                return .success(Predecessor(estate: estate, process: peer.process, conversation: conversation))
            }
            guard estate.take(word, message.descriptors) else { return .failure(.silent) }
        }
    }

    /// Tells it that its place is taken: it answers what it has under way, and ends.
    func letGo() { _ = LocalSocket.send(Estate.Word.serving.rawValue, to: conversation.number) }

    /// Why it does not hand over.
    enum Refusal: Error, CustomStringConvertible {
        /// There is no door, or nobody behind it.
        case notThere(errno: Int32)
        /// It is another user's.
        case anotherUser
        /// It does not say what was expected, or goes without a word.
        case silent
        /// It was asked, and has done nothing at all.
        case hanging(process: pid_t)

        var description: String {
            switch self {
            case .notThere(let errno): "it cannot be reached at \(Estate.doorName): \(SystemFile.reason(errno))"
            case .anotherUser: "it belongs to another user"
            case .silent: "it does not hand over; it may be about to end, or of another version"
            case .hanging(let process):
                "it does not answer (process \(process)), and was left as it is; it is halted or hangs: let it go on (SIGCONT), "
                    + "or end it (SIGKILL, which loses at most the last second's counts) and start again"
            }
        }
    }
}
