import CSystem
import Glibc

/// Asks a listener on this machine one question over HTTP/1.1, for commands: without TLS, blocking, and bounded.
enum LoopbackRequest {
    /// What came back.
    struct Answer: Equatable {
        /// Three digits.
        var status: Int
        /// What stands behind the head, as it came.
        var body: [UInt8]
    }

    /// Why nothing did.
    enum Fault: Error, Equatable, CustomStringConvertible {
        /// Nobody took the connection, by the system's number.
        case notConnected(errno: Int32)
        /// It was taken, and the answer did not come in time.
        case silent
        /// The connection ended without an answer, or what came is none in HTTP/1.1.
        case noAnswer

        var description: String {
            switch self {
            case .notConnected(let errno): SystemFile.reason(errno)
            case .silent: "it took the connection and did not answer in time"
            case .noAnswer: "what answers there does not speak HTTP/1.1"
            }
        }
    }

    /// Bytes of an answer that are read; the relay's own are far shorter.
    private static let longest = 1 << 16

    /// Where whoever is on this machine reaches a listener: the address itself, or the loopback address of an address that
    /// stands for all of them. `::` takes both families, and a machine may have but one.
    static func addresses(ofListener host: String) -> [String] {
        var four = in_addr()
        var six = in6_addr()
        if unsafe inet_pton(AF_INET, host, &four) == 1 { return [four.s_addr == 0 ? "127.0.0.1" : host] }
        guard unsafe inet_pton(AF_INET6, host, &six) == 1 else { return [host] }
        let isAny = unsafe withUnsafeBytes(of: six) { unsafe $0.allSatisfy { $0 == 0 } }
        return isAny ? ["::1", "127.0.0.1"] : [host]
    }

    /// Asks for a path. Tries one address of the listener after the other, and takes the first that takes the connection.
    ///
    /// - Parameter within: for all of it.
    static func get(
        _ path: String, ofListener host: String, port: Int, within bound: Duration
    ) -> Result<Answer, Fault> {
        let deadline = ContinuousClock.now.advanced(by: bound)
        var fault = Fault.notConnected(errno: EADDRNOTAVAIL)
        for address in addresses(ofListener: host) {
            do throws(Fault) {
                let socket = try connect(to: address, port: port, by: deadline)
                return .success(try ask(path, of: address, over: socket.number, by: deadline))
            } catch .notConnected(let errno) {
                fault = .notConnected(errno: errno)
            } catch {
                return .failure(error)
            }
        }
        return .failure(fault)
    }

    private static func connect(
        to host: String, port: Int, by deadline: ContinuousClock.Instant
    ) throws(Fault) -> OwnedDescriptor {
        var four = sockaddr_in()
        var six = sockaddr_in6()
        let isFour = unsafe inet_pton(AF_INET, host, &four.sin_addr) == 1
        let isSix = unsafe inet_pton(AF_INET6, host, &six.sin6_addr) == 1
        guard isFour || isSix else { throw .notConnected(errno: EADDRNOTAVAIL) }
        four.sin_family = sa_family_t(AF_INET)
        six.sin6_family = sa_family_t(AF_INET6)
        four.sin_port = UInt16(port).bigEndian
        six.sin6_port = UInt16(port).bigEndian
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let number = socket(isFour ? AF_INET : AF_INET6, type, 0)
        guard number >= 0 else { throw .notConnected(errno: errno) }
        let owned = OwnedDescriptor(number)
        let code =
            unsafe isFour
            ? withUnsafeBytes(of: &four) { unsafe connect(number, $0) }
            : withUnsafeBytes(of: &six) { unsafe connect(number, $0) }
        guard code != 0 else { return owned }
        guard errno == EINPROGRESS else { throw .notConnected(errno: errno) }
        guard wait(for: POLLOUT, on: number, by: deadline) else { throw .notConnected(errno: ETIMEDOUT) }
        var result: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        unsafe _ = getsockopt(number, SOL_SOCKET, SO_ERROR, &result, &size)
        guard result == 0 else { throw .notConnected(errno: result) }
        return owned
    }

    private static func connect(_ number: Int32, _ address: UnsafeRawBufferPointer) -> Int32 {
        unsafe Glibc.connect(
            number, address.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(address.count))
    }

    private static func ask(
        _ path: String, of host: String, over socket: Int32, by deadline: ContinuousClock.Instant
    ) throws(Fault) -> Answer {
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        let request = Array("GET \(path) HTTP/1.1\r\nHost: \(name)\r\nConnection: close\r\n\r\n".utf8)
        // So short that it goes at once into the empty buffer of a new connection.
        guard unsafe send(socket, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else { throw .noAnswer }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4096)
        while bytes.count < longest {
            guard wait(for: POLLIN, on: socket, by: deadline) else { throw .silent }
            let count = unsafe recv(socket, &part, part.count, 0)
            if count < 0, errno == EAGAIN || errno == EINTR { continue }
            guard count > 0 else { break }
            bytes += part[..<count]
        }
        guard let answer = read(bytes) else { throw .noAnswer }
        return answer
    }

    /// Status line, head and body of an answer that ends with its connection (RFC 9112, section 6.3).
    static func read(_ bytes: [UInt8]) -> Answer? {
        let beginning = Array("HTTP/1.1 ".utf8)
        guard bytes.starts(with: beginning), bytes.count > beginning.count + 3,
            let status = plainDecimal(String(decoding: bytes[beginning.count..<beginning.count + 3], as: UTF8.self)),
            (100...999).contains(status)
        else { return nil }
        let end = Array("\r\n\r\n".utf8)
        let place = bytes.indices.first { bytes[$0...].starts(with: end) }
        return place.map { Answer(status: status, body: Array(bytes[($0 + end.count)...])) }
    }

    private static func wait(for event: Int32, on socket: Int32, by deadline: ContinuousClock.Instant) -> Bool {
        var entry = pollfd(fd: socket, events: Int16(event), revents: 0)
        while true {
            let left = ContinuousClock.now.duration(to: deadline).components
            let milliseconds = left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000
            guard milliseconds > 0 else { return false }
            let count = unsafe poll(&entry, 1, Int32(clamping: milliseconds))
            if count < 0, errno == EINTR { continue }
            return count > 0
        }
    }
}
