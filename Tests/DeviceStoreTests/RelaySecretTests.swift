import Cryptography
import DeviceStore
import Glibc
import PushModel
import Testing

private let hexText = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

@Suite(.timeLimit(.minutes(1)))
struct RelaySecretTests {
    // echo -n 000102…1f | xxd -r -p | openssl base64
    private static let sameSecret = [
        hexText, hexText.uppercased(), "  \(hexText)\n",
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
    ]

    @Test(arguments: sameSecret)
    func `hex, base64 and base64url name the same secret`(text: String) throws {
        #expect(try RelaySecret(text: text).checkValue == RelaySecret(text: hexText).checkValue)
    }

    @Test func `both alphabets of base64 are read`() throws {
        let standard = try RelaySecret(text: String(repeating: "+/", count: 21) + "8")
        let urlSafe = try RelaySecret(text: String(repeating: "-_", count: 21) + "8=")
        #expect(standard.checkValue == urlSafe.checkValue)
    }

    private static let wrong: [(text: String, error: RelaySecretError)] = [
        ("", .empty), (" \n", .empty), ("secret", .wrongLength), (hexText + "00", .wrongLength),
        (String(hexText.dropLast(2)), .wrongLength), (String(hexText.dropLast()) + "g", .notEncoded),
        (String(repeating: "A", count: 42) + "!", .notEncoded), (String(repeating: "A", count: 43) + "A", .notEncoded),
        // Bits over that no encoder leaves.
        (String(repeating: "A", count: 42) + "B", .notEncoded),
        (String(repeating: "0", count: 64), .noSecret), (String(repeating: "f", count: 64), .noSecret),
    ]

    @Test(arguments: wrong)
    func `a text that is no secret is refused by name`(text: String, error: RelaySecretError) {
        #expect(throws: error) { try RelaySecret(text: text) }
    }

    @Test func `a fingerprint knows its token and platform under one secret only`() throws {
        let secret = try RelaySecret(text: hexText)
        let text = String(repeating: "ab", count: 32)
        let fingerprint = secret.fingerprint(of: DeviceToken(unchecked: text, for: .ios))
        #expect(fingerprint == secret.fingerprint(of: DeviceToken(unchecked: text, for: .ios)))
        #expect(fingerprint != secret.fingerprint(of: DeviceToken(unchecked: text, for: .android)))
        #expect(fingerprint != secret.fingerprint(of: DeviceToken(unchecked: text + "a", for: .ios)))
        #expect(fingerprint != RelaySecret.generate().fingerprint(of: DeviceToken(unchecked: text, for: .ios)))
        let message = Array("fingerprint\0ios\0\(text)".utf8)
        #expect(fingerprint.digest == HMACSHA256.authenticate(message, key: Array(0..<32)))
        #expect(fingerprint.digest != secret.checkValue)
    }

    @Test func `neither secret nor fingerprint prints`() throws {
        let secret = try RelaySecret(text: hexText)
        var dumped = ""
        dump(secret, to: &dumped)
        dump(secret.fingerprint(of: DeviceToken(unchecked: "x", for: .ios)), to: &dumped)
        #expect("\(secret)" == "(relay secret)")
        #expect(!dumped.contains("bytes") && !dumped.contains("digest"))
    }
}

@Suite(.timeLimit(.minutes(1)))
struct RelaySecretFileTests {
    @Test func `a secret is made once, for the owner's eyes only, and read again`() throws {
        try withDirectory { directory in
            let file = RelaySecretFile(in: directory)
            let made = try file.load(mayMake: true)
            #expect(made.wasMade && !made.wasReadableByOthers)
            #expect(mode(of: file.path) == 0o600)
            let again = try file.load(mayMake: true)
            #expect(!again.wasMade)
            #expect(again.secret.checkValue == made.secret.checkValue)
            #expect(entries(of: directory) == ["secret.key"])
        }
    }

    @Test func `a lost secret is not made anew`() throws {
        try withDirectory { directory in
            #expect(throws: RelaySecretError.lost) { try RelaySecretFile(in: directory).load(mayMake: false) }
            #expect(entries(of: directory).isEmpty)
        }
    }

    @Test func `of many relays that start at once all get the same secret`() async throws {
        let directory = try makeDirectory()
        defer { remove(directory) }
        let values = try await withThrowingTaskGroup(of: SHA256Digest.self) { group in
            for _ in 0..<16 {
                group.addTask { try RelaySecretFile(in: directory).load(mayMake: true).secret.checkValue }
            }
            return try await group.reduce(into: Set<SHA256Digest>()) { $0.insert($1) }
        }
        #expect(values.count == 1)
        #expect(entries(of: directory) == ["secret.key"])
    }

