import Glibc

/// The signals that the program acts on. They are blocked in every thread and taken by the main one, which does nothing
/// else, so that no handler ever runs in the middle of anything.
enum ProcessSignal: CaseIterable {
    case terminate
    case interrupt
    case hangUp

    private var number: Int32 {
        switch self {
        case .terminate: SIGTERM
        case .interrupt: SIGINT
        case .hangUp: SIGHUP
        }
    }

    private static func set() -> sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for signal in allCases { unsafe sigaddset(&set, signal.number) }
        return set
    }

    /// Blocks them. To be called before any thread is started, which inherits it.
    static func block() {
        var set = set()
        unsafe _ = pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Whether one that ends the process has come and was not taken yet.
    static var isStopPending: Bool {
        var pending = sigset_t()
        guard unsafe sigpending(&pending) == 0 else { return false }
        return [ProcessSignal.terminate, .interrupt].contains { unsafe sigismember(&pending, $0.number) == 1 }
    }

    /// Waits for the next one.
    static func next() -> ProcessSignal {
        var set = set()
        while true {
            var number: Int32 = 0
            guard unsafe sigwait(&set, &number) == 0 else { continue }
            if let signal = allCases.first(where: { $0.number == number }) { return signal }
        }
    }
}
