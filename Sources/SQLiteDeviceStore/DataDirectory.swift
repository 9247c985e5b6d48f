import DeviceStore

#if canImport(Glibc)
    import Glibc
#endif

/// The directory that holds the database and the secret, and the modes of what is in it.
struct DataDirectory {
    let path: String

    /// The database file.
    var database: String { path + "/push.db" }

    /// Whether there is a database file.
    var hasDatabase: Bool { unsafe access(database, F_OK) == 0 }

    /// Whether an earlier process has left something in the log, be it by a crash.
    var hasLog: Bool {
        var status = stat()
        return unsafe stat(database + "-wal", &status) == 0 && status.st_size > 0
    }

    /// Whether there is something in the place of a file that SQLite keeps beside the database, such as `-shm`.
    func has(_ suffix: String) -> Bool { unsafe access(database + suffix, F_OK) == 0 }

    /// Whether there is something in the place of the relay's secret.
    var hasSecret: Bool { unsafe access(path + "/" + RelaySecretFile.name, F_OK) == 0 }

    /// Whether users other than the owner and its group may list the directory or put files into it. Never so where the
    /// relay made it.
    var isOpenToOthers: Bool {
        var status = stat()
        return unsafe stat(location, &status) == 0 && status.st_mode & 0o006 != 0
    }

    /// Makes the directory (and those above it) where it is missing, for the owner alone, and an empty database file in
    /// it. What is there already is closed to other users as far as the relay may.
    ///
    /// The database file is never opened here: closing a descriptor of it would drop the locks that SQLite holds on it in
    /// this process (POSIX, fcntl(2)).
    ///
    /// - Throws: ``StoreOpenError`` also where SQLite would destroy what may hold registrations: see ``checkLog()``.
    func prepare() throws(StoreOpenError) {
        try makeDirectories()
        try checkKinds()
        try checkLog()
        let file = unsafe open(database, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if file >= 0 {
            close(file)
            sync(location)
            return
        }
        guard errno == EEXIST else { throw .directory(errno: errno) }
        for suffix in ["", "-wal", "-shm", "-journal"] { unsafe _ = chmod(database + suffix, 0o600) }
    }

    /// Looks whether what stands in the places of the database and of the files that SQLite keeps beside it are files, before
    /// SQLite opens them: of a FIFO it would wait for the other end, and of the rest it has no word for the cause. Of the
    /// database what a link leads to counts; in the other places SQLite follows none (`O_NOFOLLOW`).
    ///
    /// Where there is nothing there is nothing to refuse.
    func checkKinds() throws(StoreOpenError) {
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let name = "push.db" + suffix
            var status = stat()
            guard unsafe lstat(database + suffix, &status) == 0 else {
                if errno == ENOENT { continue }
                throw .directory(errno: errno)
            }
            if suffix.isEmpty, unsafe stat(database, &status) != 0 { throw .deadLink(errno: errno) }
            guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile(name) }
        }
    }

    /// Looks whether this user may read the database, for whoever only reads: SQLite does not tell that from a file that may
    /// not be written to.
    func checkReadable() throws(StoreOpenError) {
        guard unsafe faccessat(AT_FDCWD, database, R_OK, AT_EACCESS) != 0, errno != ENOENT else { return }
        throw .unreadable(errno: errno)
    }

    /// Looks at the log that an earlier process may have left, before SQLite does: of a database without a page it deletes
    /// the log, and a log whose header does not add up it writes over.
    func checkLog() throws(StoreOpenError) {
        let file = unsafe open(database + "-wal", O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        // Without a log there is nothing to lose; one that cannot be read, SQLite refuses.
        guard file >= 0 else { return }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: LogHeader.length)
        let count = unsafe pread(file, &bytes, bytes.count, 0)
        guard count > 0 else { return }
        var status = stat()
        guard unsafe stat(database, &status) == 0, status.st_size > 0 else { throw .logWithoutDatabase }
        guard !LogHeader.isDamaged(Array(bytes.prefix(count))) else { throw .logDamaged }
    }

    /// Puts a directory's entries on the disk, so that a power cut leaves what was made in it. Some file systems cannot.
    private func sync(_ directory: String) {
        let folder = unsafe open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return }
        _ = fsync(folder)
        close(folder)
    }

    /// Makes the directory, and those above it, where it is missing.
    func makeDirectories() throws(StoreOpenError) {
        var parent = path.hasPrefix("/") ? "" : "."
        var refusal = ENOENT
        for name in path.split(separator: "/") {
            parent += "/" + name
            guard unsafe mkdir(parent, 0o700) != 0 else {
                sync(parent + "/..")
                continue
            }
            switch errno {
            case EEXIST: break
            // It may be there all the same: that is looked at before it is asked whether one may be made.
            case EROFS, EACCES, EPERM: refusal = errno
            // One above it could not be made: why is what to tell.
            case ENOENT: throw .directory(errno: refusal)
            default: throw .directory(errno: errno)
            }
        }
        var status = stat()
        guard unsafe stat(location, &status) == 0 else {
            // That it is not there says less than why it could not be made.
            throw .directory(errno: errno == ENOENT ? refusal : errno)
        }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw .directory(errno: ENOTDIR) }
    }

    private var location: String { path.isEmpty ? "." : path }
}
