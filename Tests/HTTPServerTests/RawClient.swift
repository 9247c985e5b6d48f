#if canImport(Glibc)
    import Glibc
#endif

/// A blocking client that sends exactly the bytes it is given. Use it on a thread of its own (``onOwnThread(_:)``).
final class RawClient {
    private let descriptor: Int32
    private var buffer: [UInt8] = []
    /// How long it waits before each reading of 64 KiB at most, in microseconds.
    var pause: UInt32 = 0

    /// Connects to a port of 127.0.0.1, or of ::1. Whatever takes longer than ten seconds fails.
    ///
    /// - Parameter receiveBuffer: of what it does not read the system keeps some so many bytes; nil leaves it to the system.
    init(port: UInt16, family: AddressFamily = .four, receiveBuffer: Int32? = nil) throws {
        descriptor = socket(family == .four ? AF_INET : AF_INET6, Int32(SOCK_STREAM.rawValue), 0)
        var patience = timeval(tv_sec: 10, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        unsafe _ = setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, size)
        unsafe _ = setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, size)
        var one: Int32 = 1
        unsafe _ = setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
        if var receiveBuffer { unsafe _ = setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, 4) }
        let connected: Int32
        if family == .four {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            connected = unsafe withUnsafeBytes(of: address) { bytes in
                unsafe connect(
                    descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), UInt32(bytes.count))
            }
        } else {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            unsafe _ = inet_pton(AF_INET6, "::1", &address.sin6_addr)
            connected = unsafe withUnsafeBytes(of: address) { bytes in
                unsafe connect(
                    descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), UInt32(bytes.count))
            }
        }
        guard connected == 0 else { throw ClientError.cannotConnect(errno) }
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
            guard count > 0 else { throw ClientError.cannotSend(errno) }
            sent += count
        }
    }

    /// Sends as much as the system takes until it has taken nothing for a while; gives the number of bytes.
    func sendUntilStuck(_ bytes: [UInt8]) -> Int {
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.send(
                    descriptor, buffer.baseAddress?.advanced(by: sent), bytes.count - sent,
                    Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            }
            if count > 0 {
                sent += count
                continue
            }
            var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            guard unsafe poll(&entry, 1, 300) > 0, Int32(entry.revents) & Int32(POLLERR | POLLHUP) == 0 else { break }
        }
        return sent
    }

    /// Makes the connection end with a reset in place of an orderly close when this client goes.
    func willReset() {
        var lingering = linger(l_onoff: 1, l_linger: 0)
        unsafe _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &lingering, UInt32(MemoryLayout<linger>.size))
    }

    func endWriting() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Reads one response; nil where the server closed without one.
    func response(toHead: Bool = false) throws -> RawResponse? {
        while true {
            if let end = headEnd {
                var response = RawResponse(head: String(decoding: buffer[..<end], as: UTF8.self))
                let length = toHead || response.status == 204 ? 0 : Int(response["content-length"] ?? "0") ?? 0
                if response.status == 100 {
                    buffer.removeFirst(end + 4)
                    return response
                }
                while buffer.count < end + 4 + length {
                    guard try fill() else { throw ClientError.cutShort }
                }
                response.body = String(decoding: buffer[(end + 4)..<(end + 4 + length)], as: UTF8.self)
                buffer.removeFirst(end + 4 + length)
                return response
            }
            guard try fill() else {
                if buffer.isEmpty { return nil }
                throw ClientError.cutShort
            }
        }
    }

    /// Whether the server has closed, with nothing more to read. Waits for it.
    func isAtEnd() throws -> Bool { try buffer.isEmpty && !fill() }

    /// Whether there is something to read, or the end, within so many milliseconds.
    func hasNews(within milliseconds: Int32) -> Bool {
        if !buffer.isEmpty { return true }
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&entry, 1, milliseconds) > 0
    }

    /// Everything that comes until the server closes.
    func rest() throws -> String {
        while try fill() {}
        return String(decoding: buffer, as: UTF8.self)
    }

    private var headEnd: Int? {
        guard buffer.count >= 4 else { return nil }
        return (0...(buffer.count - 4)).first { Array(buffer[$0..<($0 + 4)]) == [13, 10, 13, 10] }
    }

    private func fill() throws -> Bool {
        if pause > 0 { usleep(pause) }
        var chunk = [UInt8](repeating: 0, count: 65536)
        let count = unsafe chunk.withUnsafeMutableBytes { unsafe recv(descriptor, $0.baseAddress, $0.count, 0) }
        guard count >= 0 else { throw ClientError.cannotReceive(errno) }
        buffer += chunk[..<count]
        return count > 0
    }
}

/// One response as it came.
struct RawResponse: Sendable {
    let status: Int
    let fields: [(name: String, value: String)]
    var body = ""

    init(head: String) {
        let lines = head.split(separator: "\r\n", omittingEmptySubsequences: false)
        status = Int(lines[0].split(separator: " ")[1]) ?? 0
        fields = lines.dropFirst().map { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            return (parts[0].lowercased(), String(parts[1].drop { $0 == " " }))
        }
    }

    subscript(_ name: String) -> String? { fields.first { $0.name == name }?.value }
}

enum ClientError: Error {
    case cannotConnect(Int32)
    case cannotSend(Int32)
    case cannotReceive(Int32)
    case cutShort
}

/// Runs something that blocks, without holding a thread of the pool.
func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        let work = Work { continuation.resume(with: Result(catching: body)) }
        var thread = pthread_t()
        unsafe pthread_create(&thread, nil, runWork, Unmanaged.passRetained(work).toOpaque())
        pthread_detach(thread)
    }
}

private final class Work {
    let body: () -> Void
    init(_ body: @escaping () -> Void) { self.body = body }
}

private func runWork(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context else { return nil }
    unsafe Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
    return nil
}

enum AddressFamily: Sendable {
    case four
    case six
}
