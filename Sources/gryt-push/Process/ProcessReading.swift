import Glibc

/// What the system says about this process, for the metrics that Prometheus wants of any program.
struct ProcessReading: Equatable {
    /// CPU time of all threads, user's and system's, in nanoseconds.
    var cpuNanoseconds: Int64
    /// Bytes of memory that are in RAM, shared libraries among them.
    var residentBytes: Int
    /// Bytes of address space, mapped files among them.
    var virtualBytes: Int
    /// Open file descriptors; nil where the system does not show them.
    var openDescriptors: Int?
    /// File descriptors that may be open.
    var maximumDescriptors: Int

    /// Reads it now. Takes some ten microseconds, and more with thousands of descriptors.
    static func now() -> ProcessReading {
        var usage = rusage()
        unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        let memory = statm()
        return ProcessReading(
            cpuNanoseconds: nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime),
            residentBytes: memory.resident, virtualBytes: memory.virtual, openDescriptors: countDescriptors(),
            maximumDescriptors: maximumDescriptors())
    }

    /// When the process began, in nanoseconds since 1970; nil where the system does not show it. It is the kernel's clock of
    /// its own start that this is reckoned from, so a step of the clock on the wall moves it.
    static func startNanoseconds() -> Int64? {
        guard let stat = text(of: "/proc/self/stat"), let uptime = bootNanoseconds() else { return nil }
        // The name, second, stands in parentheses and may hold anything; the start is the 22nd field (proc(5)).
        guard let end = stat.lastIndex(of: ")") else { return nil }
        let fields = stat[stat.index(after: end)...].split(separator: " ")
        guard fields.count > 19, let ticks = Int64(fields[19]) else { return nil }
        let ticksPerSecond = Int64(sysconf(Int32(_SC_CLK_TCK)))
        return uptime + ticks * (1_000_000_000 / max(ticksPerSecond, 1))
    }

    private static func nanoseconds(_ time: timeval) -> Int64 {
        Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_usec) * 1000
    }

    private static func statm() -> (virtual: Int, resident: Int) {
        let fields = (text(of: "/proc/self/statm") ?? "").split(separator: " ").prefix(2).compactMap { Int($0) }
        let page = sysconf(Int32(_SC_PAGESIZE))
        return fields.count == 2 ? (fields[0] * page, fields[1] * page) : (0, 0)
    }

    private static func text(of path: String) -> String? {
        do throws(FileFault) {
            return String(decoding: try SystemFile.read(path), as: UTF8.self)
        } catch {
            return nil
        }
    }

    private static func countDescriptors() -> Int? {
        guard let directory = unsafe opendir("/proc/self/fd") else { return nil }
        defer { unsafe closedir(directory) }
        // Not counted: `.`, `..`, and the descriptor of this look.
        var count = -3
        while unsafe readdir(directory) != nil { count += 1 }
        return count
    }

    private static func maximumDescriptors() -> Int {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 0 }
        return Int(clamping: limit.rlim_cur)
    }

    /// When the machine was started, in nanoseconds since 1970.
    private static func bootNanoseconds() -> Int64? {
        var wall = timespec()
        var sinceBoot = timespec()
        guard unsafe clock_gettime(CLOCK_REALTIME, &wall) == 0, unsafe clock_gettime(CLOCK_BOOTTIME, &sinceBoot) == 0
        else { return nil }
        return (Int64(wall.tv_sec) - Int64(sinceBoot.tv_sec)) * 1_000_000_000
            + Int64(wall.tv_nsec) - Int64(sinceBoot.tv_nsec)
    }
}

/// What the system says about the place where the database is.
struct DiskReading: Equatable {
    /// Bytes that the relay may still write; nil where the system does not say.
    var freeBytes: Int?
    /// Bytes of the database and its log.
    var databaseBytes: Int

    /// Looks at a data directory now. Does not open the database: closing it would drop SQLite's locks (fcntl(2)).
    static func of(directory: String) -> DiskReading {
        var system = statvfs()
        let isKnown = unsafe statvfs(directory, &system) == 0
        let block = Int(clamping: system.f_frsize)
        var database = 0
        for name in ["push.db", "push.db-wal"] {
            var file = stat()
            if unsafe stat(directory + "/" + name, &file) == 0 { database += Int(file.st_size) }
        }
        // A file system in the network may name any number of blocks.
        let (free, isTooMuch) = Int(clamping: system.f_bavail).multipliedReportingOverflow(by: block)
        return DiskReading(freeBytes: isKnown ? (isTooMuch ? .max : free) : nil, databaseBytes: database)
    }
}
