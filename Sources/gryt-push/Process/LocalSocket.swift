import CSystem
import Glibc

/// Unix sockets: a name in the file system, or in Linux's own name space, and messages with descriptors beside them.
enum LocalSocket {
    /// What goes over a socket.
    enum Kind {
        /// Messages, between two that are connected.
        case conversation
        /// Messages, to whoever listens.
        case notices
    }

    /// Makes a socket, non-blocking and closed on exec.
    static func make(_ kind: Kind) -> Int32 {
        let type =
            switch kind {
            case .conversation: SOCK_SEQPACKET
            case .notices: SOCK_DGRAM
            }
        return socket(AF_UNIX, Int32(type.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
    }

    /// What a name is given to a socket for.
    enum Use { case bind, connect }

    /// Binds or connects to a name. One that begins with `@` is of the abstract name space (unix(7)).
    ///
    /// - Returns: 0, or what the system said.
    static func name(_ descriptor: Int32, _ name: String, to use: Use) -> Int32 {
        var bytes = Array(name.utf8)
        if bytes.first == UInt8(ascii: "@") { bytes[0] = 0 }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let room = MemoryLayout.size(ofValue: address.sun_path)
        // One byte is left for the end of a path.
        guard (1..<room).contains(bytes.count) else { return ENAMETOOLONG }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size - room + bytes.count + (bytes.first == 0 ? 0 : 1))
        return unsafe withUnsafeBytes(of: &address) { raw in
            let pointer = unsafe raw.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            let result =
                switch use {
                case .bind: unsafe bind(descriptor, pointer, size)
                case .connect: unsafe connect(descriptor, pointer, size)
                }
            return result == 0 ? 0 : errno
        }
    }

    /// Sends one message with descriptors beside it.
    static func send(_ text: String, _ descriptors: [Int32] = [], to socket: Int32) -> Bool {
        let bytes = Array(text.utf8)
        return unsafe gryt_send_descriptors(socket, bytes, bytes.count, descriptors, descriptors.count) == bytes.count
    }

    /// Receives one message; nil when there is none, be it for now or for good: `errno` says. An empty one is the end.
    static func receive(from socket: Int32) -> (text: String, descriptors: [OwnedDescriptor])? {
        var bytes = [UInt8](repeating: 0, count: 256)
        var numbers = [Int32](repeating: -1, count: mostDescriptors)
        var count = 0
        let received = unsafe gryt_receive_descriptors(socket, &bytes, bytes.count, &numbers, &count)
        let descriptors = numbers.prefix(count).map { OwnedDescriptor($0) }
        guard received >= 0 else { return nil }
        return (String(decoding: bytes.prefix(received), as: UTF8.self), descriptors)
    }

    /// How many descriptors go with one message.
    static let mostDescriptors = Int(GRYT_MOST_DESCRIPTORS)

    /// Who is at the other end, and as which user; nil when the system does not say.
    static func peer(of socket: Int32) -> (process: pid_t, user: uid_t)? {
        var process = pid_t()
        var user = uid_t()
        return unsafe gryt_peer_of(socket, &process, &user) == 0 ? (process, user) : nil
    }

    /// Waits until there is something to read, or so many milliseconds have passed; less than none is none.
    static func waitForNews(on socket: Int32, milliseconds: Int32) -> Bool {
        var entry = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        while true {
            let count = unsafe poll(&entry, 1, max(milliseconds, 0))
            if count < 0, errno == EINTR { continue }
            return count > 0
        }
    }
}
