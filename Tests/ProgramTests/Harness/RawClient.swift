import Glibc
import PushSimulator

/// A blocking connection to a port of 127.0.0.1 that sends exactly the bytes it is given. For ``onOwnThread(_:)``.
final class RawClient {
    private let descriptor: Int32
    private var buffer: [UInt8] = []

    /// Connects. Whatever takes longer than thirty seconds fails.
    init(port: UInt16) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var patience = timeval(tv_sec: 30, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        unsafe _ = setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, size)
        unsafe _ = setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, size)
        var one: Int32 = 1
        unsafe _ = setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let connected = unsafe withUnsafeBytes(of: address) { bytes in
            unsafe connect(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), UInt32(bytes.count))
        }
        guard connected == 0 else {
            let code = errno
            close(descriptor)
            throw ClientFault.cannotConnect(code)
        }
    }

    deinit { close(descriptor) }

    func send(_ text: String) throws { try send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.send(
                    descriptor, buffer.baseAddress?.advanced(by: sent), bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw ClientFault.cannotSend(errno) }
            sent += count
        }
    }

    /// Says that nothing more will be sent.
    func endWriting() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Makes the connection end with a reset in place of an orderly close when this client goes.
    func willReset() {
        var lingering = linger(l_onoff: 1, l_linger: 0)
        unsafe _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &lingering, UInt32(MemoryLayout<linger>.size))
    }

    /// Reads one answer, interim ones too; nil where the relay closed without one.
    func answer(toHead: Bool = false) throws -> Answer? {
        while true {
            if let end = headEnd {
                var answer = Answer(head: String(decoding: buffer[..<end], as: UTF8.self))
                let isBodiless = toHead || answer.status == 204 || answer.status < 200
                let length = isBodiless ? 0 : Int(answer["content-length"] ?? "") ?? 0
                while buffer.count < end + 4 + length {
                    guard try fill() else { throw ClientFault.cutShort }
                }
                answer.body = String(decoding: buffer[(end + 4)..<(end + 4 + length)], as: UTF8.self)
                buffer.removeFirst(end + 4 + length)
                return answer
            }
            guard try fill() else {
                if buffer.isEmpty { return nil }
                throw ClientFault.cutShort
            }
        }
    }

    /// The next answer, which must come.
    func nextAnswer(toHead: Bool = false) throws -> Answer {
        guard let answer = try answer(toHead: toHead) else { throw ClientFault.closed }
        return answer
    }

    /// Whether the relay has closed, with nothing more to read. Waits for it.
    func isAtEnd() throws -> Bool { try buffer.isEmpty && !fill() }

    private var headEnd: Int? {
        guard buffer.count >= 4 else { return nil }
        return (0...(buffer.count - 4)).first { place in
            buffer[place] == 13 && buffer[place + 1] == 10 && buffer[place + 2] == 13 && buffer[place + 3] == 10
        }
    }

    private func fill() throws -> Bool {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe recv(descriptor, &chunk, chunk.count, 0)
        guard count >= 0 else { throw ClientFault.cannotReceive(errno) }
        buffer += chunk[..<count]
        return count > 0
    }
}

/// Why there is no answer.
enum ClientFault: Error {
    case cannotConnect(Int32)
    case cannotSend(Int32)
    case cannotReceive(Int32)
    case cutShort
    case closed
}

/// One answer as it came.
struct Answer: Sendable {
    let status: Int
    /// Names in lower case.
    let fields: [(name: String, value: String)]
    var body = ""

    init(head: String) {
        // To Swift a CRLF is one character.
        let lines = head.split(separator: "\r\n", omittingEmptySubsequences: false)
        status = Int(lines[0].split(separator: " ").dropFirst().first ?? "") ?? 0
        fields = lines.dropFirst().map { line in
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            return (parts[0].lowercased(), parts.count > 1 ? String(parts[1].drop { $0 == " " }) : "")
        }
    }

    /// The value of a header that comes once; nil where it is absent or repeated.
    subscript(_ name: String) -> String? {
        let values = fields.filter { $0.name == name }
        return values.count == 1 ? values[0].value : nil
    }

    var json: JSON? { JSON(text: body) }
    var error: String? { json?["error"]?.string }
    var reason: String? { json?["reason"]?.string }
    var retryAfter: Int64? { json?["retry_after"]?.integer }
    /// Status and code, the way the contract's tables read.
    var summary: String { ([String(status)] + [error, reason].compactMap { $0 }).joined(separator: " ") }
}
