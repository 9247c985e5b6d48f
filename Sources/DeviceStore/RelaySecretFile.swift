#if canImport(Glibc)
    import Glibc
#endif

/// The file in the data directory that the relay's secret is kept in, for whoever does not set `RELAY_SECRET`.
package struct RelaySecretFile: Sendable {
    /// The file's name in the data directory.
    package static let name = "secret.key"

    /// The file's full path.
    package let path: String
    private let directory: String

    /// The file of a data directory, which exists.
    package init(in directory: String) {
        self.directory = directory
        path = directory + "/" + Self.name
    }

    /// What reading it found.
    package struct Contents: Sendable {
        /// The secret.
        package var secret: RelaySecret
        /// The file was made just now.
        package var wasMade: Bool
        /// Other users could read the file until now; whoever did may know the secret.
        package var wasReadableByOthers: Bool
    }

    /// Reads the secret, making one first where there is none and `mayMake` says so. When it returns, the file is on
    /// disk and only its owner can read it.
    ///
    /// - Throws: ``RelaySecretError``; ``RelaySecretError/lost`` when there is none and none may be made.
    package func load(mayMake: Bool) throws(RelaySecretError) -> Contents {
        if let found = try read() {
            removeDrafts()
            return found
        }
        guard mayMake else { throw .lost }
        let wasMade = try make()
        guard var contents = try read() else { throw .file(.open, errno: ENOENT) }
        contents.wasMade = wasMade
        removeDrafts()
        return contents
    }

    /// Reads the secret and changes nothing: neither is one made, nor is the file closed to other users. Nil when there is
    /// none.
    package func look() throws(RelaySecretError) -> Contents? { try read(closing: false) }

    /// - Parameter closing: whether the file is closed to other users, where it is open to them.
    private func read(closing: Bool = true) throws(RelaySecretError) -> Contents? {
        // A FIFO would let an opening without O_NONBLOCK wait for a writer; a socket gives ENXIO (open(2)).
        let file = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard file >= 0 else {
            switch errno {
            case ENOENT: return nil
            case ENXIO: throw .notAFile
            default: throw .file(.open, errno: errno)
            }
        }
        defer { Glibc.close(file) }
        var status = stat()
        guard unsafe fstat(file, &status) == 0 else { throw .file(.read, errno: errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile }
        let isReadableByOthers = status.st_mode & 0o077 != 0
        if isReadableByOthers, closing, fchmod(file, 0o600) != 0 { throw .readableByOthers }
        // Longer than any writing of 32 bytes, so that a wrong file is noticed without reading all of it.
        var buffer = [UInt8](repeating: 0, count: 256)
        let count = unsafe Glibc.read(file, &buffer, buffer.count)
        guard count >= 0 else { throw .file(.read, errno: errno) }
        guard count < buffer.count else { throw .wrongLength }
        let secret = try RelaySecret(text: String(decoding: buffer.prefix(count), as: UTF8.self))
        return Contents(secret: secret, wasMade: false, wasReadableByOthers: isReadableByOthers)
    }

    /// Writes a fresh secret beside its place, and links it there when it is whole and on disk: nobody ever sees half a
    /// secret, and of two relays that start at once one's stays. Returns whether it was this one's.
    private func make() throws(RelaySecretError) -> Bool {
        let draft = Self.draft(of: path, UInt64.random(in: .min ... .max))
        let file = unsafe Glibc.open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw .file(.open, errno: errno) }
        defer {
            Glibc.close(file)
            unsafe unlink(draft)
        }
        let text = Array((RelaySecret.generate().disclosed + "\n").utf8)
        guard unsafe Glibc.write(file, text, text.count) == text.count else { throw .file(.write, errno: errno) }
        guard fsync(file) == 0 else { throw .file(.sync, errno: errno) }
        let linked = unsafe link(draft, path) == 0
        // ENOENT: another relay has its secret in place by now, and has cleared this draft away.
        guard linked || errno == EEXIST || errno == ENOENT else { throw .file(.link, errno: errno) }
        let folder = unsafe Glibc.open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw .file(.sync, errno: errno) }
        defer { Glibc.close(folder) }
        guard fsync(folder) == 0 else { throw .file(.sync, errno: errno) }
        return linked
    }

    private static let draftDigits = 16

    private static func draft(of path: String, _ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return path + "." + String(repeating: "0", count: draftDigits - digits.count) + digits
    }

    private static func isDraft(_ entry: String) -> Bool {
        guard entry.hasPrefix(name + ".") else { return false }
        let digits = entry.utf8.dropFirst(name.utf8.count + 1)
        return digits.count == draftDigits
            && digits.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    /// Removes what a start left that was killed before it could: a draft, or a second name of the secret itself. Only
    /// with the secret in its place, for otherwise it may be the only copy. What cannot be removed stays.
    private func removeDrafts() {
        guard let folder = unsafe opendir(directory) else { return }
        defer { unsafe closedir(folder) }
        var drafts: [String] = []
        while let entry = unsafe readdir(folder) {
            let entryName = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if Self.isDraft(entryName) { drafts.append(directory + "/" + entryName) }
        }
        for draft in drafts {
            var status = stat()
            guard unsafe lstat(draft, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
            unsafe unlink(draft)
        }
    }
}
