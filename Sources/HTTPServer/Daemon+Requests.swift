import CMicrohttpd

#if canImport(Glibc)
    import Glibc
#endif

/// What the library reports, in this order for each connection: opened, then for each request its raw target, its head,
/// pieces of its body and its end (`requestArrived` for all three), its completion, and at last closed. All of it
/// within a run.
extension Daemon {
    fileprivate func opened(_ handle: OpaquePointer) -> Connection {
        let connection = unsafe Connection(handle, now: now)
        connection.index = connections.count
        connections.append(connection)
        if !admits(connection) {
            refusedConnections += 1
            connection.refuse(with: handler.refusal(.tooManyConnections, of: nil), now: now)
        }
        keepSweeping()
        return connection
    }

    /// Whether the bounds allow one more connection, which is in the list already.
    private func admits(_ connection: Connection) -> Bool {
        guard connections.count - refusedConnections <= configuration.maximumConnections else { return false }
        return configuration.addressCensus?.admit(connection.peer) ?? true
    }

    fileprivate func closed(_ connection: Connection) {
        // The library forgets to report the completion of a request whose arguments did not fit in the memory.
        if let exchange = connection.exchange { completed(exchange, isSound: true) }
        if connections.count >= connectionLimit { mustRunAgain = true }
        let last = connections.removeLast()
        if last !== connection {
            connections[connection.index] = last
            last.index = connection.index
        }
        if connection.isRefused {
            refusedConnections -= 1
        } else {
            configuration.addressCensus?.leave(connection.peer)
        }
        settled()
    }

    fileprivate func began(_ target: RequestTarget, on connection: Connection) -> HTTPExchange {
        exchangesInFlight += 1
        if connection.phase != .condemned {
            // Arguments that do not fit in the memory leave the library stuck, so it is not waited for.
            if target.arguments * FieldCollector.entrySize > configuration.connectionMemory / 2 - Self.answerHeadSize {
                connection.condemn(with: handler.refusal(.targetTooLong, of: nil), now: now)
            } else {
                connection.enter(.receiving, now: now)
            }
        }
        let exchange = HTTPExchange(daemon: self, connection: connection, target: target)
        connection.exchange = exchange
        return exchange
    }

    fileprivate func completed(_ exchange: HTTPExchange, isSound: Bool) {
        exchangesInFlight -= 1
        let connection = exchange.connection
        connection.exchange = nil
        if connection.phase != .condemned {
            if exchange.mustLinger || !isSound { linger.take(connection.descriptor) }
            connection.enter(.waiting, now: now)
            // An answer that was on its way when the drain began promised to keep the connection.
            if isDraining { connection.endReading() }
        }
        exchange.end()
        settled()
    }

    /// The head is complete. A refusal is queued at once, before any of the body is invited (`100 Continue`) or read.
    fileprivate func headArrived(
        _ exchange: HTTPExchange, method: UnsafeBufferPointer<UInt8>, version: UnsafeBufferPointer<UInt8>
    ) -> MHD_Result {
        guard exchange.connection.phase != .condemned else { return .NO }
        let methodPlace = unsafe Place(of: method)
        var fields = FieldCollector(
            check: RequestHeadCheck(
                method: unsafe Span(_unsafeElements: method), at: methodPlace, target: exchange.target,
                version: unsafe Span(_unsafeElements: version), at: unsafe Place(of: version),
                maximumFields: configuration.maximumFields),
            names: retainedNames)
        unsafe withUnsafeMutablePointer(to: &fields) { collector in
            unsafe _ = gryt_mhd_visit(exchange.connection.handle, fieldArrived, collector)
        }
        let size = unsafe gryt_mhd_head_size(exchange.connection.handle)
        let end = methodPlace.address &+ UInt(size)
        if let refusal = refusal(of: fields, size: size, end: end, target: exchange.target) {
            refuse(exchange, refusal)
            return .YES
        }
        exchange.method = HTTPMethod(unsafe String(decoding: method, as: UTF8.self))
        exchange.retained = fields.retained
        if let length = fields.check.contentLength, length > configuration.maximumBody {
            refuse(exchange, .bodyTooLarge, of: head(of: exchange))
            return .YES
        }
        // The library ends the lines between chunks at a bare LF. A proxy in front may not, and then what follows the
        // body is a different request to either: so nothing may follow it.
        exchange.mustClose = fields.check.isChunked
        if let length = fields.check.contentLength { exchange.body.reserveCapacity(length) }
        exchange.stage = .body
        return .YES
    }

