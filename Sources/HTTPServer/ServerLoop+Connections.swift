import EventLoops

#if canImport(Glibc)
    import Glibc
#endif

/// One connection: bytes in, requests out, answers back.
extension ServerLoop {
    /// What may wait on a connection to be used, in bytes. More stays with the system, and with the peer.
    static var maximumInput: Int { 16 * 1024 }
    /// What is read and dropped on a connection that has had its last answer, in bytes.
    private static var maximumDropped: Int { 256 * 1024 }
    private static let invitation = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    // MARK: In

    /// The socket has something to read, or its end.
    func readable(_ connection: Connection) {
        let room = Self.maximumInput - connection.input.count
        guard connection.phase != .closed, room > 0 else { return }
        let count = unsafe recv(connection.descriptor, scratch.baseAddress, room, 0)
        if count < 0 && (errno == EAGAIN || errno == EINTR) { return }
        guard count > 0 else {
            peerEnded(connection)
            return
        }
        // A capability, a token or a preview must not stay in it for the days until something as long comes.
        defer { unsafe scratch[..<count].initializeMemory(as: UInt8.self, repeating: 0) }
        switch connection.phase {
        case .waiting, .receiving:
            let piece = unsafe UnsafeRawBufferPointer(rebasing: scratch[..<count])
            if connection.input.isEmpty {
                unsafe piece.withMemoryRebound(to: UInt8.self) { bytes in
                    unsafe read(connection, Span(_unsafeElements: bytes))
                }
            } else {
                unsafe connection.input.append(contentsOf: piece)
                readInput(of: connection)
            }
        case .answering, .writing:
            // Sent ahead: it waits until the answer is out.
            unsafe connection.input.append(contentsOf: UnsafeRawBufferPointer(rebasing: scratch[..<count]))
            if connection.input.count >= Self.maximumInput { connection.watcher?.watchReads(false) }
        case .lingering:
            connection.dropped += count
            if connection.dropped > Self.maximumDropped { close(connection) }
        case .closed: break
        }
    }

    /// Nothing more will come. What is being answered is answered: whoever ends only its own side can read it, and who
    /// that is nobody can tell.
    private func peerEnded(_ connection: Connection) {
        connection.hasPeerEnded = true
        connection.watcher?.watchReads(false)
        switch connection.phase {
        case .waiting, .receiving, .lingering: close(connection)
        case .answering, .writing, .closed: break
        }
    }

    private func readInput(of connection: Connection) {
        let bytes = connection.input
        connection.input = []
        read(connection, bytes.span)
    }

    /// Takes as many requests as are whole and can be answered one after the other. What is left is kept.
    private func read(_ connection: Connection, _ bytes: Span<UInt8>) {
        var position = 0
        reading += 1
        connection.isBeingRead = true
        while connection.phase == .waiting || connection.phase == .receiving, position < bytes.count {
            let progress = connection.reader.read(bytes, at: &position, rules: rules)
            let hasBegun = connection.reader.hasBegun
            if hasBegun, !connection.isCounted {
                connection.isCounted = true
                exchangesInFlight += 1
            }
            switch progress {
            case .needsMore:
                if hasBegun, connection.phase == .waiting { connection.enter(.receiving, at: time) }
                if connection.reader.takesInvitation() { invite(connection) }
                keep(bytes, from: position, of: connection)
                position = bytes.count
            case .whole: serve(connection)
            case .refused(let refusal): refuse(connection, refusal)
            }
        }
        if position < bytes.count, connection.phase == .answering || connection.phase == .writing {
            keep(bytes, from: position, of: connection)
        }
        connection.isBeingRead = false
        reading -= 1
        if connection.hasPeerEnded, connection.phase == .waiting || connection.phase == .receiving {
            close(connection)
        }
    }

    private func keep(_ bytes: Span<UInt8>, from position: Int, of connection: Connection) {
        guard connection.phase != .closed, position < bytes.count else { return }
        connection.input.append(bytes.extracting(position..<bytes.count))
    }

