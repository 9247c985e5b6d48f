import EventLoops

#if canImport(Glibc)
    import Glibc
#endif

/// One connection to the proxy: the head of its request, the answer, and the bytes both ways after it. Loop thread.
@safe final class ProxyTunnel {
    private let loop: EventLoop
    private let ledger: Ledger
    private let port: (ProxyTarget) -> UInt16
    private let onEnd: (ProxyTunnel) -> Void
    private let client: Side
    private var upstream: Side?
    private var target = ""
    private var hasHead = false
    /// What the client hears once the other end is there; nil before there is another end, and after.
    private var answerWhenConnected: String?
    private var isEstablished = false
    private var isOver = false
    private var timer: LoopTimer?

    /// More than any client sends in a head.
    private static let longestHead = 16_384
    /// Bytes that may wait for one side before the other is no longer read.
    private static let mostWaiting = 262_144

    /// One end of the tunnel.
    @safe private final class Side {
        let descriptor: Int32
        var watcher: DescriptorWatcher?
        /// What waits to be written here.
        var waiting: [UInt8] = []
        /// Set when the connection is to be closed once all that waits has left.
        var closesWhenWritten = false

        init(_ descriptor: Int32) { self.descriptor = descriptor }

        /// Writes as much as goes; false when the connection is broken.
        func write() -> Bool {
            var sent = 0
            defer { waiting.removeFirst(sent) }
            while sent < waiting.count {
                let (count, code) = unsafe waiting.withUnsafeBytes { bytes in
                    let count = unsafe send(
                        descriptor, bytes.baseAddress?.advanced(by: sent), bytes.count - sent, Int32(MSG_NOSIGNAL))
                    return (count, errno)
                }
                if count < 0 { return code == EAGAIN || code == EINTR || code == ENOTCONN }
                sent += count
            }
            return true
        }

        func end() {
            watcher?.cancel()
            close(descriptor)
        }
    }

    /// Takes over an accepted descriptor. `port` tells where a target is; `onEnd` is called once.
    init(
        on loop: EventLoop, descriptor: Int32, ledger: Ledger, port: @escaping (ProxyTarget) -> UInt16,
        onEnd: @escaping (ProxyTunnel) -> Void
    ) {
        self.loop = loop
        self.ledger = ledger
        self.port = port
        self.onEnd = onEnd
        client = Side(descriptor)
        client.watcher = watcher(of: client)
        client.watcher?.watchReads(true)
        ledger.updateProxyCounts { $0.connectionsOpened += 1 }
    }

    /// Closes both ends now.
    func end() {
        guard !isOver else { return }
        isOver = true
        timer?.disarm()
        client.end()
        upstream?.end()
        if isEstablished { ledger.updateProxyCounts { $0.tunnelsOpen -= 1 } }
        onEnd(self)
    }

    private func watcher(of side: Side) -> DescriptorWatcher {
        DescriptorWatcher(
            on: loop, descriptor: side.descriptor,
            readable: { [weak self, unowned side] in self?.becameReadable(side) },
            writable: { [weak self, unowned side] in self?.push(side) })
    }

    // MARK: Bytes

    private var head: [UInt8] = []

    private func becameReadable(_ side: Side) {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe recv(side.descriptor, &bytes, bytes.count, 0)
        guard count > 0 else {
            let isBroken = count == 0 || (errno != EAGAIN && errno != EINTR)
            if isBroken { sawEnd(of: side) }
            return
        }
        if side === client, !hasHead {
            head += bytes[..<count]
            readHead()
        } else if let other = side === client ? upstream : client {
            other.waiting += bytes[..<count]
            push(other)
        }
    }

    /// What is under way to the other end still arrives there.
    private func sawEnd(of side: Side) {
        guard isEstablished, let other = side === client ? upstream : client, !other.waiting.isEmpty else {
            end()
            return
        }
        side.watcher?.watchReads(false)
        other.closesWhenWritten = true
    }

    /// Writes what waits for one end, and reads the other end only while that is little.
    private func push(_ side: Side) {
        guard !isOver else { return }
        if side === upstream, let answer = answerWhenConnected {
            answerWhenConnected = nil
            connected(side, answer: answer)
            return
        }
        guard side.write() else {
            end()
            return
        }
        if side.waiting.isEmpty, side.closesWhenWritten {
            end()
            return
        }
        side.watcher?.watchWrites(!side.waiting.isEmpty)
        let other = side === client ? upstream : client
        if isEstablished, !side.closesWhenWritten {
            other?.watcher?.watchReads(side.waiting.count < Self.mostWaiting)
        }
    }

