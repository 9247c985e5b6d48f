import CSystem
import Glibc

/// What the process asks of the system before it serves.
enum ProcessLimits {
    /// Memory holds keys and, for moments, device tokens: none of it may end in a core file, in a crash message or under
    /// a debugger of another process of the same user.
    static func forbidDumps() {
        // Swift's runtime has handlers here that print the registers and the memory they point to.
        for crash in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] { signal(crash, SIG_DFL) }
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        unsafe _ = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        _ = gryt_forbid_dumps()
    }

    /// A peer that hangs up is an error of one write, not a signal for the process.
    static func ignoreBrokenPipes() {
        signal(SIGPIPE, SIG_IGN)
    }

    /// A file that may not grow any further (RLIMIT_FSIZE) is an error of one write, as a full disk is, not the end of the
    /// process (setrlimit(2)).
    static func ignoreFileSizeLimits() {
        signal(SIGXFSZ, SIG_IGN)
    }

    /// Raises the number of open files as far as the system lets us, and says how many there are.
    static func raiseOpenFiles() -> Int {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
        if limit.rlim_cur < limit.rlim_max {
            var raised = limit
            raised.rlim_cur = limit.rlim_max
            if unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 { limit = raised }
        }
        return Int(clamping: limit.rlim_cur)
    }

    /// How many files may be open once they have been raised so far; nothing is raised.
    static func possibleOpenFiles() -> Int {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
        return Int(clamping: limit.rlim_max)
    }
}
