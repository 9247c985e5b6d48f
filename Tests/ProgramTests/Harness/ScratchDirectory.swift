import Glibc

/// A directory of its own under `/tmp`, gone with its owner.
final class ScratchDirectory: Sendable {
    let path: String

    init() {
        var template = Array("/tmp/gryt-program-XXXXXX".utf8CString)
        precondition(unsafe mkdtemp(&template) != nil, "no scratch directory")
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { shell("chmod -R u+rwx '\(path)'; rm -rf '\(path)'") }

    /// Writes a file, and the directories on the way to it.
    func write(_ text: String, to name: String) {
        if let slash = name.lastIndex(of: "/") { shell("mkdir -p '\(path)/\(name[..<slash])'") }
        let file = unsafe open(path + "/" + name, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        precondition(file >= 0, "\(name) cannot be written")
        defer { close(file) }
        let bytes = Array(text.utf8)
        precondition(unsafe Glibc.write(file, bytes, bytes.count) == bytes.count, "\(name) cannot be written")
    }

    /// All bytes of a file; none when there is no such file.
    func bytes(_ name: String) -> [UInt8] { fileBytes(path + "/" + name) }

    func text(_ name: String) -> String { String(decoding: bytes(name), as: UTF8.self) }

    /// Runs SQL in the `sqlite3` program and gives what it prints.
    @discardableResult
    func sqlite(_ sql: String, in database: String) -> String {
        write(sql, to: "script.sql")
        let status = shell(
            "sqlite3 -bail '\(path)/\(database)' < '\(path)/script.sql' > '\(path)/output' 2> '\(path)/errors'")
        precondition(status == 0, "sqlite3 refused a script: \(text("errors"))")
        return text("output")
    }
}

/// All bytes of a file; none when there is no such file.
func fileBytes(_ path: String) -> [UInt8] {
    let file = unsafe open(path, O_RDONLY)
    guard file >= 0 else { return [] }
    defer { close(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = unsafe read(file, &buffer, buffer.count)
        guard count > 0 else { return bytes }
        bytes += buffer[..<count]
    }
}

/// Runs a command and gives what the shell says of its end.
@discardableResult
func shell(_ command: String) -> Int32 { unsafe system(command) }