    // MARK: The request

    private func readHead() {
        guard let end = head.firstRange(of: Array("\r\n\r\n".utf8)) else {
            if head.count > Self.longestHead { refuse(431) }
            return
        }
        hasHead = true
        let early = Array(head[end.upperBound...])
        switch ProxyRequest.read(String(decoding: head[..<end.lowerBound], as: UTF8.self)) {
        case .failure(let refusal): refuse(refusal.status)
        case .success(let request): answer(request, early: early)
        }
        head = []
    }

    private func answer(_ request: ProxyRequest, early: [UInt8]) {
        target = "\(request.host):\(request.port)"
        let (credentials, answer) = ledger.proxyConnect(target, host: request.host, request.authorization != nil)
        if let credentials, request.authorization != credentials.header {
            refuse(407, headers: "Proxy-Authenticate: Basic realm=\"simulator\"\r\n")
            return
        }
        switch answer {
        case .connects(let status, let reason):
            establish(request, early: early, answer: "HTTP/1.1 \(status) \(reason)\r\n\r\n")
        case .connectsWithHeaders(let count):
            let line = "X-Filler: " + String(repeating: "x", count: 988) + "\r\n"
            let filler = String(repeating: line, count: min(max(count, 0), 16_777_216) / 1000)
            establish(request, early: early, answer: "HTTP/1.1 200 OK\r\n\(filler)\r\n")
        case .connectsSlowly(let pause):
            drip(Array("HTTP/1.1 200 OK\r\nVia: 1.1 simulator\r\n\r\n".utf8)[...], pause) { [weak self] in
                self?.establish(request, early: early, answer: "")
            }
        case .refuses(let status, let reason, let body): refuse(status, reason: reason, body: body)
        case .says(let text): say(text)
        case .hangs: break
        case .closes: end()
        case .resets:
            LoopbackSocket.resetWhenClosed(client.descriptor)
            end()
        }
    }

    private func refuse(_ status: Int, reason: String = "", headers: String = "", body: String = "") {
        ledger.updateProxyCounts { $0.answers[status, default: 0] += 1 }
        say("HTTP/1.1 \(status) \(reason)\r\n\(headers)Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }

    /// The last that the client hears.
    private func say(_ text: String) {
        client.waiting += Array(text.utf8)
        client.closesWhenWritten = true
        client.watcher?.watchReads(false)
        push(client)
    }

    private func drip(_ bytes: ArraySlice<UInt8>, _ pause: Duration, then done: @escaping () -> Void) {
        guard !isOver else { return }
        guard let first = bytes.first else {
            done()
            return
        }
        client.waiting.append(first)
        push(client)
        let timer = LoopTimer(on: loop) { [weak self] in self?.drip(bytes.dropFirst(), pause, then: done) }
        timer.arm(after: pause)
        self.timer = timer
    }

    private func establish(_ request: ProxyRequest, early: [UInt8], answer: String) {
        guard !isOver else { return }
        guard let target = ProxyRules.target(host: request.host, port: request.port),
            let descriptor = LoopbackSocket.connect(port: port(target))
        else {
            refuse(502, reason: "Bad Gateway")
            return
        }
        let side = Side(descriptor)
        side.watcher = watcher(of: side)
        side.waiting = early
        upstream = side
        answerWhenConnected = answer
        client.watcher?.watchReads(false)
        // A connection is writable once it is there, or has failed.
        side.watcher?.watchWrites(true)
    }

    /// The connection to the other end is there, or it is not.
    private func connected(_ side: Side, answer: String) {
        guard LoopbackSocket.error(of: side.descriptor) == 0 else {
            refuse(502, reason: "Bad Gateway")
            return
        }
        isEstablished = true
        let name = target
        ledger.updateProxyCounts { counts in
            counts.answers[200, default: 0] += 1
            counts.tunnelsOpen += 1
            ProxyCounts.count(name, in: &counts.tunnels)
        }
        client.waiting += Array(answer.utf8)
        client.watcher?.watchReads(true)
        side.watcher?.watchReads(true)
        push(client)
        push(side)
    }
}