    private func refusal(of fields: FieldCollector, size: Int, end: UInt, target: RequestTarget) -> HTTPRefusal? {
        if target.place.length > configuration.maximumHead { return .targetTooLong }
        if size > configuration.maximumHead { return .headersTooLarge }
        if let refusal = fields.check.refusal(end: end) { return refusal }
        // With its memory used up the library can neither read the body nor write an answer, and asks to be run without
        // end.
        let needed = size + fields.entries * FieldCollector.entrySize + fields.copiedBytes + Self.answerHeadSize
        if needed > configuration.connectionMemory { return .headersTooLarge }
        return nil
    }

    /// The request without its body.
    private func head(of exchange: HTTPExchange) -> HTTPRequest {
        HTTPRequest(
            method: exchange.method, path: exchange.target.path, query: exchange.target.query, body: [],
            peer: exchange.connection.peer, retained: exchange.retained)
    }

    /// What is set aside in a connection's memory for the head of the answer, in bytes.
    private static let answerHeadSize = 1024

    private func refuse(_ exchange: HTTPExchange, _ refusal: HTTPRefusal, of request: HTTPRequest? = nil) {
        exchange.mustClose = true
        exchange.mustLinger = true
        exchange.connection.enter(.answering, now: now)
        exchange.becomeAnswered()
        queue(handler.refusal(refusal, of: request), for: exchange)
    }

    /// A piece of the body. One that passes the bound cannot be refused through the library, which takes no answer
    /// here.
    fileprivate func bodyArrived(_ exchange: HTTPExchange, _ bytes: UnsafeRawBufferPointer) -> MHD_Result {
        guard exchange.connection.phase != .condemned, exchange.stage == .body else { return .NO }
        guard exchange.body.count + bytes.count <= configuration.maximumBody else {
            exchange.becomeAnswered()
            exchange.mustLinger = true
            exchange.connection.writeLast(handler.refusal(.bodyTooLarge, of: head(of: exchange)))
            return .NO
        }
        unsafe exchange.body.append(contentsOf: bytes)
        return .YES
    }

    /// The request is whole.
    fileprivate func requestEnded(_ exchange: HTTPExchange) -> MHD_Result {
        let connection = exchange.connection
        guard connection.phase != .condemned, exchange.stage == .body else { return .NO }
        guard !isStopping else {
            // Nothing may be suspended when the library is stopped, so no handler is begun.
            refuse(exchange, .shuttingDown)
            return .YES
        }
        exchange.stage = .handled
        connection.enter(.answering, now: now)
        let request = HTTPRequest(
            method: exchange.method, path: exchange.target.path, query: exchange.target.query,
            body: exchange.takeBody(), peer: connection.peer, retained: exchange.retained)
        begin(exchange, request)
        if let answer = exchange.immediateAnswer {
            exchange.immediateAnswer = nil
            queue(answer, for: exchange)
        } else {
            exchange.isSuspended = true
            unsafe MHD_suspend_connection(connection.handle)
        }
        return .YES
    }
}

/// Gathers what a request's head is judged by, and the fields to keep.
private struct FieldCollector {
    /// What the library allots for each field, argument and cookie, in bytes.
    static let entrySize = 64

    var check: RequestHeadCheck
    let names: [RetainedName]
    var retained: [RetainedField] = []
    /// Fields, arguments and cookies together.
    var entries = 0
    /// Bytes of which the library has made a copy, to take cookies apart.
    var copiedBytes = 0

    init(check: RequestHeadCheck, names: [RetainedName]) {
        self.check = check
        self.names = names
    }

    mutating func add(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) {
        let nameBytes = unsafe Span(_unsafeElements: name)
        let valueBytes = unsafe Span(_unsafeElements: value)
        check.add(name: nameBytes, at: unsafe Place(of: name), value: valueBytes, at: unsafe Place(of: value))
        if nameBytes.equals("cookie") { copiedBytes += valueBytes.count + 1 }
        for candidate in names where nameBytes.equals(candidate.bytes) {
            retained.append(
                RetainedField(name: candidate.name, value: String(ascii: valueBytes, valueBytes.withoutBlanks)))
        }
    }
}

extension Place {
    fileprivate init(of text: UnsafeBufferPointer<UInt8>) {
        self.init(address: UInt(bitPattern: text.baseAddress), length: text.count)
    }
}

/// A string of the library's as bytes, up to its NUL.
private func bytes(_ text: UnsafePointer<CChar>) -> UnsafeBufferPointer<UInt8> {
    unsafe bytes(text, count: strlen(text))
}

private func bytes(_ text: UnsafePointer<CChar>, count: Int) -> UnsafeBufferPointer<UInt8> {
    unsafe UnsafeBufferPointer(start: UnsafeRawPointer(text).assumingMemoryBound(to: UInt8.self), count: count)
}

// MARK: - Called by the library

