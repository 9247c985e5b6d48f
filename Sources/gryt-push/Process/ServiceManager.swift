import Glibc
import PushModel

/// What started the process and watches over it, where that is systemd or speaks as it does: it may hand over sockets
/// that listen already (sd_listen_fds(3)), and it may want to hear how far the process is (sd_notify(3)).
struct ServiceManager: Sendable {
    /// Sockets that were handed over, in the order of their numbers, each with its name; empty when there are none.
    let sockets: [(name: String, descriptor: OwnedDescriptor)]
    private let notifySocket: String?

    /// The first descriptor that is handed over (SD_LISTEN_FDS_START).
    private static let firstDescriptor: Int32 = 3
    /// More than any service has.
    private static let mostSockets = 1024

    /// What the environment says. To be called once: it takes the sockets.
    init(environment: [String: String]) {
        notifySocket = environment["NOTIFY_SOCKET"].flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
        guard environment["LISTEN_PID"] == String(getpid()), let text = environment["LISTEN_FDS"],
            let count = plainDecimal(text), (1...Self.mostSockets).contains(count)
        else {
            sockets = []
            return
        }
        let names = (environment["LISTEN_FDNAMES"] ?? "").split(separator: ":", omittingEmptySubsequences: false)
        sockets = (0..<count).map { index in
            let number = Self.firstDescriptor + Int32(index)
            _ = fcntl(number, F_SETFD, FD_CLOEXEC)
            return (index < names.count ? String(names[index]) : "", OwnedDescriptor(number))
        }
    }

    /// What a manager is told.
    enum News: Equatable {
        /// The process serves, for the first time or again after a reload.
        case ready
        /// It reads its settings anew, from this moment on. By it a manager tells an answer to its own wish from one to an
        /// earlier wish; it is of the clock that stands still in a suspension, as sd_notify(3) has it.
        case reloading(RunningInstant)
        /// It answers what is under way, and ends then.
        case stopping
        /// Another process has taken its place.
        case replaced(by: pid_t)

        /// As it goes over the wire.
        var text: String {
            switch self {
            case .ready: "READY=1"
            case .reloading(let now): "RELOADING=1\nMONOTONIC_USEC=\(now.nanoseconds / 1000)"
            case .stopping: "STOPPING=1"
            case .replaced(let process): "MAINPID=\(process)"
            }
        }
    }

    /// Tells the manager, if there is one that wants to hear. One that does not listen is not waited for.
    func tell(_ news: News) {
        guard let notifySocket else { return }
        let descriptor = LocalSocket.make(.notices)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        guard LocalSocket.name(descriptor, notifySocket, to: .connect) == 0 else { return }
        _ = LocalSocket.send(news.text, to: descriptor)
    }
}