    /// Leave to send the body. A socket that does not take so little takes no answer either.
    private func invite(_ connection: Connection) {
        let sent = unsafe Self.invitation.withUnsafeBytes { bytes in
            unsafe send(connection.descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        }
        if sent != Self.invitation.count { close(connection) }
    }

    // MARK: Requests

    /// The request is whole.
    private func serve(_ connection: Connection, withBody: Bool = true) {
        guard !isStopping else {
            answerLast(connection, with: handler.refusal(.shuttingDown, of: nil))
            return
        }
        let (request, form) = connection.reader.takeRequest(peer: connection.peer, withBody: withBody)
        connection.answerForm = form
        connection.closes = !withBody || !form.keepsConnection
        connection.enter(.answering, at: time)
        let exchange = HTTPExchange(server: self, connection: connection)
        connection.exchange = exchange
        begin(exchange, request)
    }

    /// The request is over before it was whole, and the connection with it.
    private func refuse(_ connection: Connection, _ refusal: HTTPRefusal) {
        guard refusal == .bodyTooLarge else {
            answerLast(connection, with: handler.refusal(refusal, of: nil))
            return
        }
        // The head is sound: an application that does not look at the body need not be kept from answering.
        let (head, _) = connection.reader.takeRequest(peer: connection.peer, withBody: false)
        if handler.ignoresBody(of: head) {
            serve(connection, withBody: false)
        } else {
            answerLast(connection, with: handler.refusal(refusal, of: head))
        }
    }

    // MARK: Out

    /// The answer to a request that is being handled.
    func answer(_ exchange: HTTPExchange, with response: HTTPResponse) {
        loop.preconditionOnLoop()
        exchange.becomeAnswered()
        let connection = exchange.connection
        write(response, on: connection)
        goOn(connection)
    }

    /// An answer that nothing follows, whatever the peer still sends.
    func answerLast(_ connection: Connection, with response: HTTPResponse) {
        guard connection.phase != .closed else { return }
        connection.answerForm = connection.reader.head.answerForm
        connection.closes = true
        connection.enter(.answering, at: time)
        write(response, on: connection)
    }

    /// Writes what the socket takes; the rest when it takes more.
    private func write(_ response: HTTPResponse, on connection: Connection) {
        if isParting { connection.closes = true }
        encoder.encode(response, connection.answerForm, closes: connection.closes)
        let bytes = encoder.bytes
        if !response.isPrepared { encoder.forget() }
        guard let sent = transmit(bytes, from: 0, on: connection) else { return }
        guard sent < bytes.count else { return answered(connection) }
        connection.output = Array(bytes[sent...])
        connection.enter(.writing, at: time)
        connection.tookAt = connection.since
        connection.watcher?.watchWrites(true)
        // Who does not read need not be read from.
        connection.watcher?.watchReads(false)
    }

    /// The socket takes more.
    func writable(_ connection: Connection) {
        guard connection.phase == .writing else { return }
        guard let sent = transmit(connection.output, from: connection.written, on: connection) else { return }
        if sent > connection.written { connection.tookAt = time }
        connection.written = sent
        guard sent == connection.output.count else { return }
        connection.output = []
        connection.written = 0
        connection.watcher?.watchWrites(false)
        answered(connection)
        goOn(connection)
    }

    /// Sends what the socket takes.
    ///
    /// - Returns: where the bytes begin that it did not take; nil when the connection is broken, and closed by now.
    private func transmit(_ bytes: [UInt8], from start: Int, on connection: Connection) -> Int? {
        var position = start
        while position < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { bytes in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[position...])
                return unsafe send(connection.descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
            }
            if count >= 0 {
                position += count
                continue
            }
            switch errno {
            case EINTR: continue
            case EAGAIN: return position
            default:
                close(connection)
                return nil
            }
        }
        return position
    }

    /// The answer is out.
    private func answered(_ connection: Connection) {
        if connection.closes {
            linger(connection)
        } else {
            connection.reader = RequestReader()
            connection.enter(.waiting, at: time)
            if !connection.hasPeerEnded { connection.watcher?.watchReads(true) }
        }
        endExchange(of: connection)
    }

    /// Ends our side and waits for the peer to end its own: a socket that is closed with bytes unread sends a reset, and
    /// that makes the peer's system throw away an answer that nobody has read yet (RFC 9112 section 9.6).
    private func linger(_ connection: Connection) {
        guard !connection.hasPeerEnded else {
            close(connection)
            return
        }
        connection.input = []
        connection.enter(.lingering, at: time)
        shutdown(connection.descriptor, Int32(SHUT_WR))
        connection.watcher?.watchReads(true)
    }

    /// Requests that were sent ahead have their turn.
    private func goOn(_ connection: Connection) {
        guard connection.phase == .waiting, !connection.isBeingRead else { return }
        if !connection.input.isEmpty {
            readInput(of: connection)
        } else if connection.hasPeerEnded || isDraining {
            close(connection)
        }
    }

    /// The request is over, answered or not.
    func endExchange(of connection: Connection) {
        connection.exchange?.end()
        connection.exchange = nil
        if connection.isCounted {
            connection.isCounted = false
            exchangesInFlight -= 1
        }
        if isDraining { settled() }
    }
}