/// The context that every callback but the fields' gets: the daemon, unretained, for it outlives the library's one.
private func daemon(_ context: UnsafeMutableRawPointer?) -> Daemon {
    guard let context = unsafe context else { preconditionFailure("a callback without its daemon") }
    let daemon = unsafe Unmanaged<Daemon>.fromOpaque(context).takeUnretainedValue()
    daemon.reports += 1
    return daemon
}

/// A connection was accepted, or is about to be closed. It is retained in its socket's context in between.
func connectionChanged(
    _ context: UnsafeMutableRawPointer?, _ handle: OpaquePointer?,
    _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ code: MHD_ConnectionNotificationCode
) {
    guard let handle = unsafe handle, let slot = unsafe slot else {
        preconditionFailure("a connection's notice without the connection")
    }
    let daemon = unsafe daemon(context)
    if code == .CONNECTION_NOTIFY_STARTED {
        unsafe slot.pointee = Unmanaged.passRetained(daemon.opened(handle)).toOpaque()
    } else if let stored = unsafe slot.pointee {
        unsafe slot.pointee = nil
        daemon.closed(unsafe Unmanaged<Connection>.fromOpaque(stored).takeRetainedValue())
    }
}

/// A request line is complete. Makes the exchange, which its connection retains until its completion.
func targetArrived(
    _ context: UnsafeMutableRawPointer?, _ target: UnsafePointer<CChar>?, _ handle: OpaquePointer?
) -> UnsafeMutableRawPointer? {
    guard let target = unsafe target, let handle = unsafe handle,
        let stored = unsafe gryt_mhd_socket_context(handle)
    else { preconditionFailure("a target without its connection") }
    let connection = unsafe Unmanaged<Connection>.fromOpaque(stored).takeUnretainedValue()
    let text = unsafe bytes(target)
    let parsed = RequestTarget(unsafe Span(_unsafeElements: text), at: unsafe Place(of: text).address)
    return unsafe Unmanaged.passUnretained(daemon(context).began(parsed, on: connection)).toOpaque()
}

/// A head, a piece of a body, or the end of a request.
func requestArrived(
    _ context: UnsafeMutableRawPointer?, _ handle: OpaquePointer?, _: UnsafePointer<CChar>?,
    _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ body: UnsafePointer<CChar>?,
    _ bodySize: UnsafeMutablePointer<Int>?, _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let stored = unsafe slot?.pointee, let bodySize = unsafe bodySize else {
        preconditionFailure("a request without its exchange")
    }
    let daemon = unsafe daemon(context)
    let exchange = unsafe Unmanaged<HTTPExchange>.fromOpaque(stored).takeUnretainedValue()
    if let body = unsafe body {
        // An empty piece is not the end, which comes without a piece. The library has one where `100 Continue` was sent
        // for a request without a body and the next request is there already; it takes no answer then.
        guard unsafe bodySize.pointee > 0 else { return .YES }
        let piece = unsafe bytes(body, count: bodySize.pointee)
        unsafe bodySize.pointee = 0
        return unsafe daemon.bodyArrived(exchange, UnsafeRawBufferPointer(piece))
    }
    guard exchange.stage == .head else { return daemon.requestEnded(exchange) }
    guard let method = unsafe method, let version = unsafe version else {
        preconditionFailure("a request without a method or a version")
    }
    return unsafe daemon.headArrived(exchange, method: bytes(method), version: bytes(version))
}

/// The library is done with a request.
func requestCompleted(
    _ context: UnsafeMutableRawPointer?, _: OpaquePointer?,
    _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ code: MHD_RequestTerminationCode
) {
    guard let stored = unsafe slot?.pointee else { return }
    unsafe slot?.pointee = nil
    let exchange = unsafe Unmanaged<HTTPExchange>.fromOpaque(stored).takeUnretainedValue()
    unsafe daemon(context).completed(exchange, isSound: code != .REQUEST_TERMINATED_WITH_ERROR)
}

/// One field, argument or cookie; the context is the collector.
private func fieldArrived(
    _ context: UnsafeMutableRawPointer?, _ kind: MHD_ValueKind, _ name: UnsafePointer<CChar>?, _ nameSize: Int,
    _ value: UnsafePointer<CChar>?, _ valueSize: Int
) -> MHD_Result {
    guard let collector = unsafe context?.assumingMemoryBound(to: FieldCollector.self) else {
        preconditionFailure("a field without its collector")
    }
    unsafe collector.pointee.entries += 1
    if kind == .HEADER_KIND, let name = unsafe name, let value = unsafe value {
        unsafe collector.pointee.add(bytes(name, count: nameSize), bytes(value, count: valueSize))
    }
    return .YES
}
