#if canImport(Glibc)
    import Glibc
#endif

/// Writes the files that a relay is pointed at, each whole or not at all, readable by their owner alone.
enum SimulatorFiles {
    /// Makes the directory and its parents.
    static func makeDirectory(_ path: String) throws(SimulatorError) {
        var current = path.hasPrefix("/") ? "/" : ""
        for part in path.split(separator: "/") {
            current += current.isEmpty || current.hasSuffix("/") ? String(part) : "/\(part)"
            let made = unsafe mkdir(current, 0o700)
            guard made == 0 || errno == EEXIST else { throw .file(path: current, errno: errno) }
        }
    }

    /// The path of a file that is there, from the root and without symbolic links.
    static func absolutePath(of path: String) throws(SimulatorError) -> String {
        guard let resolved = unsafe realpath(path, nil) else { throw .file(path: path, errno: errno) }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }

    /// Writes the text beside the file and renames it over what was there.
    static func write(_ text: String, to path: String) throws(SimulatorError) {
        let draft = path + ".new"
        let descriptor = unsafe open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .file(path: draft, errno: errno) }
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else {
                let code = errno
                close(descriptor)
                throw .file(path: draft, errno: code)
            }
            rest = rest.dropFirst(count)
        }
        close(descriptor)
        guard unsafe rename(draft, path) == 0 else { throw .file(path: path, errno: errno) }
    }
}
