import Glibc

/// Whether a directory can be written to by this user, or be made. Nothing is written to find out.
struct DirectoryReading: Equatable {
    /// Whether it, or something else in its place, is there.
    var exists: Bool
    /// Whether what is there, here or above, is a directory.
    var isDirectory = true
    /// Why it cannot be written to or be made, by the system's number; 0 where it can.
    var fault: Int32
    /// Whether this user reaches what is in it.
    var mayBeSearched = true
    /// Who owns it; nil where it is not there.
    var owner: UInt32?
    /// Whom this process runs as.
    var user: UInt32
    /// Whether users other than the owner and its group may list it or put files into it.
    var isOpenToOthers: Bool

    /// Looks at a directory, or at the nearest one above it that is there.
    static func of(_ path: String) -> DirectoryReading {
        var reading = DirectoryReading(exists: true, fault: 0, owner: nil, user: geteuid(), isOpenToOthers: false)
        var place = path.isEmpty ? "." : path
        while true {
            var status = stat()
            if unsafe stat(place, &status) == 0 {
                if reading.exists {
                    reading.owner = status.st_uid
                    reading.isOpenToOthers = status.st_mode & 0o006 != 0
                }
                reading.isDirectory = status.st_mode & S_IFMT == S_IFDIR
                reading.fault = reading.isDirectory ? fault(place, W_OK | X_OK) : ENOTDIR
                reading.mayBeSearched = fault(place, X_OK) == 0
                return reading
            }
            reading.fault = errno
            reading.exists = false
            guard errno == ENOENT, let above = parent(of: place) else { return reading }
            place = above
        }
    }

    /// By what the effective user may do (faccessat(2)).
    private static func fault(_ path: String, _ wish: Int32) -> Int32 {
        unsafe faccessat(AT_FDCWD, path, wish, AT_EACCESS) == 0 ? 0 : errno
    }

    private static func parent(of path: String) -> String? {
        let names = path.split(separator: "/")
        guard !names.isEmpty, path != "." else { return nil }
        let above = names.dropLast().joined(separator: "/")
        if path.hasPrefix("/") { return "/" + above }
        return above.isEmpty ? "." : above
    }
}