    @Test func `a file that others can read is closed to them and reported`() throws {
        try withDirectory { directory in
            let file = RelaySecretFile(in: directory)
            write(hexText + "\n", to: file.path, mode: 0o644)
            let contents = try file.load(mayMake: false)
            #expect(contents.wasReadableByOthers && !contents.wasMade)
            #expect(mode(of: file.path) == 0o600)
        }
    }

    @Test(arguments: [
        ("", RelaySecretError.empty), ("abc", .wrongLength), (String(repeating: "x", count: 300), .wrongLength),
    ])
    func `a file that holds no secret is refused and left alone`(text: String, error: RelaySecretError) throws {
        try withDirectory { directory in
            let file = RelaySecretFile(in: directory)
            write(text, to: file.path, mode: 0o600)
            #expect(throws: error) { try file.load(mayMake: true) }
            #expect(throws: error) { try file.load(mayMake: true) }
        }
    }

    @Test func `what a start that was killed left behind is cleared away at the next, and nothing else is`() throws {
        try withDirectory { directory in
            let file = RelaySecretFile(in: directory)
            let strangers = [
                "secret.key.0123456789abcde", "secret.key.0123456789abcdef0", "secret.key.0123456789ABCDEF",
                "secret.key.0123456789abcdeg", "secret.key.bak", "other.key.0123456789abcdef",
            ]
            for name in strangers { write("mine", to: directory + "/" + name, mode: 0o600) }
            // Killed before the link: there is no secret yet.
            write(hexText, to: directory + "/secret.key.00000000000000aa", mode: 0o600)
            let made = try file.load(mayMake: true)
            #expect(made.wasMade)
            #expect(entries(of: directory) == (strangers + ["secret.key"]).sorted())
            // Killed between the link and the unlink.
            #expect(unsafe link(file.path, directory + "/secret.key.fedcba9876543210") == 0)
            let again = try file.load(mayMake: false)
            #expect(again.secret.checkValue == made.secret.checkValue)
            #expect(entries(of: directory) == (strangers + ["secret.key"]).sorted())
        }
    }

    @Test func `what may be the only copy of a lost secret is left`() throws {
        try withDirectory { directory in
            write(hexText, to: directory + "/secret.key.00000000000000aa", mode: 0o600)
            #expect(throws: RelaySecretError.lost) { try RelaySecretFile(in: directory).load(mayMake: false) }
            #expect(entries(of: directory) == ["secret.key.00000000000000aa"])
        }
    }

    @Test(arguments: [S_IFDIR, S_IFIFO, S_IFSOCK])
    func `anything but a file in its place is refused at once`(kind: mode_t) throws {
        try withDirectory { directory in
            let path = directory + "/secret.key"
            let made = kind == S_IFDIR ? unsafe mkdir(path, 0o755) : unsafe mknod(path, kind | 0o644, 0)
            #expect(made == 0)
            #expect(throws: RelaySecretError.notAFile) { try RelaySecretFile(in: directory).load(mayMake: true) }
            #expect(mode(of: path) & 0o044 != 0)
            unsafe rmdir(path)
        }
    }

    @Test func `a link to a file is followed`() throws {
        try withDirectory { directory in
            write(hexText, to: directory + "/elsewhere", mode: 0o600)
            #expect(unsafe symlink("elsewhere", directory + "/secret.key") == 0)
            let contents = try RelaySecretFile(in: directory).load(mayMake: false)
            #expect(try contents.secret.checkValue == RelaySecret(text: hexText).checkValue)
        }
    }

    @Test func `what the system said is told in its words`() {
        #expect(RelaySecretError.file(.open, errno: EACCES).description.contains("open failed: Permission denied; "))
    }
}

private struct NoDirectory: Error {}

private func makeDirectory() throws -> String {
    var template = Array("/tmp/gryt-secret-XXXXXX".utf8CString)
    guard unsafe mkdtemp(&template) != nil else { throw NoDirectory() }
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

private func withDirectory(_ body: (String) throws -> Void) throws {
    let directory = try makeDirectory()
    defer { remove(directory) }
    try body(directory)
}

private func entries(of directory: String) -> [String] {
    guard let handle = unsafe opendir(directory) else { return [] }
    defer { unsafe closedir(handle) }
    var names: [String] = []
    while let entry = unsafe readdir(handle) {
        let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
}

private func remove(_ directory: String) {
    for name in entries(of: directory) { unsafe unlink(directory + "/" + name) }
    unsafe rmdir(directory)
}

private func mode(of path: String) -> mode_t {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return 0 }
    return status.st_mode & 0o777
}

private func write(_ text: String, to path: String, mode: mode_t) {
    let file = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC, mode)
    let bytes = Array(text.utf8)
    unsafe _ = write(file, bytes, bytes.count)
    fchmod(file, mode)
    close(file)
}
