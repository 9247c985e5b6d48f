import EventLoops

#if canImport(Glibc)
    import Glibc
#endif

/// The listeners and connections of all services, on one loop.
///
/// It knows services only as whoever makes a ``Conversation`` for a new connection.
actor SimulatorServer {
    /// The loop that the actor lives on.
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    private let context: TLSServerContext
    private let callbacks: SessionCallbacks
    private var listeners: [DescriptorWatcher] = []
    private var connections: [ObjectIdentifier: (service: SimulatedService, connection: ServerConnection)] = [:]
    private var isClosed = false

    /// Makes a server without listeners. The root of its certificates is in `context`.
    init(on loop: EventLoop, context: sending TLSServerContext, callbacks: sending SessionCallbacks) {
        self.loop = loop
        self.context = context
        self.callbacks = callbacks
    }

    /// Takes connections from this socket from now on.
    ///
    /// The socket must live until ``close()``. `converse` is called on the loop for each connection.
    func listen(
        on socket: LoopbackSocket, as service: SimulatedService, converse: @escaping @Sendable () -> any Conversation
    ) {
        for descriptor in socket.descriptors {
            let watcher = DescriptorWatcher(
                on: loop, descriptor: descriptor,
                readable: { [weak self] in
                    self?.assumeIsolated { $0.accept(from: descriptor, as: service, converse: converse) }
                })
            watcher.watchReads(true)
            listeners.append(watcher)
        }
    }

    private func accept(
        from listener: Int32, as service: SimulatedService, converse: @Sendable () -> any Conversation
    ) {
        while !isClosed, let descriptor = LoopbackSocket.accept(from: listener) {
            let made = Result { () throws(SimulatorError) in
                try ServerConnection(
                    on: loop, descriptor: descriptor, context: context, callbacks: callbacks,
                    conversation: converse(),
                    onEnd: { [weak self] ended in
                        let identity = ObjectIdentifier(ended)
                        self?.assumeIsolated { _ = $0.connections.removeValue(forKey: identity) }
                    })
            }
            switch made {
            case .success(let connection): connections[ObjectIdentifier(connection)] = (service, connection)
            case .failure: Glibc.close(descriptor)
            }
        }
    }

    /// Sends a GOAWAY on every open connection of a service. Gives how many there were.
    func goAway(_ goAway: GoAway, on service: SimulatedService) -> Int {
        let chosen = connections.values.filter { $0.service == service }
        for (_, connection) in chosen { connection.goAway(goAway) }
        return chosen.count
    }

    /// Closes every open connection of a service without a word. Gives how many there were.
    func disconnect(_ service: SimulatedService) -> Int {
        let chosen = connections.values.filter { $0.service == service }
        for (_, connection) in chosen { connection.end() }
        return chosen.count
    }

    /// Announces another number of streams on every open connection of a service.
    func allow(concurrentStreams count: UInt32, on service: SimulatedService) {
        for (of, connection) in connections.values where of == service {
            connection.allow(concurrentStreams: count)
        }
    }

    /// Takes no more connections and ends those there are.
    func close() {
        isClosed = true
        for listener in listeners { listener.cancel() }
        listeners.removeAll()
        for (_, connection) in connections.values { connection.end() }
    }
}
