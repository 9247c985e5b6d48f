import Glibc

/// What the system says about a file without opening it.
enum FileStanding {
    /// The permission bits of a regular file, or of what is linked there; nil where there is none.
    static func mode(of path: String) -> UInt32? {
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return status.st_mode & 0o7777
    }
}
