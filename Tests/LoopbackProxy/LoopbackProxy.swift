import Glibc
import Synchronization

/// A forward proxy for tests: takes `CONNECT` on a port of 127.0.0.1 of the kernel's choice and does what it is told.
///
/// Tunnels always lead to 127.0.0.1, to the port that was asked for, whatever the name: so a test can ask for a name that
/// nobody could look up, and see that nobody did. Each connection has a thread, with blocking calls. Any thread may ask.
package final class LoopbackProxy: Sendable {
    /// What it does with a request.
    package enum Manner: Sendable {
        /// Makes a tunnel and says so in these words, the last of them an empty line.
        case opens(String)
        /// Says this, whatever it is, and closes.
        case says(String)
        /// Makes a tunnel, but says so only once it has been told to by ``release()``.
        case holdsBack
        /// Reads the request and closes.
        case hangsUp
        /// Reads and never answers.
        case isSilent
    }

    /// The plain way to open a tunnel.
    package static let established = Manner.opens("HTTP/1.1 200 Connection established\r\n\r\n")

    package let port: UInt16
    private let listener: Int32
    private let state: Mutex<State>

    private struct State {
        var manner: Manner
        var requests: [String] = []
        var sockets: Set<Int32> = []
        var threads: [pthread_t] = []
        var tunnels = 0
        var isReleased = false
        var isStopping = false
    }

    /// Starts to listen. Release it by ``stop()``.
    package init(_ manner: Manner = established) {
        state = Mutex(State(manner: manner))
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = loopback(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = unsafe withUnsafeMutablePointer(to: &address) { [listener] pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                unsafe bind(listener, raw, length) == 0 && getsockname(listener, raw, &length) == 0
            }
        }
        guard isBound, listen(listener, 128) == 0 else { fatalError("no port left") }
        port = UInt16(bigEndian: address.sin_port)
        runThread { [self] in acceptAll() }
    }

    /// What it does with requests from now on.
    package var manner: Manner {
        get { state.withLock { $0.manner } }
        set { state.withLock { $0.manner = newValue } }
    }

    /// The heads of all requests so far, whole.
    package var requests: [String] { state.withLock { $0.requests } }

    /// How many tunnels it has made so far.
    package var tunnels: Int { state.withLock { $0.tunnels } }

    /// Lets those go on that are held back.
    package func release() { state.withLock { $0.isReleased = true } }

    /// Ends all connections, as when the proxy is started anew.
    package func cut() {
        state.withLock { state in
            for socket in state.sockets { shutdown(socket, Int32(SHUT_RDWR)) }
        }
    }

    /// Ends everything.
    package func stop() {
        state.withLock { $0.isStopping = true }
        shutdown(listener, Int32(SHUT_RDWR))
        cut()
        while let thread = state.withLock({ $0.threads.popLast() }) { pthread_join(thread, nil) }
        close(listener)
    }

    private func acceptAll() {
        while true {
            let socket = accept(listener, nil, nil)
            guard socket >= 0 else { return }
            guard keep(socket) else { return }
            runThread { [self] in
                serve(socket)
                drop(socket)
            }
        }
    }

    /// Whether it may stay; it is closed otherwise.
    private func keep(_ socket: Int32) -> Bool {
        let isKept = state.withLock { state in
            guard !state.isStopping else { return false }
            state.sockets.insert(socket)
            return true
        }
        if !isKept { close(socket) }
        return isKept
    }

    private func drop(_ socket: Int32) {
        state.withLock { state in
            state.sockets.remove(socket)
            _ = close(socket)
        }
    }

    private func serve(_ socket: Int32) {
        guard let head = readHead(socket) else { return }
        let manner = state.withLock { state in
            state.requests.append(head)
            return state.manner
        }
        switch manner {
        case .opens(let words): tunnel(socket, head, words)
        case .says(let words): send(words, to: socket)
        case .hangsUp: return
        case .isSilent: waitForEnd(socket)
        case .holdsBack:
            while !state.withLock({ $0.isReleased || $0.isStopping }) { usleep(1000) }
            tunnel(socket, head, "HTTP/1.1 200 OK\r\n\r\n")
        }
    }

    /// The head of a request, empty line and all; nil when the client goes before.
    private func readHead(_ socket: Int32) -> String? {
        var head: [UInt8] = []
        var byte: UInt8 = 0
        while !head.suffix(4).elementsEqual([13, 10, 13, 10]) {
            guard unsafe recv(socket, &byte, 1, 0) == 1, head.count < 65_536 else { return nil }
            head.append(byte)
        }
        return String(decoding: head, as: UTF8.self)
    }

    private func tunnel(_ client: Int32, _ head: String, _ words: String) {
        let target = head.split(separator: " ").dropFirst().first ?? ""
        guard let port = target.split(separator: ":").last.flatMap({ UInt16($0) }) else { return }
        let origin = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard keep(origin) else { return }
        defer { drop(origin) }
        var address = loopback(port: port)
        let code = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                unsafe connect(origin, raw, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else {
            send("HTTP/1.1 502 Bad Gateway\r\n\r\n", to: client)
            return
        }
        state.withLock { $0.tunnels += 1 }
        send(words, to: client)
        copy(between: client, and: origin)
    }

    /// Copies both ways until one side has ended.
    private func copy(between left: Int32, and right: Int32) {
        var one: Int32 = 1
        for socket in [left, right] { unsafe setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4) }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            var entries = [left, right].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard unsafe poll(&entries, 2, -1) > 0 else { return }
            for (entry, other) in zip(entries, [right, left]) where entry.revents != 0 {
                let count = unsafe recv(entry.fd, &buffer, buffer.count, 0)
                guard count > 0, send(buffer[..<count], to: other) else { return }
            }
        }
    }

    private func waitForEnd(_ socket: Int32) {
        var byte: UInt8 = 0
        while unsafe recv(socket, &byte, 1, 0) > 0 {}
    }

    private func send(_ text: String, to socket: Int32) { _ = send(Array(text.utf8)[...], to: socket) }

    private func send(_ bytes: ArraySlice<UInt8>, to socket: Int32) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { raw in
                unsafe Glibc.send(socket, raw.baseAddress, raw.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    private func runThread(_ body: @escaping @Sendable () -> Void) {
        var thread = pthread_t()
        let code = unsafe pthread_create(
            &thread, nil, runThreadBody, Unmanaged.passRetained(ThreadBody(body)).toOpaque())
        precondition(code == 0, "the system gives no thread")
        state.withLock { $0.threads.append(thread) }
    }
}

private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

private func runThreadBody(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context else { return nil }
    unsafe Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue().run()
    return nil
}

private func loopback(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = port.bigEndian
    return address
}
