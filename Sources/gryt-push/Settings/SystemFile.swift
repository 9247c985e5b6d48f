import Glibc

/// Reads the files that settings name.
enum SystemFile {
    /// The longest file that is read, in bytes. Keys and bundles of roots are far shorter.
    static let longest = 4 << 20

    /// The whole file.
    ///
    /// Never waits for anybody: a pipe that nobody writes to, or a device, is told from a file before it is read.
    ///
    /// - Throws: ``FileFault`` with what the system said; `EFBIG` for a file longer than ``longest``, and
    ///   ``FileFault/notAFile`` for what is neither file nor directory.
    static func read(_ path: String) throws(FileFault) -> [UInt8] {
        // Without O_NONBLOCK the opening of a FIFO waits for a writer; a socket gives ENXIO (open(2)).
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw errno == ENXIO ? .notAFile : FileFault(errno: errno) }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw FileFault(errno: errno) }
        switch status.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFDIR: throw FileFault(errno: EISDIR)
        default: throw .notAFile
        }
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

    /// Why a file could not be read, in words.
    static func reason(_ fault: FileFault) -> String {
        fault == .notAFile ? "it is a pipe, a socket or a device, and not a file" : reason(fault.errno)
    }

    /// What the system calls an error, such as `No such file or directory`.
    static func reason(_ errno: Int32) -> String {
        guard let text = unsafe strerror(errno) else { return "errno \(errno)" }
        return unsafe String(cString: text)
    }
}
