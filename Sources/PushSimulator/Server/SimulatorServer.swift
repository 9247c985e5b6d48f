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

    private let contexts: TLSServerContexts
    private let callbacks: SessionCallbacks
    private let ledger: Ledger
    private var listeners: [Listener] = []
    private var connections: [ObjectIdentifier: (service: SimulatedService, connection: ServerConnection)] = [:]
    private var held: [ObjectIdentifier: HeldConnection] = [:]
    private var tunnels: [ObjectIdentifier: ProxyTunnel] = [:]
    private var receptions: [SimulatedService: ReceptionPlan] = [:]
    private var isClosed = false

    /// One descriptor that is listened on.
    private struct Listener {
        var service: SimulatedService
        var family: AddressFamily
        var descriptor: Int32
        var watcher: DescriptorWatcher
        var state = Listening.usual
        /// Our own connection that fills the line while SYNs are dropped.
        var filler: Int32?
    }

    /// Makes a server without listeners.
    init(
        on loop: EventLoop, contexts: sending TLSServerContexts, callbacks: sending SessionCallbacks, ledger: Ledger
    ) {
        self.loop = loop
        self.contexts = contexts
        self.callbacks = callbacks
        self.ledger = ledger
    }

    /// Takes connections from this socket from now on.
    ///
    /// The socket must live until ``close()``. `converse` is called on the loop for each connection.
    func listen(
        on socket: LoopbackSocket, as service: SimulatedService, converse: @escaping @Sendable () -> any Conversation
    ) {
        listen(on: socket, as: service) { (server: isolated SimulatorServer, descriptor) in
            server.speak(on: descriptor, as: service, converse)
        }
    }

    /// Takes connections from this socket from now on, in whatever way `take` does with those that are received well.
    func listen(
        on socket: LoopbackSocket, as service: SimulatedService,
        take: @escaping @Sendable (isolated SimulatorServer, Int32) -> Void
    ) {
        for (index, descriptor) in socket.descriptors.enumerated() {
            let watcher = DescriptorWatcher(
                on: loop, descriptor: descriptor,
                readable: { [weak self] in
                    self?.assumeIsolated { server in
                        while !server.isClosed, let accepted = LoopbackSocket.accept(from: descriptor) {
                            server.receive(accepted, as: service, take)
                        }
                    }
                })
            watcher.watchReads(true)
            listeners.append(
                Listener(
                    service: service, family: index == 0 ? .v4 : .v6, descriptor: descriptor, watcher: watcher))
        }
    }

    /// Takes connections to the proxy from this socket from now on. `port` tells where a target is.
    func listenAsProxy(on socket: LoopbackSocket, port: @escaping @Sendable (ProxyTarget) -> UInt16) {
        listen(on: socket, as: .proxy) { (server: isolated SimulatorServer, descriptor) in
            let tunnel = ProxyTunnel(
                on: server.loop, descriptor: descriptor, ledger: server.ledger, port: port,
                onEnd: { [weak server] ended in
                    let identity = ObjectIdentifier(ended)
                    server?.assumeIsolated { _ = $0.tunnels.removeValue(forKey: identity) }
                })
            server.tunnels[ObjectIdentifier(tunnel)] = tunnel
        }
    }

    private func receive(
        _ descriptor: Int32, as service: SimulatedService,
        _ take: @escaping @Sendable (isolated SimulatorServer, Int32) -> Void
    ) {
        let reception = receptions[service]?.next(now: .now) ?? .usual
        if reception != .usual { ledger.receivedUnusually(service) }
        switch reception {
        case .usual: take(self, descriptor)
        case .reset:
            LoopbackSocket.resetWhenClosed(descriptor)
            Glibc.close(descriptor)
        case .close: Glibc.close(descriptor)
        case .stall: hold(descriptor).hold()
        case .noise(let text): hold(descriptor).hold(noise: text)
        case .delay(let wait):
            hold(descriptor).handOver(after: wait) { [weak self] descriptor in
                guard let self else {
                    Glibc.close(descriptor)
                    return
                }
                assumeIsolated { take($0, descriptor) }
            }
        }
    }

    private func hold(_ descriptor: Int32) -> HeldConnection {
        let connection = HeldConnection(on: loop, descriptor: descriptor) { [weak self] ended in
            let identity = ObjectIdentifier(ended)
            self?.assumeIsolated { _ = $0.held.removeValue(forKey: identity) }
        }
        held[ObjectIdentifier(connection)] = connection
        return connection
    }

    private func speak(
        on descriptor: Int32, as service: SimulatedService, _ converse: @Sendable () -> any Conversation
    ) {
        guard !isClosed else {
            Glibc.close(descriptor)
            return
        }
        let conversation = converse()
        let made = Result { () throws(SimulatorError) in
            try ServerConnection(
                on: loop, descriptor: descriptor, context: try contexts.context(for: conversation.behaviour.tls),
                callbacks: callbacks, conversation: conversation,
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

    // MARK: Orders

    /// Sends a GOAWAY on every open connection of a service. Gives how many there were.
    func goAway(_ goAway: GoAway, on service: SimulatedService) -> Int {
        let chosen = open(service)
        for connection in chosen { connection.goAway(goAway) }
        return chosen.count
    }

    /// Performs acts on every open connection of a service. Gives how many there were.
    func perform(_ acts: [ConnectionAct], on service: SimulatedService) -> Int {
        let chosen = open(service)
        for connection in chosen {
            for act in acts { connection.perform(act) }
        }
        return chosen.count
    }

    /// Closes every open connection of a service without a word. Gives how many there were.
    func disconnect(_ service: SimulatedService) -> Int {
        if service == .proxy {
            let count = tunnels.count
            for tunnel in tunnels.values { tunnel.end() }
            return count
        }
        let chosen = open(service)
        for connection in chosen { connection.end() }
        return chosen.count
    }

    /// Announces another number of streams on every open connection of a service.
    func allow(concurrentStreams count: UInt32, on service: SimulatedService) {
        for connection in open(service) { connection.allow(concurrentStreams: count) }
    }

    private func open(_ service: SimulatedService) -> [ServerConnection] {
        connections.values.filter { $0.service == service }.map(\.connection)
    }

    /// Changes how new connections of a service are received.
    func updateReception(of service: SimulatedService, _ change: @Sendable (inout ReceptionPlan) -> Void) {
        change(&receptions[service, default: ReceptionPlan()])
    }

    /// Refuses or drops new connections in the kernel already, or takes them again.
    func setListening(_ state: Listening, of service: SimulatedService, over family: AddressFamily) {
        for index in listeners.indices where listeners[index].service == service && listeners[index].state != state {
            guard family == .both || listeners[index].family == family else { continue }
            let descriptor = listeners[index].descriptor
            if let filler = listeners[index].filler { Glibc.close(filler) }
            listeners[index].filler = nil
            listeners[index].state = state
            listeners[index].watcher.watchReads(false)
            switch state {
            case .usual:
                LoopbackSocket.resume(on: descriptor)
                listeners[index].watcher.watchReads(true)
            case .refuses: LoopbackSocket.refuse(on: descriptor)
            case .drops:
                LoopbackSocket.resume(on: descriptor)
                listeners[index].filler = LoopbackSocket.drop(on: descriptor)
            }
        }
    }

    /// Takes no more connections and ends those there are.
    func close() {
        isClosed = true
        for listener in listeners {
            listener.watcher.cancel()
            if let filler = listener.filler { Glibc.close(filler) }
        }
        listeners.removeAll()
        for (_, connection) in connections.values { connection.end() }
        for connection in held.values { connection.end() }
        for tunnel in tunnels.values { tunnel.end() }
    }
}
