import Glibc

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

    /// How long it may take for its part.
    private static let patience: Int32 = 5000

    /// Knocks at the door of a data directory, and is given everything.
    ///
    /// Blocks, for five seconds at most; it is for the start of the process.
    static func ask(in directory: String) -> Result<Predecessor, Refusal> {
        let number = LocalSocket.make(SOCK_SEQPACKET)
        guard number >= 0 else { return .failure(.notThere(errno: errno)) }
        let conversation = OwnedDescriptor(number)
        let fault = Estate.withDoorName(in: directory) { name in
            LocalSocket.name(number, name, to: .connect)
        }
        guard fault == 0 else { return .failure(.notThere(errno: fault)) }
        guard let peer = LocalSocket.peer(of: number), peer.user == geteuid() else { return .failure(.anotherUser) }
        guard LocalSocket.send(Estate.Word.takeOver.rawValue, to: number) else { return .failure(.silent) }
        var estate = Estate()
        while LocalSocket.waitForNews(on: number, milliseconds: patience) {
            guard let message = LocalSocket.receive(from: number), let word = Estate.Word(rawValue: message.text) else {
                return .failure(.silent)
            }
            if word == .all {
                return .success(Predecessor(estate: estate, process: peer.process, conversation: conversation))
            }
            guard estate.take(word, message.descriptors) else { return .failure(.silent) }
        }
        return .failure(.silent)
    }

    /// Tells it that its place is taken: it answers what it has under way, and ends.
    func letGo() { _ = LocalSocket.send(Estate.Word.serving.rawValue, to: conversation.number) }

    /// Why it does not hand over.
    enum Refusal: Error, CustomStringConvertible {
        /// There is no door, or nobody behind it.
        case notThere(errno: Int32)
        /// It is another user's.
        case anotherUser
        /// It does not say what was expected, or nothing.
        case silent

        var description: String {
            switch self {
            case .notThere(let errno): "it cannot be reached at \(Estate.doorName): \(SystemFile.reason(errno))"
            case .anotherUser: "it belongs to another user"
            case .silent: "it does not hand over; it may be about to end, or of another version"
            }
        }
    }
}
