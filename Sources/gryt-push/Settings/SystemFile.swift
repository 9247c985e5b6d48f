import Glibc

/// Reads the files that settings name.
enum SystemFile {
    /// The longest file that is read, in bytes. Keys and bundles of roots are far shorter.
    static let longest = 4 << 20

    /// The whole file.
    ///
    /// - Throws: ``FileFault`` with what the system said; `EFBIG` for a file longer than ``longest``.
    static func read(_ path: String) throws(FileFault) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileFault(errno: errno) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = unsafe Glibc.read(descriptor, &part, part.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw FileFault(errno: errno) }
            guard count > 0 else { return bytes }
            bytes.append(contentsOf: part[..<count])
            guard bytes.count <= longest else { throw FileFault(errno: EFBIG) }
        }
    }

    /// What the system calls an error, such as `No such file or directory`.
    static func reason(_ errno: Int32) -> String {
        guard let text = unsafe strerror(errno) else { return "errno \(errno)" }
        return unsafe String(cString: text)
    }
}
